// Package replay tries rules on yesterday's traffic: it sends each request of an access log, at its time, through the
// filter that would have stood before the server, with its matching, its keys, its limiters and its refunds, and tells
// what it refused: by rule, client, endpoint and over time.
//
// Time is the log's: a clock that is set to each request's instant. Nothing else differs from the live filter, so that
// the decisions are the same, line by line. What a log can't tell, the rules can't see: a key by a header that isn't
// logged is missing.
//
// Memory doesn't depend on the log's length: clients and endpoints are counted in tables that forget the least
// noteworthy, whose counts then stand under "others", and time in buckets that grow.
package replay
