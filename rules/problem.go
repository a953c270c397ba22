package rules

import (
	"errors"
	"fmt"
	"iter"
	"strings"
)

// ErrInvalidSpec marks every Problem, whatever its kind.
var ErrInvalidSpec = errors.New("rules: invalid spec")

// The kinds of problems. Beside these, a limit, burst, cost, share or algorithm that can't be is a
// ratelimit.ErrInvalidRule. Test for them with errors.Is.
var (
	ErrSyntax       = errors.New("rules: not well-formed")
	ErrUnknownField = errors.New("rules: unknown field")
	ErrType         = errors.New("rules: wrong type")
	ErrRequired     = errors.New("rules: required field is missing")
	ErrValue        = errors.New("rules: value not understood")
	ErrDuplicate    = errors.New("rules: duplicate")
	ErrPattern      = errors.New("rules: pattern can't match")
	ErrConflict     = errors.New("rules: two rules claim the same request")
	ErrPlan         = errors.New("rules: plan and rules don't fit")
	ErrKey          = errors.New("rules: key can't be built")
	ErrTrust        = errors.New("rules: trusts everybody")
	ErrLimiter      = errors.New("rules: limiter can't be made")
)

// Problem is one mistake in a Spec.
type Problem struct {
	// Path is where it is, in the words of a rule file: "rules[2].plans.premium.burst". Empty: the spec as a whole.
	Path string
	// Rule is the name of the rule at that path, if it has one.
	Rule string
	// Line is the line of the file, from 1; 0 if it isn't known.
	Line int
	// Kind is the sentinel that errors.Is finds: one of this package's, or ratelimit.ErrInvalidRule.
	Kind error
	// Text says what is wrong, with the value and the bound, and often what to do.
	Text string
}

// Error returns the problem in one line: line, path, rule and text.
func (p Problem) Error() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Path != "" {
		b.WriteString(p.Path)
		if p.Rule != "" {
			fmt.Fprintf(&b, " (%s)", p.Rule)
		}
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Unwrap returns ErrInvalidSpec and the kind.
func (p Problem) Unwrap() []error { return []error{ErrInvalidSpec, p.Kind} }

// Error is every mistake that was found in a Spec; there is at least one. errors.As finds it in what Compile, Update
// and ParseJSON return.
type Error struct {
	Problems []Problem // in the order of the spec
}

// mostShown is the number of problems that Error's text has at most.
const mostShown = 100

// Error returns the problems, one a line; if there are more than a hundred, the first of them and how many follow.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "rules: " + e.Problems[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rules: %d problems:", len(e.Problems))
	for _, p := range e.Problems[:min(len(e.Problems), mostShown)] {
		b.WriteString("\n\t")
		b.WriteString(p.Error())
	}
	if more := len(e.Problems) - mostShown; more > 0 {
		fmt.Fprintf(&b, "\n\tand %d more", more)
	}
	return b.String()
}

// Unwrap returns the problems, so that errors.Is finds the kind of each.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = p
	}
	return errs
}

// Locate returns e with the line of each problem that has none yet, as lineOf tells for its path. Where lineOf doesn't
// know a path it is asked for the next shorter one, so that a missing field is reported at the rule that lacks it.
func (e *Error) Locate(lineOf func(path string) int) *Error {
	located := &Error{Problems: make([]Problem, len(e.Problems))}
	copy(located.Problems, e.Problems)
	if lineOf == nil {
		return located
	}
	for i := range located.Problems {
		p := &located.Problems[i]
		for path := range outwards(p.Path) {
			if p.Line != 0 {
				break
			}
			p.Line = lineOf(path)
		}
	}
	return located
}

// outwards yields path, what it is in, what that is in: "a.b[1]", "a.b", "a", "".
func outwards(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(path) && path != "" {
			path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		}
	}
}

// problems collects the mistakes of one spec.
type problems struct {
	list []Problem
	rule string // the name of the rule at hand
}

// of says which rule the problems that follow are of; a name that can't be one isn't repeated.
func (ps *problems) of(rule string) {
	if ps.rule = ""; isName(rule) {
		ps.rule = rule
	}
}

func (ps *problems) add(path string, kind error, format string, args ...any) {
	ps.list = append(ps.list, Problem{Path: path, Rule: ps.rule, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// err returns nil if nothing is wrong.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	return &Error{Problems: ps.list}
}

// quote shows a value in a message, cut to a length that fits a line.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

// detail is the text of err without that of kind, which stands beside it.
func detail(err, kind error) string { return strings.TrimPrefix(err.Error(), kind.Error()+": ") }

// join is the path of a field. A name that can't be one of ours is quoted.
func join(path, name string) string {
	if !isName(name) {
		name = quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// index is the path of a list's element.
func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
