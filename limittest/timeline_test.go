package limittest

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
)

var repository = os.DirFS("../testdata/timelines")

func TestReferencePassesTimelines(t *testing.T) {
	RunTimelines(t, repository, func(rule ratelimit.Rule, clock ratelimit.Clock) ratelimit.Limiter {
		if rule.Validate() != nil {
			return nil
		}
		return newReference("none")(rule, clock)
	})
}

func TestTimelinesAreAllThere(t *testing.T) {
	all, err := ReadTimelines(repository)
	require.NoError(t, err)
	names, sources := map[string]bool{}, 0
	for _, tl := range all {
		assert.False(t, names[tl.Name], "%s:%d: two time-lines are named %s", tl.File, tl.Line, tl.Name)
		names[tl.Name] = true
		assert.NotEmpty(t, tl.About, "%s:%d: %s doesn't say what goes wrong", tl.File, tl.Line, tl.Name)
		assert.Equal(t, tl.Invalid, len(tl.Steps) == 0, "%s:%d: %s has no steps", tl.File, tl.Line, tl.Name)
		if tl.Source != "" {
			assert.Regexp(t, `^[\w.-]+/[\w.-]+#\d+$`, tl.Source)
			sources++
		}
	}
	assert.Equal(t, 70, sources, "the public reports that time-lines were distilled from")
}

// TestTimelinesSeeFaults plants what the reports are about.
func TestTimelinesSeeFaults(t *testing.T) {
	all, err := ReadTimelines(repository)
	require.NoError(t, err)
	for fault, name := range map[string]string{
		"a late time is believed":            "late-caller-mints-nothing",
		"counts tokens in floats":            "steady-traffic-is-refilled",
		"refills in whole tokens":            "half-a-period-is-kept",
		"a refusal is counted":               "refused-costs-nothing",
		"cuts a cost above the limit to it":  "cost-above-a-capacity-of-one",
		"retry after is cut to milliseconds": "never-zero",
		"retry after is the whole window":    "wait-for-what-is-left",
		"windows end a tick early":           "the-oldest-leaves-first",
		"ignores the window before":          "the-last-window-is-kept",
		"the first request is free":          "the-first-call-counts",
		"peeking takes":                      "the-next-window-is-new",
	} {
		skip := map[string]string{}
		for _, tl := range all {
			if tl.Name != name {
				skip[tl.Name] = "not looked at here"
			}
		}
		r := &recorder{TB: t}
		Suite{New: newReference(fault), Skip: skip}.RunTimelines(r, repository)
		assert.NotEmpty(t, r.failures, "%s let a limiter through that is wrong: %s", name, fault)
	}
}

func TestBadTimelines(t *testing.T) {
	const head = "timeline x\nrule token bucket of 1 at 1/s\n"
	for text, want := range map[string]string{
		"rule token bucket of 1 at 1/s":                     `limittest: bad.txt:1: "rule token bucket of 1 at 1/s": want a line that starts with timeline`,
		"timeline x\nrule bucket of 1 at 1/s":               "bad.txt:2",
		"timeline x\nrule token bucket of 1 per 1s":         "want token bucket of N at N/TIME",
		"timeline x\nrule fixed window of x per 1s":         `parsing "x"`,
		head + "1s k takes 1 allowed 0":                     "want: TIME KEY takes N allowed|refused N left",
		head + "1s k takes 1 allowed 0 left retry after 1s": "want allowed and nothing more",
		head + "1s k takes 1 refused 0 left":                "or refused and never",
		head + "1x k takes 1 allowed 0 left":                "1x",
		head + "1s k takes 1 refused 0 left retry after x":  "x",
	} {
		_, err := ReadTimelines(fstest.MapFS{"bad.txt": {Data: []byte(text)}})
		assert.ErrorContains(t, err, want, "%s", text)
	}
}
