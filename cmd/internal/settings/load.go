package settings

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// loadProblems puts what the YAML package says into our words; paths may be nil.
func loadProblems(err error, kind error, paths map[place]string) []rules.Problem {
	var several *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &several):
		var problems []rules.Problem
		for _, e := range several.Errors {
			problems = append(problems, loadProblem(e, kind, paths))
		}
		return problems
	case errors.As(err, &one):
		return []rules.Problem{loadProblem(one, kind, paths)}
	}
	return []rules.Problem{{Line: 1, Kind: kind, Text: strings.TrimPrefix(err.Error(), "yaml: ")}}
}

var (
	unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+`)
	wrongType    = regexp.MustCompile("^cannot construct !!(\\w+)(?: `(.*)`)? into (\\S+)")
)

func loadProblem(e *yaml.LoadError, kind error, paths map[place]string) rules.Problem {
	p := rules.Problem{Line: max(int(e.Mark.Line), 1), Path: paths[place{int(e.Mark.Line), int(e.Mark.Column)}], Kind: kind, Text: e.Message}
	if m := unknownField.FindStringSubmatch(p.Text); m != nil {
		p.Kind, p.Text = rules.ErrUnknownField, fmt.Sprintf("%q: there is no such field here", m[1])
		return p
	}
	if m := wrongType.FindStringSubmatch(p.Text); m != nil {
		given := map[string]string{"seq": "a list", "map": "a mapping"}[m[1]]
		if given == "" {
			given = fmt.Sprintf("%q", m[2])
		}
		p.Text = fmt.Sprintf("%s: want %s", given, wanted(m[3]))
		return p
	}
	// What our own types say comes with the names of its sentinels, which Kind says already.
	for _, sentinel := range []error{ratelimit.ErrInvalidRule, rules.ErrType, rules.ErrValue} {
		if errors.Is(e, sentinel) {
			p.Kind = sentinel
		}
	}
	for _, prefix := range []string{ratelimit.ErrInvalidRule.Error() + ": ", rules.ErrType.Error() + ": ", rules.ErrValue.Error() + ": ", "Refill: ", "rules: "} {
		p.Text = strings.TrimPrefix(p.Text, prefix)
	}
	return p
}

// wanted says in words what a Go type takes.
func wanted(typ string) string {
	switch {
	case strings.HasPrefix(typ, "int"), strings.HasPrefix(typ, "*int"):
		return "a whole number"
	case typ == "bool":
		return "true or false"
	case typ == "string":
		return "a text"
	case typ == "time.Duration":
		return "a duration, such as 30s or 2m"
	case typ == "ratelimit.Rate":
		return "a rate, such as 100/minute"
	case strings.HasPrefix(typ, "rules.") && !strings.HasSuffix(typ, "Spec") && typ != "rules.PlanLimit":
		return "a word"
	case strings.HasPrefix(typ, "[]"):
		return "a list"
	}
	return "a mapping"
}
