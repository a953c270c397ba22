package httplimit

import (
	"net/http"
	"slices"

	"github.com/casgate/ratelimit"
)

// Reason says why a request passes or not.
type Reason uint8

const (
	Passed      Reason = iota // it passes
	Limited                   // a limit is reached: 429
	Blocked                   // a block list or a rule in mode Block: 403
	KeyMissing                // a rule's key is missing, and the rule insists: 400
	KeyTooLong                // a key is longer than MaxKeyLen: 431
	Unavailable               // a remote limiter can't be reached, and its policy is to refuse: 503
)

var reasons = [...]struct {
	word   string
	status int
}{
	Passed:      {"passed", http.StatusOK},
	Limited:     {"limited", http.StatusTooManyRequests},
	Blocked:     {"blocked", http.StatusForbidden},
	KeyMissing:  {"key missing", http.StatusBadRequest},
	KeyTooLong:  {"key too long", http.StatusRequestHeaderFieldsTooLarge},
	Unavailable: {"unavailable", http.StatusServiceUnavailable},
}

// String returns the reason in words, such as "limited".
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r].word
	}
	return "unknown"
}

// Status returns the HTTP status that says so: 200, 429, 403, 400, 431 or 503.
func (r Reason) Status() int {
	if int(r) < len(reasons) {
		return reasons[r].status
	}
	return http.StatusInternalServerError
}

// Verdict is what the filter says of a request.
type Verdict struct {
	// Allowed says that the request passes.
	Allowed bool
	// Reason says why not; Passed if it does.
	Reason Reason
	// Rule is the name of the rule that counts: the one that refuses, for the longest time if several do, or else the
	// one with the smallest share of its limit left. Empty if no rule applied.
	Rule string
	// Decision is that rule's; zero if none decided.
	Decision ratelimit.Decision

	table *table
	first outcome
	more  []outcome // nil unless several rules applied
}

// Status returns the HTTP status: 200, 429, 403, 400, 431 or 503.
func (v Verdict) Status() int { return v.Reason.Status() }

// Result is one rule's part in a Verdict.
type Result struct {
	Rule     string
	Decision ratelimit.Decision
	Mode     Mode
	// Err is why a remote limiter couldn't decide; Decision is then its outage policy's.
	Err error
}

// Results returns what each rule that applied said, in their order, rules in shadow mode included.
func (v Verdict) Results() []Result {
	outs := v.outcomes()
	results := make([]Result, len(outs))
	for i, o := range outs {
		results[i] = Result{Rule: o.rule.name, Decision: o.decision, Mode: o.rule.mode, Err: o.err}
	}
	return results
}

func (v *Verdict) outcomes() []outcome {
	switch {
	case v.more != nil:
		return v.more
	case v.first.rule != nil:
		return []outcome{v.first}
	}
	return nil
}

// SetHeaders writes the rate-limit fields of the verdict to h, as the filter's configuration says, and Retry-After if it
// is a refusal that waiting helps.
func (v Verdict) SetHeaders(h http.Header) {
	if v.table == nil || v.table.when == Never && v.Allowed {
		return
	}
	outs := v.outcomes()
	binding := slices.IndexFunc(outs, func(o outcome) bool { return o.rule.name == v.Rule })
	v.table.setHeaders(h, outs, binding, v.Reason, nil)
}
