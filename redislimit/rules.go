package redislimit

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// Limiters makes the limiters of a rule file: those with a store's URL over Redis, one Store for each distinct URL, the others
// in this process. Its NewLimiter is for rules.Config.
type Limiters struct {
	config Config
	mode   Mode
	local  *ratelimit.Factory

	mu     sync.Mutex
	stores map[string]*Store // by URL
}

// NewLimiters returns one that dials with c, makes remote limiters of that mode, and the others by local.
func NewLimiters(c Config, mode Mode, local ratelimit.Config) *Limiters {
	return &Limiters{config: c, mode: mode, local: ratelimit.NewFactory(local), stores: map[string]*Store{}}
}

// dialFor bounds the wait for a server when rules are loaded; one that doesn't answer is not an error. See Dial.
const dialFor = 2 * time.Second

// NewLimiter makes the limiter that a rule wants. A remote one's state is known on the server by the rule, plan and key.
func (l *Limiters) NewLimiter(b rules.Build) (ratelimit.Reversible, error) {
	if b.Store == "" {
		return l.local.Create(b.Limit)
	}
	s, err := l.store(b.Store)
	if err != nil {
		return nil, err
	}
	name := url.PathEscape(b.Rule) + "/" + url.PathEscape(b.Plan) + "/" + url.PathEscape(b.Key)
	return s.Limiter(name, b.Limit, l.mode)
}

func (l *Limiters) store(address string) (*Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.stores[address]; s != nil {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialFor)
	defer cancel()
	s, err := Dial(ctx, address, l.config)
	if err == nil {
		l.stores[address] = s
	}
	return s, err
}

// Stats returns the counts of each store, by its URL, in which a password is hidden.
func (l *Limiters) Stats() map[string]Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]Stats, len(l.stores))
	for address, s := range l.stores {
		if u, err := url.Parse(address); err == nil {
			address = u.Redacted()
		}
		all[address] = s.Stats()
	}
	return all
}

// Close closes all stores; see Store.Close. A rules.Store must be closed before.
func (l *Limiters) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.stores {
		s.Close()
	}
}
