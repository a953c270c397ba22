package rules

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// DefaultPoll is how often a Watcher looks at its file, unless it is told otherwise.
const DefaultPoll = time.Second

// WatchConfig says which file a Watcher follows, and when it looks. Path is required.
type WatchConfig struct {
	Path   string
	Decode Decoder // nil: DecodeJSON
	// Every is the time between two looks; at most 0: DefaultPoll. A change is in force at the second look that sees it.
	Every time.Duration
	// Tick, if not nil, says when to look, instead of Every.
	Tick <-chan time.Time
	// Reload, if not nil, says when to load at once; nil: whenever the process gets a SIGHUP.
	Reload <-chan os.Signal
}

// Watcher keeps a Store in step with a file. It polls, so it works wherever files do, and it resolves the path each
// time, so that it follows a file that is replaced and a link that is turned, as editors and Kubernetes do.
//
// The whole file is read each time: the time and size of a file can stay the same when it changes. A change is loaded
// when two looks in a row see the same (path behind the links, size, time and hash), so that a file isn't loaded while
// it is being written, when a part of it might pass for the whole. A file that can't be read or used changes nothing:
// the old rules stand, and the Store counts and reports it, once for each content.
type Watcher struct {
	store  *Store
	config WatchConfig

	mu    sync.Mutex
	seen  snapshot // at the last look
	tried snapshot // what was last loaded, or found unusable
	said  string   // why it couldn't be read at the last look
}

// NewWatcher returns a Watcher, which does nothing until Run, Poll or Reload. The Store may hold the file's rules
// already (LoadFile).
func NewWatcher(s *Store, c WatchConfig) *Watcher {
	if c.Decode == nil {
		c.Decode = DecodeJSON
	}
	if c.Every <= 0 {
		c.Every = DefaultPoll
	}
	return &Watcher{store: s, config: c}
}

// LoadFile reads, decodes and validates a rule file; decode may be nil for JSON. The error begins with the path; if the
// file could be read, it wraps an *Error with every mistake and its line, as far as decode can tell.
func LoadFile(path string, decode Decoder) (Spec, error) {
	if decode == nil {
		decode = DecodeJSON
	}
	_, data, err := look(path)
	if err != nil {
		return Spec{}, err
	}
	spec, lineOf, err := decode(data)
	if err == nil {
		err = spec.Validate()
	}
	if err != nil {
		return Spec{}, fmt.Errorf("%s: %w", path, locate(err, lineOf))
	}
	return spec, nil
}

// Run follows the file until ctx is done.
func (w *Watcher) Run(ctx context.Context) {
	tick, reload := w.config.Tick, w.config.Reload
	if tick == nil {
		ticker := time.NewTicker(w.config.Every)
		defer ticker.Stop()
		tick = ticker.C
	}
	if reload == nil {
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
		reload = hangups
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			w.Poll()
		case <-reload:
			w.Reload()
		}
	}
}

// Poll looks at the file once. It returns an error if the file can't be read, or was loaded and can't be used.
func (w *Watcher) Poll() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, data, err := look(w.config.Path)
	if err != nil {
		return w.unreadableLocked(err)
	}
	settled := now == w.seen
	w.seen = now
	if now.hash == w.tried.hash && w.said == "" || !settled {
		return nil
	}
	return w.loadLocked(now, data)
}

// Reload loads the file now, without waiting for it to settle.
func (w *Watcher) Reload() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, data, err := look(w.config.Path)
	if err != nil {
		w.said = ""
		return w.unreadableLocked(err)
	}
	w.seen = now
	return w.loadLocked(now, data)
}

// unreadableLocked reports err, unless that was said at the last look.
func (w *Watcher) unreadableLocked(err error) error {
	w.seen = snapshot{}
	if err.Error() != w.said {
		w.said = err.Error()
		w.store.fail(err)
	}
	return err
}

func (w *Watcher) loadLocked(now snapshot, data []byte) error {
	w.tried, w.said = now, ""
	spec, lineOf, err := w.config.Decode(data)
	if err == nil {
		err = w.store.update(spec)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", w.config.Path, locate(err, lineOf))
		w.store.fail(err)
	}
	return err
}
