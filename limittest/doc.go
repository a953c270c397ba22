// Package limittest helps to test rate limiters, and code that uses one: a clock that moves only when told to, the
// conformance suite that every limiter of this module passes, and a runner for time-lines of calls and answers.
package limittest
