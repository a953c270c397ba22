// Package rules says which limits a request meets: plans, endpoints and keys as data, checked as a whole and replaced
// while requests go on.
//
//	Spec  --Compile-->  Set  --Match-->  the limits of one request
//	 ^                   ^
//	 file (Watcher)      Store: one atomic pointer, kept limiters
//
// A [Spec] is a plain struct that any decoder can fill; [ParseJSON] is a strict one. [Compile] finds every mistake in it
// and returns a [Set], which is immutable. A [Store] gives the Set its limiters and replaces it as a whole: limiters
// whose rule keeps its name, key and algorithm go on with what they have counted. A [Watcher] does that whenever a
// file changes.
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
// Methods match in any case, hosts without port and case, paths cleaned, and a path with an encoded slash in both of its
// readings: what servers commonly take for the same. Some take more: /login/, /LOGIN or /login;x=1 for /login. Give a rule
// the patterns that its server does, and have one for every request by address beside it.
//
// # What a reload keeps
//
// A limiter is known by its rule's name, its plan, its key, its algorithm and its store. While these stay, a reload
// changes its limit and nothing else: used tokens stay used, in the way of SetRule of [ratelimit.Local]. A client that
// is being refused by a token bucket gains nothing from any number of reloads. When one of them changes, the limiter is
// a new one, and its clients start anew.
//
// # Concurrency
//
// State: a Store is one pointer to a Set. Sets don't change after they are published; only the limiters that they refer
// to do, each atomic by itself.
//
// Linearization: Current at its load of the pointer, Update at its store. Between the SetRule calls and that store a
// request can see a new limit under the old rules, never a part of the new rules.
//
// Progress: Current, Match and all that a Set answers are wait-free. Update and Subscribe hold a mutex, which no request
// takes; SetRule is as wait-free to those who ask as the limiter makes it.
//
// Why one atomic suffices: all of a Set is written before the store that publishes it, and a load that sees the pointer
// sees what was written before. The garbage collector keeps an old Set while a request has it, so that no pointer comes
// back as another's (ABA).
package rules
