package upstream

import (
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// Switch is a Router whose targets can change while requests pass through it.
type Switch struct {
	believed func(*http.Request) bool
	log      *slog.Logger
	current  atomic.Pointer[Router]

	mu      sync.Mutex // one Set at a time; guards what follows
	targets []Target
}

// NewSwitch returns a switch to targets; see NewRouter.
func NewSwitch(targets []Target, believed func(*http.Request) bool, log *slog.Logger) (*Switch, error) {
	s := &Switch{believed: believed, log: log}
	return s, s.Set(targets)
}

// Set changes the targets. Requests under way end where they are.
func (s *Switch) Set(targets []Target) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.Load() != nil && slices.Equal(targets, s.targets) {
		return nil
	}
	next, err := NewRouter(targets, s.believed, s.log)
	if err != nil {
		return err
	}
	s.targets = slices.Clone(targets)
	if old := s.current.Swap(next); old != nil {
		old.closeIdle()
		s.log.Info("upstreams in force", "upstreams", len(targets))
	}
	return nil
}

// ServeHTTP passes the request on.
func (s *Switch) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.current.Load().ServeHTTP(w, r) }
