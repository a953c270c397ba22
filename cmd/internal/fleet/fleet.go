// Package fleet keeps the limits that several servers share: it opens the Redis servers that rules name as their store,
// each once, and makes limiters on them.
package fleet

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/promlimit"
	"github.com/casgate/ratelimit/redislimit"
	"github.com/casgate/ratelimit/rules"
)

// Fleet is the stores that are open. It is safe for concurrent use.
type Fleet struct {
	config  redislimit.Config
	mode    redislimit.Mode
	observe atomic.Pointer[func(time.Duration, error)]

	mu     sync.Mutex
	stores map[string]*redislimit.Store // by URL; guarded by mu
}

// New returns a fleet that opens stores with c, whose Observe and Log are the fleet's own.
func New(c redislimit.Config, mode redislimit.Mode, log *slog.Logger) *Fleet {
	f := &Fleet{config: c, mode: mode, stores: map[string]*redislimit.Store{}}
	f.config.Log = log
	f.config.Observe = func(took time.Duration, err error) {
		if observe := f.observe.Load(); observe != nil {
			(*observe)(took, err)
		}
	}
	return f
}

// Observe makes f be told of each call to a server from now on.
func (f *Fleet) Observe(observe func(took time.Duration, err error)) { f.observe.Store(&observe) }

// connecting is how long the first connection to a server may take before the process goes on without it.
const connecting = 2 * time.Second

// Limiter returns the limiter that b describes, on b's store.
func (f *Fleet) Limiter(b rules.Build) (ratelimit.Reversible, error) {
	store, err := f.store(b.Store)
	if err != nil {
		return nil, err
	}
	return store.Limiter(name(b), b.Limit, f.mode)
}

func (f *Fleet) store(address string) (*redislimit.Store, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.stores[address]; s != nil {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), connecting)
	defer cancel()
	s, err := redislimit.Dial(ctx, address, f.config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redacted(address), err)
	}
	f.stores[address] = s
	return s, nil
}

// name returns what b's counts are known by on the server. The key's text is in it as a hash, because values of two
// headers can be equal.
func name(b rules.Build) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(b.Key))
	return fmt.Sprintf("%s:%s:%08x", b.Rule, b.Plan, hash.Sum32())
}

// Status is how one store fares.
type Status struct {
	Address string // without its password
	Policy  string // by which is decided while it doesn't answer
	redislimit.Stats
}

// Status returns the stores that are open, by address.
func (f *Fleet) Status() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]Status, 0, len(f.stores))
	for _, address := range slices.Sorted(maps.Keys(f.stores)) {
		all = append(all, Status{redacted(address), f.config.OnError.String(), f.stores[address].Stats()})
	}
	return all
}

// Backend is what Prometheus is told, of all stores together.
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

// Close closes the stores, which gives leases back.
func (f *Fleet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.stores {
		s.Close()
	}
	clear(f.stores)
}

// redacted returns a URL without its password.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "a URL that can't be read"
	}
	return cmp.Or(u.Redacted(), address)
}
