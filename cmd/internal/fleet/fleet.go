// Package fleet has the limits that several servers share over the Redis that rules name as their store, and tells how
// each of these servers fares.
package fleet

import (
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/promlimit"
	"github.com/casgate/ratelimit/redislimit"
)

// Fleet makes limiters. It is safe for concurrent use.
type Fleet struct {
	*redislimit.Limiters
	policy  string
	observe atomic.Pointer[func(time.Duration, error)]
}

// New returns a fleet that asks servers by c, whose Observe and Log are the fleet's own, and makes limiters without a
// store by local.
func New(c redislimit.Config, mode redislimit.Mode, local ratelimit.Config, log *slog.Logger) *Fleet {
	f := &Fleet{policy: c.OnError.String()}
	c.Log = log
	c.Observe = func(took time.Duration, err error) {
		if observe := f.observe.Load(); observe != nil {
			(*observe)(took, err)
		}
	}
	f.Limiters = redislimit.NewLimiters(c, mode, local)
	return f
}

// Observe makes f tell observe of each call to a server from now on.
func (f *Fleet) Observe(observe func(took time.Duration, err error)) { f.observe.Store(&observe) }

// Status is how one server fares.
type Status struct {
	Address string // its URL, without the password
	Policy  string // by which is decided while it doesn't answer
	redislimit.Stats
}

// Status returns the servers that are asked, by address.
func (f *Fleet) Status() []Status {
	stats := f.Stats()
	all := make([]Status, 0, len(stats))
	for _, address := range slices.Sorted(maps.Keys(stats)) {
		all = append(all, Status{address, f.policy, stats[address]})
	}
	return all
}

// Backend is what Prometheus is told, of all servers together.
func (f *Fleet) Backend() promlimit.Backend {
	var b promlimit.Backend
	var lease promlimit.Lease
	for _, s := range f.Status() {
		b.BreakerOpen = b.BreakerOpen || s.BreakerOpen
		lease.Taken += s.LeasedTaken
		lease.Returned += s.LeasedBack
	}
	if lease.Taken > 0 {
		b.Leases = append(b.Leases, lease)
	}
	return b
}
