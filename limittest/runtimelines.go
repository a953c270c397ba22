package limittest

import (
	"fmt"
	"io/fs"
	"math"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
)

// RunTimelines runs the time-lines of fsys (see ReadTimelines) against the limiters that create returns: nil for a rule
// that is refused. Each is run on a clock that never goes back, where a late step comes at the newest time; for a
// ratelimit.Local it is run by TakeAt too; from time 0, from 2023, and, for a Local, from before 1970. Each RetryAfter is
// tried out as well. An algorithm of which create supports nothing is skipped, and says so.
func RunTimelines(tb testing.TB, fsys fs.FS, create func(ratelimit.Rule, ratelimit.Clock) ratelimit.Limiter) {
	tb.Helper()
	Suite{New: create}.RunTimelines(tb, fsys)
}

// RunTimelines is the function of that name for a limiter that can't do all of it. Skip takes the time-lines' names.
// Time-lines with instants that Resolution can't tell are skipped, and say so.
func (s Suite) RunTimelines(tb testing.TB, fsys fs.FS) {
	tb.Helper()
	s.Resolution = max(s.Resolution, 1)
	all, err := ReadTimelines(fsys)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	if len(all) == 0 {
		tb.Fatalf("limittest: no time-line in any *.txt file")
	}
	for _, t := range all {
		subtest(tb, t.Name, func(tb testing.TB) {
			e := &env{TB: tb, suite: s, algorithm: t.Rule.Algorithm}
			if why, skip := s.Skip[t.Name]; skip {
				tb.Skipf("skipped: %s", why)
			}
			if !s.supports(t.Rule.Algorithm) {
				tb.Skipf("skipped: New returned nil for %v, capacity 1, 1/s", t.Rule.Algorithm)
			}
			for _, step := range t.Steps {
				if step.At%int64(s.Resolution) != 0 {
					tb.Skipf("skipped: %v is finer than %v", time.Duration(step.At), s.Resolution)
				}
			}
			(&timelineRun{env: e, Timeline: t}).run()
		})
	}
}

// supports reports whether New makes limiters of an algorithm at all.
func (s Suite) supports(a ratelimit.Algorithm) bool {
	return s.New(ratelimit.Rule{Algorithm: a, Capacity: 1, Refill: ratelimit.PerSecond(1)}, new(ManualClock)) != nil
}

// timelineRun is one time-line under way.
type timelineRun struct {
	*env
	Timeline
}

func (t *timelineRun) run() {
	t.Helper()
	clock := new(ManualClock)
	l := t.suite.New(t.Rule, clock)
	if (l == nil) != t.Invalid {
		t.failed(t.Line, "limiter made: %v; want %v, for %s", l != nil, !t.Invalid, showRule(t.Rule))
		return
	}
	if t.Invalid {
		return
	}
	_, isLocal := l.(ratelimit.Local)
	origins := []int64{0, t.origin(start)}
	if isLocal {
		origins = append(origins, t.origin(-start))
	}
	for _, origin := range origins {
		if t.reaches(origin) {
			t.play(origin, false)
			t.retry(origin, false)
			if isLocal {
				t.play(origin, true)
				t.retry(origin, true)
			}
		}
	}
}

// origin returns the last multiple of the window up to near: windows start there as they do at 0.
func (t *timelineRun) origin(near int64) int64 {
	window := int64(t.Rule.Window())
	return floorDiv(near, window) * window
}

// reaches reports whether all instants from origin on fit, with room for what is worked out from them.
func (t *timelineRun) reaches(origin int64) bool {
	for _, s := range t.Steps {
		if origin > 0 && s.At > math.MaxInt64-origin-int64(time.Hour) {
			return false
		}
	}
	return true
}

// steps returns a fresh limiter's Take and Peek, by the clock or by TakeAt. Peek may be nil.
func (t *timelineRun) steps(origin int64, at bool) (take, peek func(s Step) ratelimit.Decision) {
	clock := new(ManualClock)
	clock.Set(origin)
	l := t.suite.New(t.Rule, clock)
	if at {
		return func(s Step) ratelimit.Decision { return l.(ratelimit.Local).TakeAt(s.Key, s.N, origin+s.At) }, nil
	}
	set := func(s Step) { clock.Set(max(clock.NanoTime(), origin+s.At)) }
	take = func(s Step) ratelimit.Decision { set(s); return l.Take(s.Key, s.N) }
	if r, ok := l.(ratelimit.Reversible); ok {
		peek = func(s Step) ratelimit.Decision { set(s); return r.Peek(s.Key, s.N) }
	}
	return take, peek
}

// play takes every step, looking before each where that is possible.
func (t *timelineRun) play(origin int64, at bool) {
	t.Helper()
	take, peek := t.steps(origin, at)
	for _, s := range t.Steps {
		if peek != nil {
			t.compare(s, "Peek", peek(s))
		}
		if !t.compare(s, "Take", take(s)) {
			return
		}
	}
}

func (t *timelineRun) compare(s Step, call string, got ratelimit.Decision) bool {
	t.Helper()
	want := s.Want
	want.RetryAfter = t.roundUp(want.RetryAfter)
	want.ResetAfter, want.At = got.ResetAfter, got.At // time-lines don't tell them
	if got != want {
		t.failed(s.Line, "%s of %d for %s at %v:\n\tgot  %s\n\twant %s", call, s.N, s.Key, time.Duration(s.At),
			show(got), show(want))
	}
	return got == want
}

// retry checks every refusal's RetryAfter on a limiter that has seen the steps before it: refused a moment earlier,
// allowed then.
func (t *timelineRun) retry(origin int64, at bool) {
	t.Helper()
	newest := int64(math.MinInt64)
	for i, s := range t.Steps {
		newest = max(newest, s.At)
		if s.Want.Allowed || s.Want.RetryAfter == ratelimit.Never {
			continue
		}
		take, _ := t.steps(origin, at)
		for _, before := range t.Steps[:i+1] {
			take(before)
		}
		then := newest + int64(t.roundUp(s.Want.RetryAfter))
		early := s
		early.At = then - int64(t.tick())
		if d := take(early); d.Allowed {
			t.failed(s.Line, "%v before the RetryAfter of %v: %s", t.tick(), s.Want.RetryAfter, show(d))
		}
		s.At = then
		if d := take(s); !d.Allowed {
			t.failed(s.Line, "after the RetryAfter of %v: %s", s.Want.RetryAfter, show(d))
		}
	}
}

func (t *timelineRun) failed(line int, format string, args ...any) {
	t.Helper()
	about := t.About
	if t.Source != "" {
		about += " (" + t.Source + ")"
	}
	t.Errorf("%s:%d: %s\n\t%s", t.File, line, about, fmt.Sprintf(format, args...))
}
