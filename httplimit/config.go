package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// Config is what a Filter is made of. The zero value of each field is ready to use; at least one rule is needed.
type Config struct {
	// Rules hold together: a request passes if all that apply to it admit it, and is charged to all of them or to none.
	Rules []Rule
	// Store has the rules, instead of Rules: by plan, method and path, and changed while they run. What it says of
	// proxies, headers and lists holds too; Proxies, Headers and When go before it where they aren't zero.
	Store *rules.Store
	// Plan returns the plan of a request's client, for a Store with plans; see PlanHeader and PlanTable. Nil: what the
	// Store says.
	Plan func(*http.Request) string
	// User returns the user of a request, for a Store's key "user". Nil: the name of HTTP's Basic authentication.
	User func(*http.Request) string
	// Funcs are the functions of a Store's keys "func:NAME". A Store that names another is an error, at each change.
	Funcs map[string]func(*http.Request) string

	// Proxies says whose word about a client's address is believed. The zero value: nobody's but the TCP peer's.
	Proxies Proxies
	// Allow lists clients that no rule is asked about, Block those that are refused (403). Allow is looked at first.
	Allow, Block List
	// Limiters configures those limiters that are made from a Rule's Limit: the clock, and the bound on keys. Its
	// MaxKeys of 0 is no bound: set one where clients choose their keys.
	Limiters ratelimit.Config
	// MaxKeyLen is the longest value, in bytes, that a key may have; requests with a longer one are refused (431). 0, and
	// anything above it: ratelimit.MaxKeyLen, 64 KiB. A value above 256 bytes is held as its SHA-256, so that a key's memory
	// is bounded by its number of parts.
	MaxKeyLen int

	// Headers are the styles of rate-limit fields in responses. 0: Draft8 and XDelta.
	Headers HeaderStyle
	// When says on which responses they stand. 0: Always.
	When When

	// TopKeys is how many of its most refused clients a rule remembers for Filter.Top, on each processor (16 at most); 300
	// bytes each. 0: 32; below 0: none.
	TopKeys int

	// Skip reports whether a request passes uncounted, a health check say. Nil: none does.
	Skip func(*http.Request) bool
	// Refuse answers a refused request; Retry-After and the rate-limit fields are in the header already. Nil: the
	// status, with a body of application/problem+json, or text for a client that doesn't accept JSON.
	Refuse func(http.ResponseWriter, *http.Request, Verdict)
	// OnLimit is called for each request that a rule refuses, before it is answered; for a rule in shadow mode too, and
	// then the Verdict may be that it passes. Nil: nothing. It runs on the request's goroutine.
	OnLimit func(*http.Request, Verdict)
}

// Rule is one limit that each of its clients has.
type Rule struct {
	// Name is what clients, metrics and logs call the rule: a letter, then up to 63 letters, digits, '_', '.' and '-'.
	// Empty: "default". No two rules of a Filter have the same.
	Name string
	// Limit is the limit of each client. With a Limiter it may be left out.
	Limit ratelimit.Rule
	// Limiter decides, instead of one made from Limit: one that other filters share, or a remote one. If it has a method
	// Rule, as a ratelimit.Local has, clients are told the rule that it returns, also after SetRule; else Limit.
	Limiter ratelimit.Reversible
	// Key says who the client is. The zero value: the address, IP().
	Key Key
	// Missing says what becomes of a request that has no such key. 0: MissingRefuse. To fall back to the address, use
	// First.
	Missing Missing
	// Match reports whether the rule applies to a request. Nil: to each.
	Match func(*http.Request) bool
	// Cost is the number of tokens that a request takes. Nil: 1. At 0 it passes and takes none; below 0, or above the
	// capacity, it is refused for ever.
	Cost func(*http.Request) int64
	// Mode says what the rule does. 0: Enforce.
	Mode Mode
	// Refund reports whether a request that was answered with a status gets its tokens back: see OnSuccess and OnFailure.
	// Nil: none does. While it is answered it has them, so that many at once can't pass. A client that goes before it is
	// answered gets none back, or it would work its way to failures for nothing. It costs a wrapped ResponseWriter.
	// Decide, which sees no response, gives none back.
	Refund func(status int) bool
}

