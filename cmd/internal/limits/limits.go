// Package limits joins the rules in force, the filter that asks them, and the file that they come from.
package limits

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/rules"
)

// Limits are the rules and the filter of one process.
type Limits struct {
	Store  *rules.Store
	Filter *httplimit.Filter

	log    *slog.Logger
	logged ratelimit.Local // by rule: one refusal a second

	requests, passed atomic.Uint64

	mu      sync.Mutex
	changes []Change // the last maxChanges, the oldest first; guarded by mu
}

// Change is a reload: the rules changed, or what the file says couldn't be used.
type Change struct {
	At      int64  // Unix ns
	Version uint64 // of the rules in force after it
	Error   error  // why they didn't change; nil if they did
}

const maxChanges = 50

// Config says what limits to make.
type Config struct {
	Spec rules.Spec
	Log  *slog.Logger
	// Clock and MaxKeys are those of the limiters that are made here; see ratelimit.Config.
	Clock   ratelimit.Clock
	MaxKeys int
	// NewLimiter makes the limiters. Nil: all are made here, whatever their store.
	NewLimiter func(rules.Build) (ratelimit.Reversible, error)
}

// New returns the limits. Its error is a *rules.Error, if the spec isn't valid.
func New(c Config) (*Limits, error) {
	l := &Limits{log: c.Log}
	var err error
	if l.logged, err = ratelimit.New(ratelimit.PerSecond(1).Burst(1), ratelimit.Config{MaxKeys: 1024}); err != nil {
		return nil, err
	}
	if c.NewLimiter == nil {
		local := ratelimit.NewFactory(ratelimit.Config{Clock: c.Clock, MaxKeys: c.MaxKeys})
		c.NewLimiter = func(b rules.Build) (ratelimit.Reversible, error) { return local.Create(b.Limit) }
	}
	l.Store, err = rules.NewStore(c.Spec, rules.Config{
		NewLimiter: c.NewLimiter,
		OnUpdate:   func(_, next *rules.Set) { l.updated(next) },
		OnError:    l.failed,
	})
	if err != nil {
		return nil, err
	}
	l.Filter, err = httplimit.New(httplimit.Config{Store: l.Store, OnLimit: l.refused})
	return l, err
}

// Close lets go of what the limits hold elsewhere, leased tokens say. No reload may follow.
func (l *Limits) Close() {
	l.Filter.Close()
	if err := l.Store.Close(); err != nil {
		l.log.Warn("limits not closed", "error", err.Error())
	}
}

// Wrap returns next, which passes requests on to other servers, behind the limits.
func (l *Limits) Wrap(next http.Handler) http.Handler {
	filtered := l.Filter.WrapProxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.passed.Add(1)
		next.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.requests.Add(1)
		filtered.ServeHTTP(w, r)
	})
}

// Decide decides r and charges it; see httplimit.Filter.Decide.
func (l *Limits) Decide(r *http.Request) httplimit.Verdict {
	l.requests.Add(1)
	v := l.Filter.Decide(r)
	if v.Allowed {
		l.passed.Add(1)
	}
	return v
}

// FromProxy reports whether r comes from a proxy that is believed about its client.
func (l *Limits) FromProxy(r *http.Request) bool { return l.Filter.FromProxy(r) }

// Refuse answers r with a verdict; see httplimit.Filter.Refuse.
func (l *Limits) Refuse(w http.ResponseWriter, r *http.Request, v httplimit.Verdict) {
	l.Filter.Refuse(w, r, v)
}

// Passed returns how many requests have passed since the start.
func (l *Limits) Passed() uint64 { return l.passed.Load() }

// Refused returns how many requests have been refused since the start; one too many for each that is being decided.
func (l *Limits) Refused() uint64 {
	passed := l.passed.Load() // first, because it must not overtake
	return l.requests.Load() - passed
}

// Changes returns the latest reloads, the oldest first. The first rules are one.
func (l *Limits) Changes() []Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.changes)
}

func (l *Limits) keep(c Change) {
	c.At = ratelimit.SystemClock().NanoTime()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.changes) == maxChanges {
		l.changes = slices.Delete(l.changes, 0, 1)
	}
	l.changes = append(l.changes, c)
}

func (l *Limits) updated(next *rules.Set) {
	l.keep(Change{Version: next.Version()})
	level := slog.LevelInfo
	if next.Version() == 1 { // the start, of which people are told anyway
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, "rules in force", "version", next.Version(), "rules", len(next.Rules()))
	warnings := next.Warnings()
	for _, w := range warnings[:min(len(warnings), 10)] {
		l.log.Info("clients can get around a limit", "where", w.Path, "rule", w.Rule, "what", w.Text)
	}
}

func (l *Limits) failed(err error) {
	l.keep(Change{Version: l.Store.Current().Version(), Error: err})
	var broken *rules.Error
	if !errors.As(err, &broken) {
		l.log.Error("rules not reloaded, the old ones stand", "error", err.Error())
		return
	}
	for _, p := range broken.Problems[:min(len(broken.Problems), 10)] {
		l.log.Error("rules not reloaded, the old ones stand", "error", p.Error())
	}
}

// refused logs the first refusal of a rule in each second, so that a flood doesn't become one of the log.
func (l *Limits) refused(r *http.Request, v httplimit.Verdict) {
	if !l.logged.TryAcquire(v.Rule) {
		return
	}
	for _, result := range v.Results() {
		asked := result.Decision.Limit > 0 // or another rule had refused already
		if asked && !result.Decision.Allowed || result.Rule == v.Rule && !v.Allowed {
			l.log.Info("refused", "rule", result.Rule, "mode", result.Mode.String(), "reason", v.Reason.String(),
				"method", r.Method, "path", r.URL.Path, "retry_after", result.Decision.RetryAfter.String())
		}
	}
}
