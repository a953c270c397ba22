package rules

import (
	"fmt"
	"io"
	"reflect"

	"github.com/casgate/ratelimit"
)

// ruleSetter is a limiter whose rule can change under its counts.
type ruleSetter interface {
	SetRule(r ratelimit.Rule) error
}

// identity is what a limiter's counts are known by. While it stays, so do they.
type identity struct {
	rule, plan, key, store string
	algorithm              ratelimit.Algorithm
}

func (l *Limit) identity() identity {
	return identity{l.Rule.Name, l.Plan, l.Rule.Key.text, l.Rule.store, l.Limit.Algorithm}
}

// counts reports whether l needs a limiter.
func (l *Limit) counts() bool { return l.Limit != ratelimit.Rule{} && l.Rule.Key.text != "" }

// handover is the passage of limiters from one set to the next, in steps of which each can be undone until the last.
type handover struct {
	made    []ratelimit.Reversible // for next
	dropped []ratelimit.Reversible // next doesn't have them
	changed []change
}

// change is a limiter that stays, and what it enforces before and after.
type change struct {
	limiter  ruleSetter
	from, to ratelimit.Rule
	path     string
	rule     string
}

// takeOver gives each limit of next its limiter: that of old, where the identity stays, or a new one. old is not
// changed; nil is a set without rules.
func takeOver(old, next *Set, newLimiter func(Build) (ratelimit.Reversible, error)) (*handover, error) {
	held := map[identity]*Limit{}
	if old != nil {
		for _, l := range old.limits {
			if l.Limiter != nil {
				held[l.identity()] = l
			}
		}
	}
	h, ps := &handover{}, &problems{}
	for _, l := range next.limits {
		if !l.counts() {
			continue
		}
		id := l.identity()
		if before := held[id]; before != nil && h.keep(before, l) {
			delete(held, id)
			continue
		}
		limiter, err := newLimiter(Build{Rule: id.rule, Plan: id.plan, Key: id.key, Store: id.store, Limit: l.Limit})
		if r := reflect.ValueOf(limiter); err == nil && (!r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()) {
			err = fmt.Errorf("%w: NewLimiter: made none: %#v", ratelimit.ErrInvalidConfig, limiter)
		}
		if err != nil {
			ps.list = append(ps.list, limiterProblem(l.path, id.rule, err))
			continue
		}
		l.Limiter = limiter
		h.made = append(h.made, limiter)
	}
	for _, l := range held {
		h.dropped = append(h.dropped, l.Limiter)
	}
	if err := ps.err(); err != nil {
		h.abandon()
		return nil, err
	}
	return h, nil
}

// keep hands before's limiter to l, if it can enforce l's rule.
func (h *handover) keep(before, l *Limit) bool {
	setter, ok := before.Limiter.(ruleSetter)
	if before.Limit != l.Limit {
		if !ok {
			return false
		}
		h.changed = append(h.changed, change{setter, before.Limit, l.Limit, l.path, l.Rule.Name})
	}
	l.Limiter = before.Limiter
	return true
}

// setRules tells the limiters that stay their new rules. If one refuses, those before it get their old rules back.
func (h *handover) setRules() error {
	for i, c := range h.changed {
		err := c.limiter.SetRule(c.to)
		if err == nil {
			continue
		}
		for _, done := range h.changed[:i] {
			if err := done.limiter.SetRule(done.from); err != nil { // it was enforcing this a moment ago
				return &Error{[]Problem{limiterProblem(done.path, done.rule, err)}}
			}
		}
		return &Error{[]Problem{limiterProblem(c.path, c.rule, err)}}
	}
	return nil
}

// abandon closes what was made for a set that won't be.
func (h *handover) abandon() { closeAll(h.made) }

// closeDropped closes what no rule has any more.
func (h *handover) closeDropped() { closeAll(h.dropped) }

func closeAll(limiters []ratelimit.Reversible) {
	for _, limiter := range limiters {
		if closer, ok := limiter.(io.Closer); ok {
			closer.Close()
		}
	}
}

// limiterError is a Problem's kind: ErrLimiter, and what the limiter's maker said.
type limiterError struct{ cause error }

func (e limiterError) Error() string   { return e.cause.Error() }
func (e limiterError) Unwrap() []error { return []error{ErrLimiter, e.cause} }

func limiterProblem(path, rule string, err error) Problem {
	return Problem{Path: path, Rule: rule, Kind: limiterError{err}, Text: err.Error()}
}

// localLimiters makes the limiters of this process, and no others.
func localLimiters(c ratelimit.Config) func(Build) (ratelimit.Reversible, error) {
	factory := ratelimit.NewFactory(c)
	return func(b Build) (ratelimit.Reversible, error) {
		if b.Store != "" {
			return nil, fmt.Errorf("%w: the rule has a store, and this program keeps its counts in memory only", ErrValue)
		}
		return factory.Create(b.Limit)
	}
}
