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
// # Modes
//
// With N servers, capacity B, rate r, and leases of L = B/(8*N):
//
//	mode       calls to the server            most that pass in any time t
//	Strict     one a decision                 B + r*t
//	DenyCache  one a decision, but for        B + r*t
//	           refusals that repeat
//	Lease      one for about L/2 decisions    B + r*t + N*L, which is B*9/8 + r*t
//	           of a busy key
//
// # When the server is slow or gone
//
// A decision waits for Config.Budget at most. Then Config.OnError decides, and TakeContext says so by an error. Five bad calls in a row open a
// breaker: from then on nothing waits, until a probe in the background has been answered.
//
//	policy  decides by                          most that pass in an outage of time t
//	Local   this server's share, rule.Split(N)  B + r*t for the fleet, and at its start N, one for each server that knew nothing of the key
//	Open    yes                                 everything
//	Closed  no                                  nothing; RetryAfter is a second
//
// What Local allowed is taken from the server when it is back, before the breaker closes. If the server restarts empty, or
// evicts keys (maxmemory-policy should be noeviction, or volatile-ttl), those keys are full again: at most B more, once.
//
// # On the wire
//
// A key is prefix:{client}:rule, where client is a keyed hash (HMAC-SHA-256, 128 bits) of the client's key, so that credentials
// don't leave the process, and the braces put all rules of a client into one slot of a Cluster. Scripts are sent once and
// called by their SHA-1; after a restart or SCRIPT FLUSH they are sent again. Decisions are made on primaries only.
package redislimit
