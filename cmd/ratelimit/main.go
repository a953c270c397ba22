// Command ratelimit puts limits before an HTTP server: as a reverse proxy, or as an endpoint that nginx, Caddy or
// Traefik ask. See `ratelimit --help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/casgate/ratelimit"
)

// Exit statuses.
const (
	exitDone    = 0 // all is well, or the process was asked to stop and did
	exitFailed  = 1 // something failed while running: an address in use, say
	exitUsage   = 2 // the command line makes no sense
	exitInvalid = 3 // the rule file can't be read or isn't valid
)

// usageError is a mistake in the command line.
type usageError struct{ error }

// invalidError is a mistake in a rule file.
type invalidError struct{ error }

func (e usageError) Unwrap() error   { return e.error }
func (e invalidError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	os.Exit(run(context.Background(), nil, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with everything it touches as an argument; it returns the exit status. clock is nil but in tests.
func run(ctx context.Context, clock ratelimit.Clock, args []string, stdout, stderr io.Writer) int {
	root := newRoot(clock)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	var invalid invalidError
	var wrong usageError
	if errors.Is(err, refusedError{}) {
		return exitFailed
	}
	status, hint := exitFailed, ""
	switch {
	case errors.As(err, &invalid):
		status = exitInvalid
	case errors.As(err, &wrong):
		status, hint = exitUsage, fmt.Sprintf(" (see %s --help)", command.CommandPath())
	}
	text := command.CommandPath() + ": " + err.Error() + hint
	if status == exitInvalid { // these start with the file's name, as editors want it
		text = err.Error()
	}
	_, _ = fmt.Fprintln(stderr, text)
	return status
}

const rootHelp = `Limits how many requests each client of an HTTP server may make.

  ratelimit proxy      stands before the server as a reverse proxy
  ratelimit check      answers nginx, Caddy or Traefik, which ask before they pass a request on
  ratelimit validate   says what is wrong with a rule file
  ratelimit explain    says which rules a request meets, and why
  ratelimit compare    draws what each algorithm lets through
  ratelimit replay     tries a rule file on an access log: who would have been refused, and when
  ratelimit suggest    finds limits for the traffic in an access log

Try it, with a built-in server behind it:

  ratelimit proxy --limit 100/minute --burst 20 --key ip
  for i in $(seq 25); do curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8080/; done

The first 20 requests pass, the rest get 429 and a Retry-After.

Exit status: 0 done; 1 failed while running (an address in use, say); 2 the command line makes no sense; 3 the rule
file can't be read or isn't valid.`

func newRoot(clock ratelimit.Clock) *cobra.Command {
	root := &cobra.Command{
		Use:           "ratelimit",
		Short:         "Limits how many requests each client of an HTTP server may make",
		Long:          rootHelp,
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
		Args:          noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return usage("want one of %s", names(command))
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{flagValueError(err)} })
	root.AddCommand(newProxy(clock), newCheck(clock), newValidate(), newExplain(), newCompare(), newReplay(), newSuggest(), newVersion())
	return root
}

// flagValueError says what a flag wants, where pflag tells what a Go function said.
func flagValueError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	want := map[string]string{"int64": "a whole number", "int": "a whole number", "duration": "a time, such as 30s or 2m"}
	if words, ok := want[invalid.GetFlag().Value.Type()]; ok {
		return fmt.Errorf("--%s: %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), words)
	}
	return err
}

// noArgs accepts no arguments but flags.
func noArgs(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if command.HasAvailableSubCommands() {
		return usage("%q is no command; want one of %s", args[0], names(command))
	}
	return usage("%q: want no argument", args[0])
}

// names lists the commands below command.
func names(command *cobra.Command) string {
	text := ""
	for _, c := range command.Commands() {
		if c.IsAvailableCommand() {
			if text != "" {
				text += ", "
			}
			text += c.Name()
		}
	}
	return text
}
