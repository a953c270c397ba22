package httplimit

import (
	"net/http"

	"github.com/casgate/ratelimit"
)

// Explanation tells why a rule would or wouldn't count a request.
type Explanation struct {
	Rule string
	// Plan is the plan whose limit it is; empty for the rule's own.
	Plan string
	Mode Mode
	// Pattern is the pattern of a Store's rule that the request matched.
	Pattern string
	// KeyOf is what the rule counts by, as in "header:X-Api-Key, ip"; empty for a rule that doesn't count.
	KeyOf string
	// Missing says that the request lacks it, TooLong that its value is too long.
	Missing, TooLong bool
	// Key is the request's key in words, without its secrets; see TopKey.
	Key string
	// RawKey is the key itself, for the Limiter's Peek or Reset. It may hold a credential.
	RawKey string
	// Limiter is the rule's; nil for a rule that blocks, and for a plan without limit.
	Limiter ratelimit.Reversible
	// Cost is what the request would take.
	Cost int64
	// Unlimited says that the request's plan is exempt.
	Unlimited bool
}

// Explain returns what the filter would ask of r, rule by rule in their order, and takes nothing.
func (f *Filter) Explain(r *http.Request) []Explanation {
	v := f.newVisit(r)
	defer v.release()
	v.find()
	all := make([]Explanation, 0, len(v.applied))
	for _, a := range v.applied {
		v.pattern = a.pattern
		e := Explanation{Rule: a.rule.name, Plan: a.rule.plan, Mode: a.rule.mode, Limiter: a.rule.limiter, Unlimited: a.rule.unlimited}
		if a.pattern != nil {
			e.Pattern = a.pattern.String()
		}
		if a.rule.limiter != nil {
			e.KeyOf = a.rule.key.String()
			key, p := a.rule.appendKey(nil, v)
			e.Missing, e.TooLong = p == absent, p == oversize
			if p == present {
				e.Key, e.RawKey = f.mask(key, false), string(key)
			}
			e.Cost = a.rule.costOf(r)
		}
		all = append(all, e)
	}
	return all
}
