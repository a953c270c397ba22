package rules

import "github.com/casgate/ratelimit"

// Spec is what a rule file says: plain data, for any decoder of JSON or YAML, or to be written in Go. It means nothing
// until Compile or a Store has checked it; a zero field has the meaning that its comment gives.
type Spec struct {
	// Plans names the plans that clients can be on. Empty: there are none.
	Plans PlansSpec `json:"plans,omitzero" yaml:"plans,omitempty"`
	// Proxies says whose word about a client's address is taken. Empty: nobody's.
	Proxies ProxiesSpec `json:"proxies,omitzero" yaml:"proxies,omitempty"`
	// Headers says what responses tell about limits.
	Headers HeadersSpec `json:"headers,omitzero" yaml:"headers,omitempty"`
	// Allow lists clients that no rule is asked about; it is looked at before Block. An entry is an address ("192.0.2.1"),
	// a prefix ("2001:db8::/32"), one of the words loopback, private and linklocal, or a key and its value
	// ("header:X-API-Key=k-1", "user=ci").
	Allow List `json:"allow,omitempty" yaml:"allow,omitempty"`
	// Block lists clients that are always refused; entries as for Allow.
	Block List `json:"block,omitempty" yaml:"block,omitempty"`
	// Store says where the counts are kept: empty or "local" for this process, or a URL that the program's
	// Config.NewLimiter knows.
	Store string `json:"store,omitempty" yaml:"store,omitempty"`
	// Rules are the rules, in any order. At least one, unless Block has entries.
	Rules []RuleSpec `json:"rules,omitempty" yaml:"rules,omitempty"`
}

// PlansSpec is the plans that clients can be on, and how a request's plan is found.
type PlansSpec struct {
	// Names declares the plans. Rules may name no others.
	Names List `json:"names,omitempty" yaml:"names,omitempty"`
	// Default is the plan of a request that is on none that is declared; empty: such a request meets the rules' own limits.
	Default string `json:"default,omitempty" yaml:"default,omitempty"`
	// From is the part of a request that tells its plan: "header:X-Plan". Whoever can write that header chooses the plan.
	// Empty: the program tells.
	From string `json:"from,omitempty" yaml:"from,omitempty"`
	// Values maps the part's value to a plan, for a part such as an API key. Empty: the value is the plan's name.
	Values map[string]string `json:"values,omitempty" yaml:"values,omitempty"`
}

// ProxiesSpec says how a client's address is found behind proxies.
type ProxiesSpec struct {
	// Trusted lists the proxies whose word is taken: addresses, prefixes, or loopback, private, linklocal; unix is for
	// peers on a Unix socket. Everybody can't be trusted.
	Trusted List `json:"trusted,omitempty" yaml:"trusted,omitempty"`
	// Source is the header that they write: "x-forwarded-for" (the default), "forwarded", or "header:NAME" for one that
	// holds a single address.
	Source string `json:"source,omitempty" yaml:"source,omitempty"`
}

// HeadersSpec says what responses tell about limits.
type HeadersSpec struct {
	// Styles names the header styles: draft8, draft12, draft6, x-delta, x-epoch. Empty: draft8 and x-delta. Only one of
	// x-delta and x-epoch, which share their names.
	Styles List `json:"styles,omitempty" yaml:"styles,omitempty"`
	// When says on which responses.
	When HeaderWhen `json:"when,omitzero" yaml:"when,omitempty"`
}

// RuleSpec is one rule: which requests it claims, what it counts them by, and how many it lets pass.
type RuleSpec struct {
	// Name stands in headers, metrics and messages: a letter, then letters, digits, "_", "." and "-", at most 64. Two
	// rules can't share one. A rule that keeps its name, key and algorithm keeps its counts when the rules change.
	Name string `json:"name" yaml:"name"`
	// Match lists the requests that the rule claims, as patterns of http.ServeMux: "[METHOD ][HOST]/[PATH]", where a
	// segment of the path may be {name}, and its end {name...}, {$} or a slash. Empty: every request.
	Match List `json:"match,omitempty" yaml:"match,omitempty"`
	// Key lists what requests are counted by; the first that a request has is its key. Each is a part, or several joined
	// by "+": ip, ip/56, ip/24/56, header:NAME, cookie:NAME, query:NAME, user, host, method, route, path:NAME, func:NAME,
	// global. See ParseKey.
	Key List `json:"key,omitempty" yaml:"key,omitempty"`
	// Missing says what becomes of a request that has none of the keys. It can't be left out where that can happen.
	Missing Missing `json:"missing,omitzero" yaml:"missing,omitempty"`

	// Limit is how much passes over time. Zero: only the plans below have limits, and others aren't claimed.
	Limit ratelimit.Rate `json:"limit,omitzero" yaml:"limit,omitempty"`
	// Burst is how much a token bucket lets pass at once; nil: Limit's number. A window has none: there it is an error.
	Burst *int64 `json:"burst,omitempty" yaml:"burst,omitempty"`
	// Algorithm is the way of counting; unset: TokenBucket.
	Algorithm Algorithm `json:"algorithm,omitzero" yaml:"algorithm,omitempty"`
	// Plans gives plans limits of their own. A plan without one falls under the three fields above.
	Plans map[string]PlanLimit `json:"plans,omitempty" yaml:"plans,omitempty"`

	// Cost is what a request takes, in tokens: 1 to the smallest burst; nil: 1.
	Cost *int64 `json:"cost,omitempty" yaml:"cost,omitempty"`
	// Mode is enforce, shadow or block.
	Mode Mode `json:"mode,omitzero" yaml:"mode,omitempty"`
	// Refund lists the response statuses that cost nothing: "5xx", "404", "500-503". The tokens are taken before the
	// response is known, and given back after it.
	Refund List `json:"refund,omitempty" yaml:"refund,omitempty"`
	// Share is the number of servers that share the limits and can't talk: each enforces one part (ratelimit.Rule.Split).
	// nil: 1. Not beside a store that the servers share.
	Share *int `json:"share,omitempty" yaml:"share,omitempty"`
	// Store overrides the Spec's store for this rule.
	Store string `json:"store,omitempty" yaml:"store,omitempty"`
	// Layer names the rules among which the most specific pattern wins; rules of different layers hold together. Empty:
	// the rules of the same key, shadow rules apart from others.
	Layer string `json:"layer,omitempty" yaml:"layer,omitempty"`
}

// PlanLimit is a plan's own limit in a rule.
type PlanLimit struct {
	// Limit is how much passes over time. It is required, unless Unlimited is set.
	Limit ratelimit.Rate `json:"limit,omitzero" yaml:"limit,omitempty"`
	// Burst is how much a token bucket lets pass at once; nil: Limit's number.
	Burst *int64 `json:"burst,omitempty" yaml:"burst,omitempty"`
	// Algorithm is the way of counting; unset: the rule's.
	Algorithm Algorithm `json:"algorithm,omitzero" yaml:"algorithm,omitempty"`
	// Unlimited exempts the plan: the rule claims its requests, so that no more general rule of its layer does, and
	// lets all of them pass, uncounted.
	Unlimited bool `json:"unlimited,omitempty" yaml:"unlimited,omitempty"`
}
