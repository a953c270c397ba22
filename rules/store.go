package rules

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/casgate/ratelimit"
)

// Config is what a Store needs to know besides its Spec. The zero value is ready to use.
type Config struct {
	// Limiters is the Config of the limiters that the Store makes itself, those without a store URL.
	Limiters ratelimit.Config
	// NewLimiter, if not nil, makes every limiter. A Limiter that also has SetRule(ratelimit.Rule) error is kept and told
	// its new rule when only that has changed; one that hasn't is made anew, and must find its counts again by Build's
	// words. One that has Close() error is closed when no rule has it any more; as requests under way may still ask
	// it, it must answer after that. nil: ratelimit.NewFactory(Limiters), and a store URL is an error.
	NewLimiter func(Build) (ratelimit.Reversible, error)
	// OnUpdate, if not nil, is called after each change, with the sets before (nil for the first) and after it. It must
	// not call Update or Subscribe.
	OnUpdate func(old, new *Set)
	// OnError, if not nil, is called with each error of an Update or a Watcher, after which the old rules stand. It must
	// not call Update.
	OnError func(error)
}

// Build says which limiter is wanted. Rule, Plan, Key and Store together are what its counts are known by, with the
// algorithm: two limiters of a Set differ in them, and a limiter that is the same in them keeps its counts.
type Build struct {
	Rule  string         // the rule's name
	Plan  string         // empty: for plans without a limit of their own
	Key   string         // the key's text
	Store string         // a URL; empty: in this process
	Limit ratelimit.Rule // what to enforce
}

// Store holds the rules in force. Reading them is one atomic load. It is safe for concurrent use.
type Store struct {
	config  Config
	current atomic.Pointer[Set]

	updates   atomic.Uint64
	failures  atomic.Uint64
	lastError atomic.Pointer[error] // nil: none since the last Update that succeeded

	mu          sync.Mutex // one Update at a time; guards what follows
	subscribers []*subscriber
}

type subscriber struct {
	prepare func(next *Set) (commit func(), err error)
}

// NewStore returns a store with the rules of spec, or an *Error.
func NewStore(spec Spec, c Config) (*Store, error) {
	s := &Store{config: c}
	if c.NewLimiter == nil {
		s.config.NewLimiter = localLimiters(c.Limiters)
	}
	if err := s.update(spec); err != nil {
		return nil, err
	}
	return s, nil
}

// Current returns the rules in force. A request should ask one Set from beginning to end.
func (s *Store) Current() *Set { return s.current.Load() }

// Update replaces the rules, all at once; on an error, the old ones stand and nothing has changed. A rule and plan
// whose name, key, algorithm and store stay keep what every client has used: a limit that rises gives nothing to a
// client that is being refused, and no bucket is refilled. While it runs, a request falls under the old rules or the
// new; it can see a new limit of a rule that stays just before the other changes.
//
// A rule that is removed, or whose name, key or algorithm changes, is forgotten: if it comes back, its clients start
// anew. Updating to the rules in force does nothing.
func (s *Store) Update(spec Spec) error {
	err := s.update(spec)
	if err != nil {
		s.fail(err)
	}
	return err
}

func (s *Store) update(spec Spec) error {
	next, err := Compile(spec)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.current.Load()
	if old != nil {
		if bytes.Equal(old.source, next.source) {
			s.lastError.Store(nil)
			return nil
		}
		next.version = old.version
	}
	next.version++
	if err := s.replaceLocked(old, next); err != nil {
		return err
	}
	s.updates.Add(1)
	s.lastError.Store(nil)
	if s.config.OnUpdate != nil {
		s.config.OnUpdate(old, next)
	}
	return nil
}

// replaceLocked makes next the current set: everything that can fail comes first, and is undone if it does.
func (s *Store) replaceLocked(old, next *Set) error {
	h, err := takeOver(old, next, s.config.NewLimiter)
	if err != nil {
		return err
	}
	commits := make([]func(), 0, len(s.subscribers))
	for _, sub := range s.subscribers {
		commit, err := sub.prepare(next)
		if err != nil {
			h.abandon()
			return err
		}
		commits = append(commits, commit)
	}
	if err := h.setRules(); err != nil {
		h.abandon()
		return err
	}
	for _, commit := range commits {
		if commit != nil {
			commit()
		}
	}
	s.current.Store(next)
	h.closeDropped()
	return nil
}

// Subscribe makes f part of each Update: it is called with the next set before anything has changed, and may refuse it
// with an error. If all subscribers agree, the function that f returned, if not nil, is called just before the set
// becomes the current one. f is called at once, too, for the set in force. It must not call the Store's Update or
// Subscribe. cancel ends the subscription.
func (s *Store) Subscribe(f func(next *Set) (commit func(), err error)) (cancel func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	commit, err := f(s.current.Load())
	if err != nil {
		return nil, err
	}
	if commit != nil {
		commit()
	}
	sub := &subscriber{prepare: f}
	s.subscribers = append(s.subscribers, sub)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subscribers = slices.DeleteFunc(s.subscribers, func(other *subscriber) bool { return other == sub })
	}, nil
}

// Stats is how a Store has fared.
type Stats struct {
	Version   uint64 // of the rules in force, from 1
	Updates   uint64 // changes, the first rules included
	Failures  uint64 // Updates refused, and files that a Watcher couldn't use
	LastError error  // what the latest of these said; nil once an Update has succeeded
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	stats := Stats{Version: s.Current().version, Updates: s.updates.Load(), Failures: s.failures.Load()}
	if err := s.lastError.Load(); err != nil {
		stats.LastError = *err
	}
	return stats
}

// fail counts and reports an error after which the old rules stand.
func (s *Store) fail(err error) {
	s.failures.Add(1)
	s.lastError.Store(&err)
	if s.config.OnError != nil {
		s.config.OnError(err)
	}
}

// Close closes the limiters that need it, those of Config.NewLimiter. No Update may follow.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	for _, l := range s.Current().limits {
		if closer, ok := l.Limiter.(io.Closer); ok {
			if err := closer.Close(); first == nil {
				first = err
			}
		}
	}
	return first
}
