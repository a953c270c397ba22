// Package httplimit limits the requests of HTTP clients. Its Filter stands before a handler of net/http, which it calls
// for the requests that pass; the others get a 429, or what else fits, at once.
//
//	http.ListenAndServe(":8080", httplimit.PerIP(ratelimit.PerMinute(100))(handler))
//
// Filter.Wrap is a func(http.Handler) http.Handler, which chi's Use and most other routers take as it is; Filter.WrapProxy
// is that for a reverse proxy. Filter.Decide decides and writes nothing, for authorization endpoints.
//
// # Who is the client
//
// A Key says so: the address (IP), a header, a cookie, the user that the program knows, the matched route, anything
// else (KeyFunc), several together (All), or the first that is there (First). Keys don't collide, whatever a client
// sends. A key that is missing is never one bucket for all who lack it: the rule is skipped or the request is refused.
//
// Behind a reverse proxy the peer's address is the proxy's. Config.Proxies names the proxies whose forwarded headers are
// believed; by default nobody's are, since a client can write them too.
//
// # Which rules
//
// Those of Config.Rules, or of a rules.Store: by plan, method and path, and changed while requests run. Several rules
// hold together: a request passes if all admit it, and is charged to all of them or to none. A rule in Shadow mode
// decides for itself, refuses nothing, and counts where it differs from the others. A rule can give tokens back once
// the response's status is known.
//
// # What the client is told
//
// A refusal carries Retry-After, in seconds rounded up, and a body of application/problem+json, or text where JSON isn't
// accepted. By default each response carries RateLimit and RateLimit-Policy (the IETF draft's revision 8) and
// X-RateLimit-Limit, -Remaining and -Reset (seconds to go). Config.Headers and Config.When choose others, or none.
//
// # What it costs
//
// A request that passes costs no lock and no allocation; the header values, if there are any, two. A key is built in a
// buffer that is used again, and the limiter doesn't retain it.
//
// # State word
//
// There is none; the limiters have theirs. A Filter holds one pointer to its table, which is immutable: the rules, lists
// and settings of one version. Each rule holds its counts, in stripes, and a pointer to the header text of its limit.
//
// # Invariants
//
//   - I1: next is called for a request that passes, once, and never for one that is refused.
//   - I2: a request is charged to all enforced rules that it meets, or to none.
//   - I3: requests of different clients have different keys: a key's parts are tagged with their kind and delimit
//     themselves.
//   - I4: an address from a header is believed only if every hop from the peer up to it is a trusted proxy.
//   - I5: a request is decided by one table, whatever changes meanwhile.
//   - I6: of the rules that were asked about a request, each counts it once: as admitted if it passes, as refused if the
//     rule itself refuses it, not at all if only another one does.
//
// # Linearization points
//
// A request belongs to the version that it loads when it enters (Filter.table, Load); a change takes effect at its Store.
// What it takes, it takes where the limiter does. A count is one Add.
//
// # Progress
//
// A request that passes takes no lock of this package (its buffers come from a sync.Pool). A refusal locks the top keys of its stripe. Stats and Top read
// stripe by stripe, and aren't a snapshot: a sum may miss requests under way.
//
// # Why these atomics suffice
//
// The Store of a table publishes it whole; whoever loads it sees all of it, and nobody writes to it again. Counters order
// nothing. Header texts that two requests prepare at once are equal, so it doesn't matter whose pointer stays.
//
// # Overflow and time
//
// Counters are 64 bits wide. The time is the limiters' alone: a Decision brings the instant that it counted at, and the
// fields of a response are worked out from that.
package httplimit
