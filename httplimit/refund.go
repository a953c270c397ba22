package httplimit

import "github.com/casgate/ratelimit"

// charge is what a request has taken and may get back, once its status is known.
type charge struct {
	limiter ratelimit.Reversible
	refund  func(status int) bool
	key     string
	n, at   int64
}

// charges returns what v's request, which passes, has taken from rules that refund; keys are copied.
func (v *visit) charges() []charge {
	var all []charge
	for i := range v.outs {
		if o := &v.outs[i]; o.rule.refund != nil && o.decision.Allowed && o.n > 0 {
			all = append(all, charge{o.rule.limiter, o.rule.refund, string(o.key), o.n, o.decision.At})
		}
	}
	return all
}

// settle gives the charges back whose rule says so of the response's status.
func settle(charges []charge, status int) {
	for _, c := range charges {
		if c.refund(status) {
			c.limiter.RefundAt(c.key, c.n, c.at)
		}
	}
}
