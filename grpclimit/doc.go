// Package grpclimit limits the calls of gRPC clients: interceptors before the methods of a grpc.Server.
//
// On the wire a gRPC call is an HTTP request, and that is how its limits are told: an httplimit.Filter decides, with its
// rules, keys, plans, lists, costs, shadow mode, counts and reloads. To the filter a call is
//
//	POST /package.Service/Method        the path, and the route, is the full method
//	Host: the call's authority
//	each field of the metadata          as a header: httplimit.Header("x-api-key")
//	the peer's address                  and the proxies in x-forwarded-for, if the filter trusts any
//	the call's context                  for functions: Request.Context
//
// so that one rule file can hold for HTTP and gRPC alike.
//
// # What the client is told
//
// A call beyond its limit ends at once with RESOURCE_EXHAUSTED. A google.rpc.RetryInfo in the status's details has the
// exact time until it would pass, and the trailer grpc-retry-pushback-ms the same in milliseconds, rounded up, which
// clients with a retry policy wait for and then try again; it is negative, for "don't try again", where no time will help.
// A refusal is a response of trailers alone, as clients retry no other. The filter's rate-limit fields (RateLimit,
// X-RateLimit-Limit and so on) are in the trailer of a refusal and in the header of a call that passes.
//
// Blocked clients get PERMISSION_DENIED, calls without a key that their rule insists on, or with one too long,
// INVALID_ARGUMENT, and those that a remote limiter can't decide, by its policy, UNAVAILABLE.
//
// # Streams
//
// A stream is one call, decided at its start. Config.Messages limits the messages of its client too. A message that is
// refused ends the stream, which clients don't retry by themselves.
//
// A rule's refund by response status is not given: there is no HTTP status here.
package grpclimit
