// What a transaction says of its claims, and which of them counts.

package ratelimit

import "time"

// settle turns what the allowed claims of a refused transaction would have into what they have.
func (t *transaction) settle() {
	for i := range t.claims {
		c := &t.claims[i]
		if !c.Decision.Allowed || t.leader(i) != i || t.told(c.Limiter) {
			continue
		}
		if l, now, ok := t.timed(c.Limiter); ok {
			c.Decision = l.peekAt(c.Key, 0, now)
		} else {
			c.Decision.Remaining = min(c.Decision.Remaining+t.total(i), c.Decision.Limit)
		}
	}
}

// bind copies the leaders' Decisions to the claims that they stand for, and returns the one that counts.
func (t *transaction) bind() (d Decision, binding int) {
	for i := range t.claims {
		if leader := t.leader(i); leader != i {
			t.claims[i].Decision, t.claims[i].Err = t.claims[leader].Decision, t.claims[leader].Err
		}
	}
	if d, binding = t.tightest(0, len(t.claims)); binding < 0 {
		d.Allowed = true
	}
	return d, binding
}

// tightest returns the Decision that counts among those of the claims from start to end, and its index; -1 if none of
// them was decided.
func (t *transaction) tightest(start, end int) (d Decision, binding int) {
	binding = -1
	for i := start; i < end; i++ {
		if c := &t.claims[i]; t.decided(i) && (binding < 0 || c.Decision.binds(&d)) {
			d, binding = c.Decision, i
		}
	}
	if t.oneInstant && d.Allowed {
		t.align(&d, binding, start, end)
	}
	return d, binding
}

// align turns the binding Decision's instant into the newest that one of the claims from start to end counted at. They
// differ if other calls came in between.
func (t *transaction) align(d *Decision, binding, start, end int) {
	for i := start; i < end; i++ {
		later := t.claims[i].Decision.At - d.At
		if later > 0 && isTimed(t.claims[i].Limiter) && isTimed(t.claims[binding].Limiter) {
			d.At += later
			d.ResetAfter = max(d.ResetAfter-time.Duration(later), 0)
		}
	}
}

// binds reports whether d counts for more than e: a refusal does, then the longer wait, then the smaller share left.
func (d *Decision) binds(e *Decision) bool {
	switch {
	case d.Allowed != e.Allowed:
		return !d.Allowed
	case !d.Allowed:
		return d.RetryAfter > e.RetryAfter
	default:
		return lessFraction(uint64(d.Remaining), uint64(d.Limit), uint64(e.Remaining), uint64(e.Limit))
	}
}
