package admin

import (
	"context"
	"sync"
	"time"

	"github.com/casgate/ratelimit/cmd/internal/limits"
)

// history is how many requests passed and were refused in each step of the recent past: in all, and by rule for the
// first maxRules. The counts themselves only ever grow.
type history struct {
	mu     sync.Mutex
	at     int // the next step, modulo steps
	length int
	total  series
	rules  map[string]*series
}

const (
	step     = 2 * time.Second
	steps    = 450 // a quarter of an hour
	maxRules = 200 // a series each, and a row each on the page
)

// series is one counter's steps.
type series struct {
	allowed, refused [steps]uint32
	last             counts // the counter at the last step
	seen             bool
}

type counts struct{ allowed, refused uint64 }

// now returns the counters of l.
func now(l *limits.Limits) (total counts, rules []ruleCounts) {
	total.allowed, total.refused = l.Passed(), l.Refused()
	for _, r := range l.Filter.Stats().Rules {
		if len(rules) == maxRules {
			break
		}
		rules = append(rules, ruleCounts{r.Rule, counts{r.Allowed + r.ErrorAllowed, r.Refused + r.Shadow + r.ErrorDenied}})
	}
	return total, rules
}

type ruleCounts struct {
	name string
	counts
}

func newHistory() *history { return &history{rules: map[string]*series{}} }

// run takes a step every two seconds until ctx is done.
func (h *history) run(ctx context.Context, l *limits.Limits) {
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	h.take(now(l))
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			h.take(now(l))
		}
	}
}

// take takes a step.
func (h *history) take(total counts, rules []ruleCounts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.rules
	h.rules = make(map[string]*series, len(rules)) // a rule that has gone and comes back starts anew, here as elsewhere
	for _, r := range rules {
		s := old[r.name]
		if s == nil {
			s = &series{}
		}
		h.rules[r.name] = s
		s.step(h.at, r.counts)
	}
	h.total.step(h.at, total)
	h.at = (h.at + 1) % steps
	h.length = min(h.length+1, steps)
}

// step writes what has been counted since the last step. The first has nothing to compare with, and counts nothing.
func (s *series) step(at int, now counts) {
	s.allowed[at], s.refused[at] = 0, 0
	if s.seen {
		s.allowed[at], s.refused[at] = grown(s.last.allowed, now.allowed), grown(s.last.refused, now.refused)
	}
	s.last, s.seen = now, true
}

// grown returns what a counter has gained; nothing if it was replaced by one that counts from 0.
func grown(then, now uint64) uint32 {
	if now < then {
		return 0
	}
	return uint32(min(now-then, 1<<32-1))
}

// of returns the steps of a rule, or of all rules for "", the oldest first; nil for an unknown rule.
func (h *history) of(rule string) (allowed, refused []uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.series(rule)
	if s == nil {
		return nil, nil
	}
	for i := range h.length {
		at := (h.at - h.length + i + steps) % steps
		allowed = append(allowed, s.allowed[at])
		refused = append(refused, s.refused[at])
	}
	return allowed, refused
}

// lately returns how much of a rule, or of all for "", passed and was refused in the last d.
func (h *history) lately(rule string, d time.Duration) (sum [2]uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.series(rule)
	if s == nil {
		return sum
	}
	for i := range min(h.length, int(d/step)) {
		at := (h.at - 1 - i + steps) % steps
		sum[0] += s.allowed[at]
		sum[1] += s.refused[at]
	}
	return sum
}

// series returns a rule's, or that of all for ""; nil for an unknown rule.
func (h *history) series(rule string) *series {
	if rule == "" {
		return &h.total
	}
	return h.rules[rule]
}
