// Package explain says which rules a request meets, which it doesn't, and why.
package explain

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/rules"
)

// Rule is one rule's part in the answer to a request.
type Rule struct {
	Name    string `json:"name"`
	Applies bool   `json:"applies"`
	// Why the rule applies or doesn't.
	Why string `json:"why"`
	// The rest is of rules that apply and count.
	Plan  string `json:"plan,omitempty"`
	Mode  string `json:"mode,omitempty"`
	KeyOf string `json:"key_of,omitempty"` // "header:X-Api-Key, ip"
	Key   string `json:"key,omitempty"`    // the request's, without its secrets
	Limit string `json:"limit,omitempty"`  // "100/minute, 20 at once"
	Cost  int64  `json:"cost,omitempty"`
	// Peek is what the limiter would say now.
	Peek *Peek `json:"peek,omitempty"`

	Explanation httplimit.Explanation `json:"-"`
}

// Peek is the state of one key.
type Peek struct {
	Limit      int64   `json:"limit"`
	Remaining  int64   `json:"remaining"`
	ResetAfter float64 `json:"reset_after_seconds"` // until it is as if never seen
	Allowed    bool    `json:"allowed"`             // whether the request would pass
	RetryAfter float64 `json:"retry_after_seconds"` // if not, when it would; -1: never
}

// Rules returns all rules in the order of the file, and what r has to do with them. It takes nothing.
func Rules(set *rules.Set, filter *httplimit.Filter, r *http.Request) []Rule {
	meets := map[string]httplimit.Explanation{}
	for _, e := range filter.Explain(r) {
		meets[e.Rule] = e
	}
	layers := map[string]string{} // the rule that has been chosen in each
	for _, rule := range set.Rules() {
		if _, ok := meets[rule.Name]; ok {
			layers[rule.Layer] = rule.Name
		}
	}
	all := make([]Rule, 0, len(set.Rules()))
	for _, rule := range set.Rules() {
		if e, ok := meets[rule.Name]; ok {
			all = append(all, applies(rule, e))
		} else {
			all = append(all, Rule{Name: rule.Name, Why: whyNot(rule, layers[rule.Layer], r)})
		}
	}
	return all
}

func applies(rule *rules.Rule, e httplimit.Explanation) Rule {
	a := Rule{Name: e.Rule, Applies: true, Why: "every request", Plan: e.Plan, Mode: e.Mode.String(), KeyOf: e.KeyOf, Key: e.Key,
		Cost: e.Cost, Explanation: e}
	if len(rule.Patterns) > 0 && e.Pattern != "/" {
		a.Why = "matches " + e.Pattern
	}
	switch {
	case e.Unlimited:
		a.Why += "; its plan is unlimited"
	case e.Limiter == nil:
		a.Why += "; it blocks"
	case e.Missing && (rule.Missing == rules.MissingSkip || rule.Mode == rules.Shadow):
		a.Why += "; the request has no " + e.KeyOf + ", so it isn't counted"
	case e.TooLong && rule.Mode == rules.Shadow:
		a.Why += "; the request's " + e.KeyOf + " is too long, so it isn't counted"
	case e.Missing:
		a.Why += "; the request has no " + e.KeyOf + ", so it is refused"
	case e.TooLong:
		a.Why += "; the request's " + e.KeyOf + " is too long, so it is refused"
	}
	if l, ok := e.Limiter.(interface{ Rule() ratelimit.Rule }); ok {
		a.Limit = LimitText(l.Rule())
	}
	if e.Limiter != nil && e.RawKey != "" {
		a.Peek = newPeek(e.Limiter.Peek(e.RawKey, 0), e.Limiter.Peek(e.RawKey, e.Cost))
	}
	return a
}

// newPeek returns the state of a key as it is now, and what it means for a request.
func newPeek(now, request ratelimit.Decision) *Peek {
	p := &Peek{Limit: now.Limit, Remaining: now.Remaining, ResetAfter: now.ResetAfter.Seconds(), Allowed: request.Allowed, RetryAfter: -1}
	if request.RetryAfter != ratelimit.Never {
		p.RetryAfter = request.RetryAfter.Seconds()
	}
	return p
}

// LimitText says in words what a limit grants.
func LimitText(limit ratelimit.Rule) string {
	if limit.Algorithm == ratelimit.TokenBucket {
		return fmt.Sprintf("%v, %d at once", limit.Refill, limit.Capacity)
	}
	window := ratelimit.Rate{Tokens: limit.Capacity, Per: limit.Window()}
	return fmt.Sprintf("%v, %s", window, strings.ToLower(limit.Algorithm.String()))
}

// whyNot says why a rule doesn't apply to r; chosen is the rule of its layer that does, if any.
func whyNot(rule *rules.Rule, chosen string, r *http.Request) string {
	var texts []string
	for _, p := range rule.Patterns {
		if p.Matches(r.Method, r.Host, r.URL.Path, r.URL.RawPath) {
			if chosen != "" {
				return fmt.Sprintf("matches %s, but %s is more specific", p, chosen)
			}
			return fmt.Sprintf("matches %s, but has no limit for the request's plan", p)
		}
		texts = append(texts, p.String())
	}
	return "matches only " + strings.Join(texts, ", ")
}
