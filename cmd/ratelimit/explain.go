package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit/cmd/internal/explain"
	"github.com/casgate/ratelimit/cmd/internal/limits"
)

const explainHelp = `Says which rules of a file a request meets, by which key each counts it, and why the others don't apply. Nothing needs
to run; every client is as if never seen.

Exit status: 0 the request passes; 1 it is refused; 2 the command line makes no sense; 3 the file can't be read or isn't
valid.`

const explainExamples = `  ratelimit explain rules.yaml --request 'GET /v1/search?q=x' --header 'X-API-Key: k-1'

  # as it comes through a load balancer
  ratelimit explain rules.yaml --request 'POST https://api.example.com/login' \
      --from 10.0.0.7 --header 'X-Forwarded-For: 203.0.113.9'

  # for scripts
  ratelimit explain rules.yaml --request /v1/search --json | jq '.rules[] | select(.applies) | .name'`

// report is the answer of explain.
type report struct {
	Status  int               `json:"status"`
	Verdict string            `json:"verdict"`
	Fields  map[string]string `json:"headers"`
	Rules   []explain.Rule    `json:"rules"`
}

func newExplain() *cobra.Command {
	var request explain.Request
	var asJSON bool
	command := &cobra.Command{
		Use:     "explain FILE --request 'METHOD PATH' [--header 'NAME: VALUE']...",
		Short:   "Say which rules and keys a request meets, and why",
		Long:    explainHelp,
		Example: explainExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("want one rule file")
			}
			return nil
		},
		ValidArgsFunction: completeFiles,
	}
	flags := command.Flags()
	flags.SortFlags = false
	flags.StringVar(&request.Line, "request", "", "the `REQUEST`: a method and a path or URL, or one of these for GET")
	flags.StringArrayVar(&request.Fields, "header", nil, "a `FIELD` of it, NAME: VALUE; may be repeated")
	flags.StringVar(&request.From, "from", "127.0.0.1", "the `ADDRESS` that connects, or unix for a socket")
	flags.BoolVar(&asJSON, "json", false, "answer in JSON")
	for _, name := range []string{"request", "header", "from"} {
		_ = command.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		if request.Line == "" {
			return usage("want --request, such as --request 'GET /v1/search'")
		}
		r, err := request.HTTP()
		var field *explain.FieldError
		if errors.As(err, &field) {
			return usage("--%s: %w", field.Field, field.Err)
		}
		file, err := readFile(args[0], command.InOrStdin())
		if err != nil {
			return err
		}
		l, err := limits.New(limits.Config{Spec: file.Spec, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		answer := answerTo(l, r)
		if asJSON {
			encoder := json.NewEncoder(command.OutOrStdout())
			encoder.SetIndent("", "  ")
			err = encoder.Encode(answer)
		} else {
			answer.print(command.OutOrStdout())
		}
		if err == nil && answer.Status != http.StatusOK {
			return refusedError{}
		}
		return err
	}
	return command
}

// refusedError is explain's exit status for a request that is refused. It has been told.
type refusedError struct{}

func (refusedError) Error() string { return "" }

// answerTo returns what l says of r, its first request.
func answerTo(l *limits.Limits, r *http.Request) report {
	answer := report{Rules: explain.Rules(l.Store.Current(), l.Filter, r), Fields: map[string]string{}}
	verdict := l.Filter.Decide(r)
	answer.Status = verdict.Status()
	answer.Verdict = verdict.Reason.String()
	if verdict.Rule != "" {
		answer.Verdict += " by " + verdict.Rule
	}
	switch s := l.Filter.Stats(); {
	case s.Allowed > 0:
		answer.Verdict = "passed: the client is on the allow list, and no rule is asked"
	case s.Blocked > 0:
		answer.Verdict = "blocked: the client is on the block list"
	}
	fields := http.Header{}
	verdict.SetHeaders(fields)
	for name := range fields {
		answer.Fields[name] = strings.Join(fields[name], ", ")
	}
	return answer
}

func (a *report) print(w io.Writer) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	say("%d: %s", a.Status, a.Verdict)
	names := make([]string, 0, len(a.Fields))
	for name := range a.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		say("  %s: %s", name, a.Fields[name])
	}
	for _, rule := range a.Rules {
		say("")
		if !rule.Applies {
			say("%s doesn't apply: it %s", rule.Name, rule.Why)
			continue
		}
		say("%s applies: %s", rule.Name, rule.Why)
		line := func(word, text string) {
			if text != "" {
				say("  %-6s %s", word, text)
			}
		}
		line("key", rule.Key)
		if rule.KeyOf != "" {
			line("by", rule.KeyOf)
		}
		line("plan", rule.Plan)
		line("limit", rule.Limit)
		if rule.Mode != "enforce" {
			line("mode", rule.Mode)
		}
		if rule.Cost > 1 {
			line("cost", fmt.Sprint(rule.Cost))
		}
	}
}
