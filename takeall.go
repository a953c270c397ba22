package ratelimit

import (
	"math"
	"reflect"
)

// Claim is one part of a request that several rules must admit: n tokens of a key in a limiter.
type Claim struct {
	Limiter  Reversible
	Key      string
	N        int64
	Decision Decision // filled by TakeAll
	Err      error    // filled by TakeAll: why a Remote's store could not decide; the Decision is its outage policy's
}

// TakeAll takes every claim, or none: the limits of a user and of an address, say, at once. It looks at all local
// limiters but the last first, then takes, from the last one to the first, and of remote ones after that. If one refuses
// after all, or panics, what was taken is given back, so no partial charge remains. It holds no lock: claims in any order
// can't deadlock.
//
// Claims on one key of one limiter are summed first: two of one token need two. A Composite stands for its limiters,
// so that one which is claimed beside it, too, is asked for the sum. d is the binding claim's Decision, and binding
// its index: of the refusing claims the one with the longest RetryAfter; if all are admitted, the one with the least
// Remaining/Limit; of equals, the first. Without claims it is allowed, and binding is -1. When TakeAll refuses, the
// Decision of a claim that alone would have been admitted tells what its key has left; that of a remote claim which
// wasn't asked, because a local one had refused, is zero.
//
// A charge that is given back stood for a moment, in which a concurrent call on that key can be refused because of it:
// at most once for each call of TakeAll that loses its race between look and take, and for no more than its N. A refusal
// that the look finds, as nearly all are, charges nothing.
func TakeAll(claims []Claim) (d Decision, binding int) {
	for i := range claims {
		if _, ok := claims[i].Limiter.(*Composite); ok {
			return takeParts(claims)
		}
	}
	t := transaction{claims: claims}
	return t.run()
}

// transaction is one TakeAll. A claim leads if no earlier one has its limiter and key; it is charged the total of all
// that do, and the others get its Decision.
type transaction struct {
	claims     []Claim
	refuser    int         // the claim whose store refused, plus one; 0: none did
	asked      int         // the stores of the claims before this one were asked; a claim on another store has no Decision
	oneInstant bool        // what a claim counts at moves its clock on for those after it: they are a Composite's, and have one At
	moved      bool        // one has
	given      bool        // the first of times is that of all claims which take one
	times      [4]struct { // the clocks read, each once; a fifth one would be read at each of its claims
		clock Clock
		now   int64
	}
}

// run is TakeAll.
func (t *transaction) run() (d Decision, binding int) {
	if !t.look(false) || !t.take() {
		t.settle()
	}
	return t.bind()
}

// peek is what run would say.
func (t *transaction) peek() Decision {
	ok := t.look(true)
	if ok && t.moved { // then run would take all of them at that instant
		ok = t.look(true)
	}
	if !ok {
		t.settle()
	}
	d, _ := t.bind()
	return d
}

// look fills the leading claims' Decisions by peeks, and reports whether all are allowed. It leaves out the one that
// take charges first, unless another is refused: its charge is its look. Remote ones it leaves out unless asked to.
func (t *transaction) look(remote bool) bool {
	all, waiting := true, -1
	if remote {
		t.asked = len(t.claims)
	}
	for i := range t.claims {
		c := &t.claims[i]
		c.Decision, c.Err = Decision{}, nil
		if isRemote(c.Limiter) && !remote || t.leader(i) != i {
			continue
		}
		if waiting >= 0 && !t.lookAt(waiting) {
			all = false
		}
		waiting = i
	}
	if waiting >= 0 && (remote || !all) && !t.lookAt(waiting) {
		all = false
	}
	return all
}

// lookAt fills the Decision of claim i, which leads, by a peek, and reports whether it is allowed.
func (t *transaction) lookAt(i int) bool {
	c := &t.claims[i]
	if l, now, ok := t.timed(c.Limiter); ok {
		c.Decision = l.peekAt(c.Key, t.total(i), now)
		t.counted(l, c.Decision.At, now)
	} else {
		c.Decision = c.Limiter.Peek(c.Key, t.total(i))
	}
	return c.Decision.Allowed
}

// take charges the leading claims, local ones first, from the last to the first, and reports whether all were admitted;
// otherwise, and if a limiter panics, nothing is charged any more.
func (t *transaction) take() (ok bool) {
	charged := len(t.claims) // claims from here on, if they are local
	defer func() {
		if !ok {
			t.rollBack(charged)
		}
	}()
	remote := false
	for i := len(t.claims) - 1; i >= 0; i-- {
		c := &t.claims[i]
		if isRemote(c.Limiter) {
			remote = true
			continue
		}
		if t.leader(i) != i {
			continue
		}
		if l, now, ok := t.timed(c.Limiter); ok {
			c.Decision = l.TakeAt(c.Key, t.total(i), now)
			t.counted(l, c.Decision.At, now)
		} else {
			c.Decision = c.Limiter.Take(c.Key, t.total(i))
		}
		if !c.Decision.Allowed {
			return false
		}
		charged = i
	}
	charged = 0 // remote ones may be anywhere
	return !remote || t.takeRemote()
}

// rollBack gives back what the leading claims from the index start have taken: local ones, and those on the stores that
// were asked before the last one.
func (t *transaction) rollBack(start int) {
	for i := start; i < len(t.claims); i++ {
		c := &t.claims[i]
		if r, ok := c.Limiter.(Remote); ok && !t.sharesStore(r, t.asked-1) || t.leader(i) != i {
			continue
		}
		c.Limiter.RefundAt(c.Key, t.total(i), c.Decision.At)
	}
}

// leader returns the index of the first claim with i's limiter and key.
func (t *transaction) leader(i int) int {
	for j := range i {
		if t.claims[j].Key == t.claims[i].Key && same(t.claims[j].Limiter, t.claims[i].Limiter) {
			return j
		}
	}
	return i
}

// total returns the sum of N over the claims that i leads, at most MaxInt64; -1 if one of them is negative.
func (t *transaction) total(i int) int64 {
	sum := t.claims[i].N
	for j := i + 1; j < len(t.claims) && sum >= 0; j++ {
		if t.leader(j) != i {
			continue
		}
		n := t.claims[j].N
		switch {
		case n < 0:
			sum = -1
		case sum > math.MaxInt64-n:
			sum = math.MaxInt64
		default:
			sum += n
		}
	}
	return max(sum, -1)
}

// same is a == b, but false where that would panic: for types that can't be compared, such as functions.
func same(a, b any) bool { return canCompare(a) && a == b }

// canCompare reports whether a == a can't panic. Limiters and clocks are pointers, or empty structs, nearly always.
func canCompare(a any) bool {
	t := reflect.TypeOf(a)
	return t.Kind() == reflect.Pointer || t.Size() == 0 && t.Comparable() || reflect.ValueOf(a).Comparable()
}
