package ratelimit

import (
	"math"
	"reflect"
	"time"
)

// Claim is one part of a request that several rules must admit: n tokens of a key in a limiter.
type Claim struct {
	Limiter  Reversible
	Key      string
	N        int64
	Decision Decision // filled by TakeAll
}

// Remote is a Reversible whose state is in a shared store. TakeAll decides all its claims on one store last, in one
// call.
type Remote interface {
	Reversible
	// Store identifies the store: limiters with equal values, which must be comparable, are decided together.
	Store() any
	// TakeGroup takes all the claims, whose limiters are of one store, or none of them, fills each Decision, and reports
	// which. When it takes none, the Decision of a claim that would have been admitted tells what its key has left.
	TakeGroup(claims []Claim) bool
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
	claims  []Claim
	refuser int         // the claim whose store refused, plus one; 0: none did
	asked   int         // the stores of the claims before this one were asked; a claim on another store has no Decision
	level   bool        // what a claim counts at moves its clock on for those after it: they are a Composite's, and have one At
	moved   bool        // one has
	given   bool        // the first of times is that of all claims which take one
	times   [4]struct { // the clocks read, each once; a fifth one would be read at each of its claims
		clock Clock
		now   int64
	}
}

// timed is a Reversible whose time can be given from outside.
type timed interface {
	Reversible
	timeline() Clock // nil if none of its parts takes a time
	peekAt(key string, n, now int64) Decision
	TakeAt(key string, n, now int64) Decision
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
		c.Decision = Decision{}
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
		if r, ok := c.Limiter.(Remote); ok && !t.named(r, t.asked-1) || t.leader(i) != i {
			continue
		}
		c.Limiter.RefundAt(c.Key, t.total(i), c.Decision.At)
	}
}

// takeRemote charges the remote claims, one call for each store.
func (t *transaction) takeRemote() bool {
	for i := range t.claims {
		r, ok := t.claims[i].Limiter.(Remote)
		if !ok || t.named(r, i) {
			continue
		}
		t.asked = i + 1
		if !t.takeStore(r) {
			t.refuser = i + 1
			return false
		}
	}
	return true
}

// named reports whether a claim before the index end is on r's store.
func (t *transaction) named(r Remote, end int) bool {
	for i := range end {
		if other, ok := t.claims[i].Limiter.(Remote); ok && other.Store() == r.Store() {
			return true
		}
	}
	return false
}

// decided reports whether claim i was decided: all local ones are.
func (t *transaction) decided(i int) bool {
	r, ok := t.claims[i].Limiter.(Remote)
	return !ok || t.named(r, t.asked)
}

// takeStore charges all leading claims on the store of r, in one call.
func (t *transaction) takeStore(r Remote) bool {
	var group []Claim
	var members []int
	for i, c := range t.claims {
		if other, ok := c.Limiter.(Remote); ok && other.Store() == r.Store() && t.leader(i) == i {
			group = append(group, Claim{Limiter: c.Limiter, Key: c.Key, N: t.total(i)})
			members = append(members, i)
		}
	}
	taken := r.TakeGroup(group)
	for j, i := range members {
		t.claims[i].Decision = group[j].Decision
	}
	return taken
}

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

// told reports whether l is on the store that refused, which has told what its keys have.
func (t *transaction) told(l Reversible) bool {
	r, ok := l.(Remote)
	return ok && t.refuser > 0 && r.Store() == t.claims[t.refuser-1].Limiter.(Remote).Store()
}

// bind copies the leaders' Decisions to the claims that they stand for, and returns the one that counts.
func (t *transaction) bind() (d Decision, binding int) {
	for i := range t.claims {
		if leader := t.leader(i); leader != i {
			t.claims[i].Decision = t.claims[leader].Decision
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
	if t.level && d.Allowed {
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

// timed returns l and the time to give it, if it takes one.
func (t *transaction) timed(l Reversible) (timed, int64, bool) {
	local, ok := l.(timed)
	if !ok {
		return nil, 0, false
	}
	clock := local.timeline()
	if clock == nil {
		return nil, 0, false
	}
	if t.given {
		return local, t.times[0].now, true
	}
	if !canCompare(clock) {
		return local, clock.NanoTime(), true
	}
	for i := range t.times {
		seen := &t.times[i]
		if seen.clock == nil {
			seen.clock, seen.now = clock, clock.NanoTime()
		}
		if seen.clock == clock {
			return local, seen.now, true
		}
	}
	return local, clock.NanoTime(), true
}

// counted notes that l, called at now, counted at the instant at.
func (t *transaction) counted(l timed, at, now int64) {
	if !t.level || at <= now {
		return
	}
	t.moved = true
	if t.given {
		t.times[0].now = at
		return
	}
	if clock := l.timeline(); canCompare(clock) {
		for i := range t.times {
			if t.times[i].clock == clock {
				t.times[i].now = at
			}
		}
	}
}

// setTime makes now the time of clock, which is all claims' that take one; nil: no claim does.
func (t *transaction) setTime(clock Clock, now int64) {
	t.given, t.times[0].clock, t.times[0].now = clock != nil, clock, now
}

func isTimed(l Reversible) bool {
	_, ok := l.(timed)
	return ok
}

func isRemote(l Reversible) bool {
	_, ok := l.(Remote)
	return ok
}

// same is a == b, but false where that would panic: for types that can't be compared, such as functions.
func same(a, b any) bool { return canCompare(a) && a == b }

// canCompare reports whether a == a can't panic. Limiters and clocks are pointers, or empty structs, nearly always.
func canCompare(a any) bool {
	t := reflect.TypeOf(a)
	return t.Kind() == reflect.Pointer || t.Size() == 0 && t.Comparable() || reflect.ValueOf(a).Comparable()
}
