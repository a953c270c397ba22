package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/suggest"
	"github.com/casgate/ratelimit/rules"
)

const suggestHelp = `Finds limits for the traffic in an access log, and prints them as a rule file. What it stands on is in comments: for each
rule the trade-off between the burst and whom it refuses, and what a replay of the file says.

By itself it draws the line where clients fall apart: most need little, and a few, that scrape or guess passwords, many
times that. Where none stands apart, the limit refuses nobody of the log. With --clients or --requests it is the tightest
that refuses at most that share.

Without --config there is a rule for each of the busiest endpoints and one for the rest. With it, the rules, keys and
plans are the file's, and only their limits are found.

The log is read several times; from stdin it is copied to a temporary file first.

Exit status: as for replay.`

const suggestExamples = `  ratelimit suggest access.log.gz > rules.yaml
  ratelimit validate rules.yaml
  ratelimit replay access.log.gz --config rules.yaml --html report.html

  # one limit for all endpoints, that refuses at most one client in a thousand
  ratelimit suggest access.log* --endpoints 0 --clients 0.1%

  # new limits for the plans of a rule file
  ratelimit suggest access.json --config rules.yaml --requests 0.5%`

// share is a flag's value: 0.1% or 0.001.
type share float64

func (s *share) String() string {
	if *s == suggest.Auto {
		return ""
	}
	return strconv.FormatFloat(float64(*s)*100, 'g', 4, 64) + "%"
}

func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0 && x < 1) {
		return errors.New("want a share, such as 0.1% or 0.001")
	}
	*s = share(x)
	return nil
}

func (s *share) Type() string { return "share" }

func newSuggest() *cobra.Command {
	var f logFlags
	var config, format, html string
	var key []string
	var endpoints int
	var headroom float64
	clients, requests := share(suggest.Auto), share(suggest.Auto)
	command := &cobra.Command{
		Use:     "suggest ACCESS-LOG...",
		Short:   "Find limits for the traffic in an access log",
		Long:    suggestHelp,
		Example: suggestExamples,
		Args:    wantLogs,
	}
	flags := command.Flags()
	flags.StringVar(&config, "config", "", "find limits for the rules of this `FILE`")
	flags.StringSliceVar(&key, "key", []string{"ip"}, "what to count by, as in a rule file: ip, header:X-API-Key, ...")
	flags.IntVar(&endpoints, "endpoints", 8, "how many endpoints get a rule of their own")
	flags.Var(&clients, "clients", "the `SHARE` of clients that may be refused, such as 0.1%")
	flags.Var(&requests, "requests", "the `SHARE` of requests that may be refused")
	flags.Float64Var(&headroom, "headroom", 2, "how many times the burst that clients needed they are given")
	flags.StringVar(&format, "format", "yaml", "of what is printed: `yaml` or json")
	flags.StringVar(&html, "html", "", "draw the trade-offs as a page in this `file`, too")
	f.add(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		switch {
		case format != "yaml" && format != "json":
			return usage("--format: %q: want yaml or json", format)
		case clients != suggest.Auto && requests != suggest.Auto:
			return usage("--clients and --requests: want only one of them")
		case endpoints < 0 || endpoints > 100:
			return usage("--endpoints: %d: must be from 0 to 100", endpoints)
		case !(headroom >= 1 && headroom <= 1000):
			return usage("--headroom: %v: must be from 1 to 1000", headroom)
		}
		if err := stdinOnce(args, config); err != nil {
			return err
		}
		if _, err := rules.ParseKey(key...); err != nil {
			return usage("--key: %w", err)
		}
		c := suggest.Config{Key: key, Endpoints: endpoints, Clients: float64(clients), Requests: float64(requests), Headroom: headroom, Host: f.host}
		if config != "" {
			file, err := readFile(config, command.InOrStdin())
			if err != nil {
				return err
			}
			c.File = file
		}
		files, remove, err := withoutStdin(args, command.InOrStdin())
		if err != nil {
			return err
		}
		defer remove()
		var bar *progress
		c.Open = func() (log *accesslog.Log, err error) {
			log, bar, err = f.open(command, files, nil)
			return log, err
		}
		result, err := suggest.Run(c)
		if bar != nil {
			bar.clear()
		}
		if err == nil && html != "" {
			if err := writeFile(html, result.HTML); err != nil {
				return err
			}
		}
		return printSuggestion(command.OutOrStdout(), result, err, format, args)
	}
	return command
}

// printSuggestion prints what was found, and returns what is wrong with the log.
func printSuggestion(w io.Writer, result *suggest.Result, err error, format string, names []string) error {
	var invalid *rules.Error
	if errors.As(err, &invalid) {
		return invalidError{err}
	}
	if result == nil {
		return err
	}
	if result.Report == nil { // nothing to go by
		if problem := ended(result.Stats, result.LogErr, names); problem != nil {
			return problem
		}
		return fmt.Errorf("%s: %w", strings.Join(names, ", "), err)
	}
	if err != nil {
		return err
	}
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(result)
	} else {
		err = result.YAML(w)
	}
	if err != nil {
		return err
	}
	return ended(result.Stats, result.LogErr, names)
}

// withoutStdin returns names with a copy of stdin instead of "-", since a pipe can be read but once.
func withoutStdin(names []string, stdin io.Reader) (files []string, remove func(), err error) {
	remove = func() {}
	for _, name := range names {
		if name != "-" {
			files = append(files, name)
			continue
		}
		copied, err := os.CreateTemp("", "ratelimit-suggest-*.log")
		if err != nil {
			return nil, remove, err
		}
		remove = func() { _ = os.Remove(copied.Name()) }
		_, err = io.Copy(copied, stdin)
		if err = errors.Join(err, copied.Close()); err != nil {
			remove()
			return nil, func() {}, err
		}
		files = append(files, copied.Name())
	}
	return files, remove, nil
}
