package httplimit

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
)

// rule is a checked Rule, or a Limit of a Store, and what the filter keeps for it.
type rule struct {
	name      string
	plan      string
	key       Key
	mode      Mode
	missing   Missing
	match     func(*http.Request) bool
	cost      func(*http.Request) int64
	n         int64 // the cost where cost is nil
	refund    func(status int) bool
	declared  ratelimit.Rule
	unlimited bool

	limiter ratelimit.Reversible     // nil for one that blocks or is unlimited
	local   ratelimit.Local          // the limiter, if it is one
	remote  ratelimit.ContextLimiter // the limiter, if it is one
	ruled   ruled                    // the limiter, if it is one, and may change

	policy atomic.Pointer[policy]
	counts *counts
}

func (r *rule) setLimiter(l ratelimit.Reversible) {
	r.limiter = l
	r.local, _ = l.(ratelimit.Local)
	r.remote, _ = l.(ratelimit.ContextLimiter)
	r.ruled, _ = l.(ruled)
}

// appendKey appends the key of v's request to dst, if it is there and fits.
func (r *rule) appendKey(dst []byte, v *visit) ([]byte, presence) {
	key, p := r.key.append(dst, v)
	if p == present && len(key)-len(dst) > ratelimit.MaxKeyLen {
		p = oversize
	}
	return key, p
}

func (r *rule) costOf(req *http.Request) int64 {
	if r.cost != nil {
		return r.cost(req)
	}
	return r.n
}

// plain reports whether the rule takes one token of each request from a local limiter, and that's all.
func (r *rule) plain() bool {
	return r.mode == Enforce && r.local != nil && r.match == nil && r.cost == nil && r.refund == nil
}

// ruled is a limiter that tells its rule.
type ruled interface{ Rule() ratelimit.Rule }

// take takes n tokens of key, which is a buffer.
func (r *rule) take(req *http.Request, key []byte, n int64) (ratelimit.Decision, error) {
	switch {
	case r.local != nil:
		return r.local.TakeBytes(key, n), nil
	case r.remote != nil:
		return r.remote.TakeContext(req.Context(), string(key), n)
	}
	return r.limiter.Take(string(key), n), nil
}

// policy is what the header says of a rule, the same for all requests: prepared once for each ratelimit.Rule.
type policy struct {
	limit ratelimit.Rule
	item  string // of RateLimit-Policy: "api";q=100;w=60
	quota string // of X-RateLimit-Limit: 100
}

// policyOf returns the policy in force; d is a decision of the rule. SetRule on the limiter makes it another.
func (r *rule) policyOf(d *ratelimit.Decision) *policy {
	limit := r.declared
	if r.ruled != nil {
		limit = r.ruled.Rule()
	} else if limit.Capacity != d.Limit {
		limit = ratelimit.Rule{Capacity: d.Limit} // all that is known
	}
	if p := r.policy.Load(); p != nil && p.limit == limit {
		return p
	}
	p := newPolicy(r.name, limit)
	r.policy.Store(p)
	return p
}

// newPolicy writes the item of RateLimit-Policy. w is a whole number of seconds, at least 1: a shorter window is told
// as the quota of a second, a broken one is rounded up, which promises less than the rule gives, not more. A rule whose
// window isn't known has no w.
func newPolicy(name string, limit ratelimit.Rule) *policy {
	quota, window := limit.Capacity, limit.Window()
	if window > 0 && window < time.Second {
		quota = mulDiv(quota, int64(time.Second), int64(window))
		window = time.Second
	}
	item := append(strconv.AppendQuote(nil, name), ";q="...)
	item = appendInt(item, quota)
	if window > 0 {
		item = append(item, ";w="...)
		item = appendInt(item, seconds(window))
	}
	return &policy{limit: limit, item: string(item), quota: strconv.FormatInt(limit.Capacity, 10)}
}
