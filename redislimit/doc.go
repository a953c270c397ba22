// Package redislimit keeps one limit across servers, in Redis 5 or later: single, Sentinel or Cluster.
//
//	store, err := redislimit.Dial(ctx, "redis://127.0.0.1:6379", redislimit.Config{})
//	...
//	limiter, err := store.Limiter("api", ratelimit.PerMinute(100).Burst(20), redislimit.Strict)
//	...
//	d, err := limiter.TakeContext(ctx, apiKey, 1)
//
// # How it decides
//
// One script decides all rules of one client, all or none, atomically, on the server's clock, in integers. It counts whole
// microseconds, rounded against the client, so RetryAfter is exact to one. A refusal writes nothing. A key lives until its state
// stops to matter, in milliseconds rounded up: an expired key is a full bucket, a past window. If the server's clock is set back, a
// key's time stands still until the clock has caught up; set forward, its tokens come back earlier by that much.
// Rules have a smaller range than in one process: what Limiter refuses it names.
//
// When a limiter's rule changes, its clients keep what they have: tokens of a bucket, counts of windows, so that raising a
// window's limit gives the difference. The first call under the new rule converts what is stored, and writes it, even if it refuses.
//
// # Modes
//
// With N servers, capacity B, rate r, and leases of L = B/(8*N):
//
//	mode       calls to the server            most that pass in any time t
//	Strict     one a decision                 B + r*t
//	DenyCache  one a decision, but for        B + r*t
//	           refusals that repeat
//	Lease      one for about L/2 decisions    B + r*t + N*L, which is at most B*9/8 + r*t
//	           of a key that is busy on
//	           this server; else DenyCache
//
// A fixed window admits up to twice its limit across an edge, as in one process. N is Config.Servers, or learnt; while a fleet
// grows, the leases of those that haven't heard of the newcomers yet, for two seconds, are larger than their part. When the rule
// changes, the leases under the old one are given back. A
// server that dies takes its leases with it: up to L tokens of each key are lost.
//
// # When the server is slow or gone
//
// A decision waits for Config.Budget at most. Then Config.OnError decides, and TakeContext says so by an error. Five bad calls in a row open a
// breaker: from then on nothing waits, until a probe in the background has been answered, after a quarter of a second,
// then half a second, up to five seconds. On a Cluster each 256 slots have a breaker, so that a node that is lost stops nobody else's decisions.
//
//	policy  decides by                          most that pass in an outage of time t
//	Local   this server's share, rule.Split(N)  B + r*t for the fleet (N + r*t if N > B), whatever had passed just before
//	Open    yes                                 everything
//	Closed  no                                  nothing; RetryAfter is a second
//
// These are beside what leases hold, and what the server allows those of the fleet that it answers, or between single bad calls.
//
// A key that a server first meets in an outage starts with its part of what was last known of it; unknown, with one token. What
// Local allowed is taken from the server when it is back, before the breaker closes. A call that came too late may have been
// counted all the same, and is then counted twice: a client can get too little by that, not too much.
//
//	what happens                what it costs
//	server killed, restarted    it has forgotten: B more of each key, once
//	server stopped, or slow     five calls that wait for the budget, and probes
//	scripts flushed             one more call
//	data flushed, keys evicted  B more of each key that is gone, once; maxmemory-policy should be noeviction or volatile-ttl
//	keys written by others      counts as gone; the next decision that takes something writes the key anew
//	failover                    what wasn't replicated yet is admitted again
//	a Cluster's slot moves      nothing
//	the server's clock is set   see above
//
// # On the wire
//
// A key is prefix:{client}:algorithm:rule, where client is a keyed hash (HMAC-SHA-256, 128 bits) of the client's key, so that credentials
// don't leave the process, and the braces put all rules of a client into one slot of a Cluster. Scripts are sent once and
// called by their SHA-1; after a restart or SCRIPT FLUSH they are sent again. Decisions are made on primaries only.
package redislimit
