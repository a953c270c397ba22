package limittest

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/casgate/ratelimit"
)

// Timeline is a rule, calls at given times, and the answers that they must have.
type Timeline struct {
	File    string // and the line that it starts at, for messages
	Line    int
	Name    string
	Source  string // the public report that it was distilled from, such as golang/go#71360; empty for our own
	About   string // what goes wrong there, in a sentence
	Rule    ratelimit.Rule
	Invalid bool // the constructor must refuse the rule; there are no steps
	Steps   []Step
}

// Step is one call and its answer.
type Step struct {
	Line int
	At   int64 // ns from the start, which is a multiple of every window; it may be less than an earlier step's
	Key  string
	N    int64
	Want ratelimit.Decision // Allowed, Limit, Remaining and RetryAfter
}

// ReadTimelines reads the time-lines in the files *.txt of fsys. A file is meant to be read aloud:
//
//	timeline late-caller-mints-nothing
//	from     golang/go#71360
//	about    A caller reads the clock, queues for a lock, and gets in after a newer one.
//	rule     token bucket of 1 at 1/s
//	  10s  alice takes 1  allowed  0 left
//	   9s  alice takes 1  refused  0 left  retry after 1s
//	   9s  alice takes 2  refused  0 left  never
//
// Other rules are "fixed window of 5 per 1m", "sliding log of 5 per 1m" and "sliding counter of 5 per 1m". The line
// "invalid" after a rule means that no limiter may accept it. Empty lines, and those that start with #, are skipped. An
// error names the file and the line.
func ReadTimelines(fsys fs.FS) ([]Timeline, error) {
	names, err := fs.Glob(fsys, "*.txt")
	if err != nil {
		return nil, err
	}
	var all []Timeline
	for _, name := range names {
		file, err := fsys.Open(name)
		if err != nil {
			return nil, err
		}
		timelines, err := parseTimelines(name, file)
		file.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, timelines...)
	}
	return all, nil
}

func parseTimelines(name string, r io.Reader) (all []Timeline, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(text, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case word == "timeline" && rest != "":
			all = append(all, Timeline{File: name, Line: n, Name: rest})
		case len(all) == 0:
			err = fmt.Errorf("want a line that starts with timeline")
		default:
			err = all[len(all)-1].parse(word, rest, text, n)
		}
		if err != nil {
			return nil, fmt.Errorf("limittest: %s:%d: %q: %w", name, n, text, err)
		}
	}
	return all, lines.Err()
}

// parse takes in line n of t's own.
func (t *Timeline) parse(word, rest, text string, n int) (err error) {
	switch word {
	case "from":
		t.Source = rest
	case "about":
		t.About = strings.TrimSpace(t.About + " " + rest)
	case "rule":
		t.Rule, err = parseRule(rest)
	case "invalid":
		t.Invalid = true
	default:
		step := Step{Line: n}
		if step, err = t.parseStep(step, strings.Fields(text)); err == nil {
			t.Steps = append(t.Steps, step)
		}
	}
	return err
}

// parseRule reads "token bucket of 10 at 10/13s" and "fixed window of 5 per 1m", within any range.
func parseRule(text string) (r ratelimit.Rule, err error) {
	name, limits, _ := strings.Cut(text, " of ")
	capacity, rate, ok := strings.Cut(limits, " at ")
	switch name {
	case "token bucket":
		r.Algorithm = ratelimit.TokenBucket
		if !ok {
			return r, fmt.Errorf("want token bucket of N at N/TIME")
		}
	case "fixed window":
		r.Algorithm = ratelimit.FixedWindow
	case "sliding log":
		r.Algorithm = ratelimit.SlidingWindowLog
	case "sliding counter":
		r.Algorithm = ratelimit.SlidingWindowCounter
	default:
		return r, fmt.Errorf("want a token bucket, fixed window, sliding log or sliding counter")
	}
	if !ok {
		capacity, rate, _ = strings.Cut(limits, " per ")
		rate = capacity + "/" + rate
	}
	tokens, per, _ := strings.Cut(rate, "/")
	if strings.Trim(per, "abcdefghijklmnopqrstuvwxyz") == "" {
		per = "1" + per // "10/s"
	}
	if r.Capacity, err = strconv.ParseInt(capacity, 10, 64); err != nil {
		return r, err
	}
	if r.Refill.Tokens, err = strconv.ParseInt(tokens, 10, 64); err != nil {
		return r, err
	}
	r.Refill.Per, err = time.ParseDuration(per)
	return r, err
}

// parseStep reads "10s alice takes 1 refused 0 left retry after 1s", in words.
func (t *Timeline) parseStep(s Step, words []string) (Step, error) {
	var tail string
	if len(words) < 7 || words[2] != "takes" || words[6] != "left" {
		return s, fmt.Errorf("want: TIME KEY takes N allowed|refused N left")
	}
	tail = strings.Join(words[7:], " ")
	at, err := time.ParseDuration(words[0])
	if err != nil {
		return s, err
	}
	s.At, s.Key, s.Want.Limit = int64(at), words[1], t.Rule.Capacity
	if s.N, err = strconv.ParseInt(words[3], 10, 64); err != nil {
		return s, err
	}
	if s.Want.Remaining, err = strconv.ParseInt(words[5], 10, 64); err != nil {
		return s, err
	}
	wait, waits := strings.CutPrefix(tail, "retry after ")
	switch {
	case words[4] == "allowed" && tail == "":
		s.Want.Allowed = true
	case words[4] == "refused" && tail == "never":
		s.Want.RetryAfter = ratelimit.Never
	case words[4] == "refused" && waits:
		s.Want.RetryAfter, err = time.ParseDuration(wait)
	default:
		err = fmt.Errorf("want allowed and nothing more, or refused and retry after TIME, or refused and never")
	}
	return s, err
}
