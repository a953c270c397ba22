package redislimit

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"
)

// Stats counts what a store has done since it was made.
type Stats struct {
	Calls        uint64 // to the server
	Timeouts     uint64 // of these, answered too late or not at all
	Failures     uint64 // of these, failed otherwise
	NotAsked     uint64 // decisions made without a call because the server had not been answering
	ErrorAllowed uint64 // decisions by the outage policy that allowed
	ErrorDenied  uint64 // and that refused
	DeniedHere   uint64 // refusals repeated without a call, by modes DenyCache and Lease
	BreakerOpen  bool   // the server, or for a Cluster part of it, is not being asked
	Servers      int    // that share the limits, as far as is known
	LeasedTaken  uint64 // tokens taken in leases
	LeasedBack   uint64 // of these, given back unspent
}

var errReply = errors.New("redislimit: unexpected reply")

type counters struct {
	calls, timeouts, failures, open       atomic.Uint64
	errorAllowed, errorDenied, deniedHere atomic.Uint64
	leasedTaken, leasedBack               atomic.Uint64
}

// called counts one call to the server. One that its caller gave up is no failure of the server.
func (c *counters) called(err error, gaveUp bool) {
	c.calls.Add(1)
	switch {
	case err == nil, gaveUp, errors.Is(err, ErrMoving):
	case errors.Is(err, context.DeadlineExceeded):
		c.timeouts.Add(1)
	default:
		c.failures.Add(1)
	}
}

// Stats returns counts since the start.
func (s *Store) Stats() Stats {
	c := &s.counters
	return Stats{
		Calls: c.calls.Load(), Timeouts: c.timeouts.Load(), Failures: c.failures.Load(), NotAsked: c.open.Load(),
		ErrorAllowed: c.errorAllowed.Load(), ErrorDenied: c.errorDenied.Load(), DeniedHere: c.deniedHere.Load(),
		BreakerOpen: s.anyOpen(), Servers: s.fleet.size(),
		LeasedTaken: c.leasedTaken.Load(), LeasedBack: c.leasedBack.Load(),
	}
}

func (s *Store) anyOpen() bool {
	for _, b := range s.breakers {
		if b.open() {
			return true
		}
	}
	return false
}

// warn logs at most once a second.
func (s *Store) warn(message string, err error) {
	now, last := s.config.Clock.NanoTime(), s.warned.Load()
	if (last == math.MinInt64 || now-last >= int64(time.Second)) && s.warned.CompareAndSwap(last, now) {
		s.config.Log.Warn("redislimit: "+message, "error", err, "policy", s.config.OnError.String())
	}
}
