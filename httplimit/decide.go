package httplimit

import (
	"net/http"
	"net/netip"
	"slices"
	"unsafe"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// visit is one request's way through the filter: what is found out about it, and the buffers for that, which the next
// request reuses.
type visit struct {
	f      *Filter
	stripe int // of the counts
	t      *table
	r      *http.Request

	addr      netip.Addr // of the client, once asked for
	addrOK    bool
	addrKnown bool

	applied []applied
	pattern *rules.Pattern // of the rule at hand
	keys    []byte         // of all rules, one behind the other
	outs    []outcome
	claims  []ratelimit.Claim
	reason  Reason
	binding int // the index in outs of the rule that counts; -1: none

	refunds   bool // a rule may give back what it takes
	unanimous bool // no rule refuses, not in shadow mode either

	matches []rules.Match
	text    []byte
}

// applied is a rule that applies to a visit.
type applied struct {
	rule    *rule
	pattern *rules.Pattern // nil without a Store
}

// outcome is one rule's part in a visit.
type outcome struct {
	rule     *rule
	key      []byte // in visit.keys, or in an older array of it
	n        int64
	decision ratelimit.Decision
	err      error
}

const (
	maxPooledKeys  = 4 << 10 // bytes; a longer buffer, of a rare long key, isn't kept
	maxPooledRules = 32
)

func (f *Filter) newVisit(r *http.Request) *visit {
	v := f.visits.Get().(*visit)
	v.r, v.t = r, f.table.Load()
	return v
}

// release gives v back for reuse. It then holds on to nothing of the request but its key, in the buffer.
func (v *visit) release() {
	if cap(v.keys) > maxPooledKeys || cap(v.applied) > maxPooledRules {
		return
	}
	v.r, v.t = nil, nil
	v.addrKnown = false
	v.keys = v.keys[:0]
	if len(v.applied) > 0 {
		v.applied, v.outs, v.claims, v.matches = v.applied[:0], v.outs[:0], v.claims[:0], v.matches[:0]
		v.pattern, v.refunds = nil, false
	}
	v.f.visits.Put(v)
}

// client returns the address of the client, found out at most once.
func (v *visit) client() (netip.Addr, bool) {
	if !v.addrKnown {
		v.addr, v.addrOK = clientAddr(v.t.proxies, v.r)
		v.addrKnown = true
	}
	return v.addr, v.addrOK
}

// passes is decide for a plain table, as long as the request passes: nothing is known but that it does. It costs half of
// a Decision.
func (v *visit) passes() bool {
	r := v.t.rules[0]
	key, p := r.appendKey(v.keys, v)
	v.keys = key[:0]
	if p != present || !r.local.TryAcquire(asString(key)) {
		return false
	}
	r.counts.add(v.stripe, eventAllowed)
	return true
}

// decide finds the rules that apply, lets them decide, and counts what they say.
func (v *visit) decide() {
	v.ask()
	v.count()
}

// ask is decide without the counting.
func (v *visit) ask() {
	v.reason, v.binding = Passed, -1
	if listed(v.t.allow, v) {
		v.f.listed.add(v.stripe, eventAllowed)
		return
	}
	if listed(v.t.block, v) {
		v.f.listed.add(v.stripe, eventRefused)
		v.reason = Blocked
		return
	}
	v.find()
	for _, a := range v.applied {
		if v.reason = v.apply(a); v.reason != Passed {
			return
		}
	}
	if len(v.outs) == 1 {
		v.decideOne(0)
	} else {
		v.decideAll()
	}
}

// find finds the rules that apply.
func (v *visit) find() {
	if v.t.set != nil {
		v.matches = v.t.match(v.matches, v)
		for _, m := range v.matches {
			v.applied = append(v.applied, applied{v.t.rules[m.Limit.Index], m.Pattern})
		}
		return
	}
	for _, r := range v.t.rules {
		if r.match == nil || r.match(v.r) {
			v.applied = append(v.applied, applied{rule: r})
		}
	}
}

// apply adds the rule to outs, with the client's key, and says whether that alone refuses the request.
func (v *visit) apply(a applied) Reason {
	r := a.rule
	switch {
	case r.mode == Block:
		return v.refuse(r, Blocked)
	case r.unlimited:
		return Passed
	}
	v.pattern = a.pattern
	start := len(v.keys)
	key, p := r.appendKey(v.keys, v)
	v.keys = key
	if p != present {
		v.keys = key[:start]
		r.counts.add(v.stripe, eventUnkeyed)
		switch {
		case r.mode == Shadow || p == absent && r.missing == MissingSkip:
			return Passed
		case p == oversize:
			return v.refuse(r, KeyTooLong)
		}
		return v.refuse(r, KeyMissing)
	}
	v.outs = append(v.outs, outcome{rule: r, key: key[start:], n: r.costOf(v.r)})
	v.refunds = v.refunds || r.refund != nil
	return Passed
}

// refuse makes r the rule that counts, without asking its limiter.
func (v *visit) refuse(r *rule, reason Reason) Reason {
	v.outs = append(v.outs, outcome{rule: r})
	v.binding = len(v.outs) - 1
	return reason
}

// decideOne lets the rule of outs[i] decide, by itself.
func (v *visit) decideOne(i int) {
	o := &v.outs[i]
	o.decision, o.err = o.rule.take(v.r, o.key, o.n)
	if o.rule.mode == Enforce {
		v.binding = i
		v.reason = o.reason()
	}
}

// decideAll lets all enforced rules admit the request, or none. A rule in shadow mode decides for itself, whatever the
// others say, as it would if it stood alone.
func (v *visit) decideAll() {
	enforced := 0
	for i := range v.outs {
		if o := &v.outs[i]; o.rule.mode == Shadow {
			v.decideOne(i)
		} else {
			enforced++
			v.claims = append(v.claims, ratelimit.Claim{Limiter: o.rule.limiter, Key: o.claimKey(), N: o.n})
		}
	}
	var binding int
	if enforced > 1 {
		_, binding = ratelimit.TakeAll(v.claims)
	}
	claim := 0
	for i := range v.outs {
		o := &v.outs[i]
		switch {
		case o.rule.mode == Shadow:
			continue
		case enforced == 1:
			v.decideOne(i)
			return
		}
		o.decision, o.err = v.claims[claim].Decision, v.claims[claim].Err
		if claim == binding {
			v.binding = i
			v.reason = o.reason()
		}
		claim++
	}
}

// reason returns what the outcome of an enforced rule means for the request.
func (o *outcome) reason() Reason {
	switch {
	case o.decision.Allowed:
		return Passed
	case o.err != nil:
		return Unavailable
	}
	return Limited
}

// verdict returns what v has found, independent of v's buffers.
func (v *visit) verdict() Verdict {
	verdict := Verdict{Allowed: v.reason == Passed, Reason: v.reason, table: v.t}
	if v.binding >= 0 {
		verdict.Rule = v.outs[v.binding].rule.name
		verdict.Decision = v.outs[v.binding].decision
	}
	if len(v.outs) == 1 {
		verdict.first = v.outs[0]
		verdict.first.key = nil
	} else if len(v.outs) > 1 {
		verdict.more = slices.Clone(v.outs)
		for i := range verdict.more {
			verdict.more[i].key = nil
		}
	}
	return verdict
}

// claimKey returns the key as a string. A Local limiter retains none, so that it may look into the buffer; another gets
// a copy.
func (o *outcome) claimKey() string {
	if o.rule.local == nil {
		return string(o.key)
	}
	return asString(o.key)
}

// asString returns key as a string without copying it: for a callee that doesn't retain it.
func asString(key []byte) string { return unsafe.String(unsafe.SliceData(key), len(key)) }
