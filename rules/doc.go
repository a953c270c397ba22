// Package rules says which limits a request meets: plans, endpoints and keys as data, checked as a whole and replaced
// while requests go on.
//
//	Spec  --Compile-->  Set  --Match-->  the limits of one request
//	 ^                   ^
//	 file (Watcher)      Store: one atomic pointer, kept limiters
//
// A [Spec] is a plain struct that any decoder can fill; [ParseJSON] is a strict one. [Compile] finds every mistake in it
// and returns a [Set], which is immutable. A [Store] gives the Set its limiters and replaces it as a whole: limiters whose
// rule keeps its name, key and algorithm go on with what they have counted. A [Watcher] does that whenever a file
// changes.
//
// The package knows no *http.Request: keys are data (see [ParseKey]), which the httplimit package builds.
//
// # Which rules a request meets
//
// A rule claims requests by method, host and path, with the patterns of http.ServeMux; one without patterns claims all.
// Rules of different layers hold together: a request must pass all of them, or none is charged. In a layer, only the
// rule with the most specific pattern holds; where two claim a request and neither is more specific, Compile says so and
// names both. Unless a rule names its layer, that is its key. So
//
//	per-address  key: ip                limit: 600/minute
//	per-key      key: header:X-API-Key  limit: 100/minute
//	search       key: header:X-API-Key  limit: 10/minute   match: GET /search
//
// gives each address 600 and each API key 100 requests a minute, and each API key 10 searches a minute, which don't
// count among the 100. With a layer of its own, search would hold beside per-key: 10 searches, and 100 requests with
// the searches among them. A shadow rule's layer is apart, so that it can stand beside the rule that it may replace.
//
// # What a reload keeps
//
// A limiter is known by its rule's name, its plan, its key, its algorithm and its store. While these stay, a reload
// changes its limit and nothing else: used tokens stay used, in the way of SetRule of [ratelimit.Local]. A client that is
// being refused gains nothing from any number of reloads. When one of them changes, the limiter is a new one, and its
// clients start anew.
package rules
