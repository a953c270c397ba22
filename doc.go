// Package ratelimit decides, for millions of clients, whether a request may go ahead now. It is made for hot paths: a
// decision on a known key takes no lock, allocates nothing (but for a sliding log that grows) and writes one word; a refusal
// writes nothing but the time, once a millisecond at most.
//
//	limiter, err := ratelimit.New(ratelimit.PerMinute(100).Burst(20), ratelimit.Config{})
//	...
//	if d := limiter.Take(apiKey, 1); !d.Allowed {
//		// refuse now; d.RetryAfter says when to come back
//	}
//
// A key is any string, at most 64 KiB: an API key, a user id, an address, or a mixture. Each has its own state, which
// comes to be with the first request it is allowed and is dropped once it is as if never seen. Nothing is queued or
// delayed.
//
// # Choosing an algorithm
//
// A [Rule] names the algorithm, the capacity and the refill. [New] and [Factory.Create] make the limiter for it; all are
// used through [Local], and the code that only decides needs [Limiter].
//
//	TokenBucket           capacity + rate*t in any time t; bursts, then evenly   almost everything
//	SlidingWindowCounter  about the limit in any window (an estimate)            "N per minute" contracts
//	SlidingWindowLog      exactly the limit in any window; 8 bytes a request     small limits that must be exact
//	FixedWindow           the limit per window; twice that across an edge        quotas by the calendar
//
// # Several limits at once
//
// [TakeAll] takes tokens of several keys in several limiters, all or none: the user's and the address', say.
// [Composite] is the same for one key under several rules.
//
// # Time
//
// Time is an input. Each decision reads the [Clock] once, or gets the time from the caller (TakeAt). Times may arrive out of
// order: a late one neither refills nor takes back, and never gives a token too many. [NewCoarseClock] saves most of the clock's
// cost where a millisecond doesn't matter.
//
// # Where to go on
//
// Package httplimit is the filter for net/http, rules reads limits from files and reloads them, limittest tests
// implementations of Limiter. Modules redislimit and cmd, beside this one, hold the limiters over Redis and the
// ratelimit command. Readers of the code start with atomicbucket, one bucket in one word, and go on to shard, the map.
package ratelimit
