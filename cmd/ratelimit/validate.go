package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit/cmd/internal/settings"
	"github.com/casgate/ratelimit/rules"
)

const validateHelp = `Says whether rule files can be used, with every mistake as FILE:LINE: what. A file that can be used, but lets clients get
around a limit, gets a warning in the same form.

Exit status: 0 all are valid; 3 one can't be read or isn't valid.`

const validateExamples = `  ratelimit validate rules.yaml

  # before a deployment
  ratelimit validate new.yaml && cp new.yaml /etc/ratelimit/rules.yaml

  # from a pipe
  envsubst < rules.yaml.in | ratelimit validate -`

func newValidate() *cobra.Command {
	return &cobra.Command{
		Use:     "validate FILE...",
		Short:   "Say whether rule files can be used, and what is wrong with them",
		Long:    validateHelp,
		Example: validateExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("want a rule file")
			}
			return nil
		},
		ValidArgsFunction: completeFiles,
		RunE: func(command *cobra.Command, args []string) error {
			var broken []string
			for _, path := range args {
				file, err := readFile(path, command.InOrStdin())
				if err != nil {
					broken = append(broken, err.Error())
					continue
				}
				if len(file.Warnings) > 0 {
					_, _ = fmt.Fprintln(command.ErrOrStderr(), located(path, "warning: ", file.Warnings))
				}
				_, _ = fmt.Fprintf(command.OutOrStdout(), "%s: valid: %s\n", path, contents(file))
			}
			if broken != nil {
				return invalidError{errors.New(strings.Join(broken, "\n"))}
			}
			return nil
		},
	}
}

// completeFiles completes the names of rule files.
func completeFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// contents says in words what a file holds.
func contents(file *settings.File) string {
	parts := []string{count(len(file.Rules), "rule")}
	if n := len(file.Plans.Names); n > 0 {
		parts = append(parts, count(n, "plan"))
	}
	if n := len(file.Server.Upstreams); n > 0 {
		parts = append(parts, count(n, "upstream"))
	}
	return strings.Join(parts, ", ")
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// readFile reads a rule file; "-" is stdin. Its mistakes are one line each, as editors find them: FILE:LINE: what.
func readFile(path string, stdin io.Reader) (*settings.File, error) {
	var file *settings.File
	var err error
	if path == "-" {
		var text []byte
		if text, err = io.ReadAll(stdin); err == nil {
			file, err = settings.Parse(text)
		}
	} else {
		file, err = settings.Read(path)
	}
	var broken *rules.Error
	var unreadable *fs.PathError
	switch {
	case errors.As(err, &broken):
		return nil, invalidError{errors.New(located(path, "", broken.Problems))}
	case errors.As(err, &unreadable):
		return nil, invalidError{fmt.Errorf("%s: %w", path, unreadable.Err)}
	}
	return file, err
}

// located returns a line for each problem, which begins with where it is.
func located(path, word string, problems []rules.Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		line := p.Line
		p.Line = 0
		lines[i] = fmt.Sprintf("%s:%d: %s%v", path, line, word, p)
	}
	return strings.Join(lines, "\n")
}
