package httplimit

import (
	"runtime"
	"sync/atomic"

	"github.com/casgate/ratelimit"
)

// event is what a rule counts.
type event uint8

const (
	eventAllowed      event = iota // admitted; in shadow mode: it would have been
	eventRefused                   // refused, or blocked
	eventShadow                    // would have been refused, had the rule been enforced
	eventErrorAllowed              // admitted by the outage policy of a remote limiter
	eventErrorDenied               // refused by it
	eventUnkeyed                   // without the rule's key: skipped or refused
	eventStricter                  // of eventShadow, those that passed all the same
	eventLooser                    // of a shadow rule's eventAllowed, those that an enforced rule refused
	events
)

// counts are the counters of one rule, in stripes: a goroutine counts in the stripe of its visit, which as a rule has
// been on the same processor before, so that counting costs no cache line that others write.
type counts struct {
	stripes []stripe
	top     topKeys
}

// stripe is a cache line.
type stripe [events]atomic.Uint64

var _ [64]byte = [len(stripe{}) * 8]byte{}

const maxStripes = 16

// stripesOf returns the number of stripes on this machine: a power of two.
func stripesOf() int {
	n := 1
	for n < runtime.GOMAXPROCS(0) && n < maxStripes {
		n *= 2
	}
	return n
}

func newCounts(stripes, topK int) *counts {
	return &counts{stripes: make([]stripe, stripes), top: newTopKeys(stripes, topK)}
}

func (c *counts) add(stripe int, e event) { c.stripes[stripe][e].Add(1) }

// sum returns the count of e in all stripes.
func (c *counts) sum(e event) (n uint64) {
	for i := range c.stripes {
		n += c.stripes[i][e].Load()
	}
	return n
}

// count counts what the rules have said of v's request, and notes whether one has said no.
func (v *visit) count() {
	v.unanimous = v.reason == Passed
	for i := range v.outs {
		o := &v.outs[i]
		v.unanimous = v.unanimous && o.decision.Allowed
		if o.decision == (ratelimit.Decision{}) && o.err == nil && o.rule.mode != Block {
			continue // not asked, as another rule had refused already
		}
		switch c, allowed := o.rule.counts, o.decision.Allowed; {
		case o.rule.mode == Shadow:
			v.countShadow(o)
		case o.err != nil && allowed:
			c.add(v.stripe, eventErrorAllowed)
		case o.err != nil:
			c.add(v.stripe, eventErrorDenied)
		case !allowed:
			c.add(v.stripe, eventRefused)
			c.top.add(v.stripe, o.key)
		case v.reason == Passed:
			c.add(v.stripe, eventAllowed)
		}
	}
}

func (v *visit) countShadow(o *outcome) {
	c := o.rule.counts
	switch {
	case !o.decision.Allowed:
		c.add(v.stripe, eventShadow)
		if v.reason == Passed {
			c.add(v.stripe, eventStricter)
		}
	default:
		c.add(v.stripe, eventAllowed)
		if v.reason != Passed {
			c.add(v.stripe, eventLooser)
		}
	}
}