// OnSuccess is a Rule's Refund that gives back what successes took (statuses below 400), so that failures count: logins,
// say.
func OnSuccess(status int) bool { return status < 400 }

// OnFailure is a Rule's Refund that gives back what failures took (statuses from 400), so that successes count.
func OnFailure(status int) bool { return status >= 400 }

const (
	defaultName    = "default"
	defaultTopKeys = 32
	defaultHeaders = Draft8 | XDelta
	allHeaders     = Draft8 | Draft12 | Draft6 | XDelta | XEpoch
)

// check returns all that is wrong with c, joined; each error wraps ratelimit.ErrInvalidConfig or ErrInvalidRule.
func (c Config) check() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ratelimit.ErrInvalidConfig}, args...)...))
	}
	switch {
	case len(c.Rules) == 0 && c.Store == nil:
		bad("Rules: none: at least one is needed, or a Store")
	case len(c.Rules) > 0 && c.Store != nil:
		bad("Rules: %d beside a Store: choose one", len(c.Rules))
	case c.Store == nil && (c.Plan != nil || c.User != nil || c.Funcs != nil):
		bad("Plan, User, Funcs: without a Store, they are never asked")
	}
	if c.MaxKeyLen < 0 {
		bad("MaxKeyLen: %d: must be at least 0", c.MaxKeyLen)
	}
	if c.Headers&^allHeaders != 0 {
		bad("Headers: %#x: must be a union of Draft8, Draft12, Draft6, XDelta and XEpoch", uint8(c.Headers))
	}
	if c.Headers&XDelta != 0 && c.Headers&XEpoch != 0 {
		bad("Headers: XDelta and XEpoch are two meanings of one field, X-RateLimit-Reset: choose one")
	}
	if c.When > Never {
		bad("When: %d: must be Always, NearLimit, OnRefusal or Never", c.When)
	}
	seen := map[string]bool{}
	for i, r := range c.Rules {
		name := r.name()
		if !isName(name) {
			bad("Rules[%d].Name: %q: must be a letter, then up to 63 letters, digits, '_', '.' and '-'", i, name)
		}
		if seen[name] {
			bad("Rules[%d].Name: %q: another rule has it", i, name)
		}
		seen[name] = true
		if r.Mode > Block {
			bad("Rules[%d].Mode: %d: must be Enforce, Shadow or Block", i, r.Mode)
		}
		if r.Missing > MissingRefuse {
			bad("Rules[%d].Missing: %d: must be MissingRefuse or MissingSkip", i, r.Missing)
		}
	}
	return errors.Join(errs...)
}

func (r Rule) name() string {
	if r.Name == "" {
		return defaultName
	}
	return r.Name
}

// isName reports whether s may name a rule: what stands in a quoted string of a header, and as a metric's label,
// without escapes.
func isName(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		other := c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return true
}

// compile returns the rule that the filter works with.
func (r Rule) compile(limiters *ratelimit.Factory) (*rule, error) {
	key, err := r.Key.check()
	if err != nil {
		return nil, err
	}
	c := &rule{
		name: r.name(), key: key, mode: r.Mode, missing: r.Missing,
		match: r.Match, cost: r.Cost, n: 1, refund: r.Refund, declared: r.Limit,
	}
	if c.mode == Block {
		return c, nil
	}
	limiter := r.Limiter
	if limiter == nil {
		if limiter, err = limiters.Create(r.Limit); err != nil {
			return nil, err
		}
	} else if v := reflect.ValueOf(limiter); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("%w: Limiter: a nil %T", ratelimit.ErrInvalidConfig, limiter)
	}
	c.setLimiter(limiter)
	return c, nil
}
