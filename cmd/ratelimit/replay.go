package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/replay"
)

const replayHelp = `Says what the rules of a file would have refused of the requests in an access log: by rule, by client, by endpoint and
over time. Each request goes, at its time, through the filter that would have stood before the server.

It reads the common and the combined format of nginx and Apache, and JSON with the field names of nginx, Caddy and
Traefik; compressed by gzip or zstd, or not. Several logs are merged by time. Lines that can't be read are counted, and
the first few shown. A client's address is the log's; keys by headers are found where the log has those headers.

Real clients that are refused may wait, or come back more often; a log can't tell.

Exit status: 0 the log was read to its end; 1 a log can't be read, is cut off, or has no readable line (what was read is
reported all the same); 2 the command line makes no sense; 3 a rule file can't be read or isn't valid.`

const replayExamples = `  ratelimit replay /var/log/nginx/access.log --config rules.yaml

  # what would change
  ratelimit replay access.log* --config rules.yaml --against new.yaml --html report.html

  # from a pipe, for scripts
  ssh web journalctl -u caddy -o cat | ratelimit replay - --config rules.yaml --format json | jq .config.refused`

// logFlags are what replay and suggest have in common.
type logFlags struct {
	window time.Duration
	host   string
	quiet  bool
}

func (f *logFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.SortFlags = false
	flags.DurationVar(&f.window, "window", accesslog.DefaultWindow, "how far `TIME` lines may be out of order; lines further out are left out")
	flags.StringVar(&f.host, "host", "", "the `NAME` that requests are for, where the log doesn't tell")
	flags.BoolVar(&f.quiet, "quiet", false, "show no progress")
}

// wantLogs accepts names of logs.
func wantLogs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("want an access log, or - for stdin")
	}
	seen := map[string]bool{}
	for _, name := range args {
		if seen[name] {
			return usage("%s: given twice: its requests would count twice", name)
		}
		seen[name] = true
	}
	return nil
}

// stdinOnce accepts names of which one is stdin at most.
func stdinOnce(logs []string, files ...string) error {
	if n := len(slices.DeleteFunc(append(files, logs...), func(name string) bool { return name != "-" })); n > 1 {
		return usage("-: stdin can be only one of the files")
	}
	return nil
}

// open opens logs. Progress is shown on stderr if that is a terminal.
func (f *logFlags) open(command *cobra.Command, names []string, stdin io.Reader) (*accesslog.Log, *progress, error) {
	if f.window < time.Second || f.window > 24*time.Hour {
		return nil, nil, usage("--window: %v: must be from 1s to 24h", f.window)
	}
	p := newProgress(command.ErrOrStderr(), f.quiet)
	log, err := accesslog.Open(names, accesslog.Config{Window: f.window, Stdin: stdin, Progress: p.show})
	var unreadable *fs.PathError
	if errors.As(err, &unreadable) {
		err = fmt.Errorf("%s: %w", unreadable.Path, unreadable.Err)
	}
	return log, p, err
}

// ended returns what is wrong with a log that has been read; err is what cut it short.
func ended(stats accesslog.Stats, err error, names []string) error {
	switch {
	case err != nil:
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	case stats.Lines == 0:
		return fmt.Errorf("%s: empty", strings.Join(names, ", "))
	case stats.Unreadable == stats.Lines:
		return fmt.Errorf("%s: none of %d lines is of the common or combined format, or JSON of nginx, Caddy or Traefik; the first: %s",
			strings.Join(names, ", "), stats.Lines, stats.Samples[0].Why)
	}
	return nil
}

func newReplay() *cobra.Command {
	var f logFlags
	var config, against, format, html string
	command := &cobra.Command{
		Use:     "replay ACCESS-LOG... --config FILE [--against FILE]",
		Short:   "Try rules on yesterday's traffic: who would have been refused, and when",
		Long:    replayHelp,
		Example: replayExamples,
		Args:    wantLogs,
	}
	flags := command.Flags()
	flags.StringVar(&config, "config", "", "the rule `FILE` to try")
	flags.StringVar(&against, "against", "", "another rule `FILE`: who is refused by one and not by the other?")
	flags.StringVar(&format, "format", "text", "of the report on stdout: `text` or json")
	flags.StringVar(&html, "html", "", "write the report as a page to this `file`, too")
	f.add(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		switch {
		case config == "":
			return usage("want --config, the rule file to try")
		case format != "text" && format != "json":
			return usage("--format: %q: want text or json", format)
		}
		if err := stdinOnce(args, config, against); err != nil {
			return err
		}
		c := replay.Config{FileName: config, AgainstName: against, Host: f.host}
		var err error
		if c.File, err = readFile(config, command.InOrStdin()); err != nil {
			return err
		}
		if against != "" {
			if c.Against, err = readFile(against, command.InOrStdin()); err != nil {
				return err
			}
		}
		log, bar, err := f.open(command, args, command.InOrStdin())
		if err != nil {
			return err
		}
		defer log.Close()
		report, err := replay.Run(log, c)
		bar.clear()
		if err != nil {
			return invalidError{err}
		}
		if err := writeReport(report, command.OutOrStdout(), format, html); err != nil {
			return err
		}
		return ended(log.Stats(), log.Err(), args)
	}
	return command
}

// writeReport writes a report to where it is wanted.
func writeReport(report *replay.Report, stdout io.Writer, format, html string) (err error) {
	if format == "json" {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.Text(stdout)
	}
	if err != nil || html == "" {
		return err
	}
	return writeFile(html, report.HTML)
}

// writeFile creates a file with what write writes.
func writeFile(name string, write func(io.Writer) error) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	return write(file)
}
