// Package httplimit limits the requests of HTTP clients. Its Filter stands before a handler of net/http, which it calls
// for the requests that pass; the others get a 429, or what else fits, at once.
//
//	http.ListenAndServe(":8080", httplimit.PerIP(ratelimit.PerMinute(100))(handler))
//
// Filter.Wrap is a func(http.Handler) http.Handler, which chi's Use and most other routers take as it is. Filter.Decide
// decides and writes nothing, for proxies and authorization endpoints.
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
// # What the client is told
//
// A refusal carries Retry-After, in seconds rounded up, and a body of application/problem+json, or text where JSON isn't
// accepted. By default each response carries RateLimit and RateLimit-Policy (the IETF draft's revision 8) and
// X-RateLimit-Limit, -Remaining and -Reset (seconds to go). Config.Headers and Config.When choose others, or none.
//
// # What it costs
//
// A request that passes one rule costs no lock and no allocation; the header values, if there are any, two. A key is
// built in a buffer that is used again.
package httplimit
