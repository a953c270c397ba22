package shard

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/cespare/xxhash/v2"
)

const (
	frozen  = 1 << 63
	evicted = 1 << 62
	flags   = frozen | evicted
	full    = 1

	// Horizon is the last instant a map counts at.
	Horizon = math.MaxInt64 - 1<<57 // a few years before the end of int64

	markStep = int64(time.Millisecond)
)

// Live tells whether word is that of a held key: not 0, no flag.
func Live(word uint64) bool { return word-1 < evicted-1 }

// Table holds the parameters its words are counted under.
type Table[P any] struct {
	Params  P
	floor   int64
	horizon int64
	mark    atomic.Int64
	words   map[string]*atomic.Uint64
}

// At returns the instant a call at now counts at in this table; false if that is beyond its words' range.
func (t *Table[P]) At(now int64) (at int64, ok bool) {
	if uint64(now-t.mark.Load()) < uint64(markStep) {
		return now, true
	}
	return t.atSlow(now)
}

func (t *Table[P]) atSlow(now int64) (int64, bool) {
	mark := t.mark.Load()
	switch {
	case now <= mark:
		return mark, true
	case now > Horizon:
		return t.horizon, true
	case now > t.horizon:
		return 0, false
	}
	for next := min(now, t.horizon-markStep); mark < next; mark = t.mark.Load() {
		if t.mark.CompareAndSwap(mark, next) {
			break
		}
	}
	return now, true
}

// Map is the map.
type Map[P any] struct {
	kernel  Kernel[P]
	retirer Retirer[P]
	config  Config[P]
	hash    func(string) uint64

	mu    sync.RWMutex
	t     *Table[P]
	held  int
	stats Stats
	armed bool
}

// New returns an empty map.
func New[P any](c Config[P]) *Map[P] {
	m := &Map[P]{kernel: c.Kernel, config: c, hash: c.hash}
	m.retirer, _ = c.Kernel.(Retirer[P])
	if m.hash == nil {
		m.hash = xxhash.Sum64String
	}
	return m
}

// Find returns the word of a held key and its table, nil if the key is not held or moving.
func (m *Map[P]) Find(hash uint64, key string) (*atomic.Uint64, *Table[P]) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.t == nil {
		return nil, nil
	}
	return m.t.words[key], m.t
}

// Prefetch touches the line that Find will want.
func (m *Map[P]) Prefetch(hash uint64) {}

func (m *Map[P]) newTable(p *P, floor int64) *Table[P] {
	floor = min(floor, Horizon-markStep)
	t := &Table[P]{Params: m.kernel.Rebase(p, floor), floor: floor, words: map[string]*atomic.Uint64{}}
	t.horizon = min(Horizon, m.kernel.Horizon(&t.Params))
	t.mark.Store(floor)
	return t
}

func (m *Map[P]) moveLocked(p *P, now int64) {
	t := m.t
	floor := max(t.floor, t.mark.Load())
	if now <= Horizon {
		floor = max(floor, now)
	}
	n := m.newTable(p, floor)
	for key, w := range t.words {
		old := w.Load()
		for !w.CompareAndSwap(old, old|frozen) {
			old = w.Load()
		}
		if next := m.carry(t, n, old); next != 0 {
			c := new(atomic.Uint64)
			c.Store(next)
			n.words[key] = c
		} else if Live(old) {
			m.held--
			m.stats.Evicted++
		}
	}
	m.t = n
}

func (m *Map[P]) carry(t, n *Table[P], old uint64) uint64 {
	word := old &^ flags
	if word <= full {
		return 0
	}
	var c uint64
	if m.kernel.IdleAt(&t.Params, word) > n.floor || m.retirer != nil && !m.retirer.Retire(&t.Params, word, n.floor) {
		c = m.kernel.Convert(word, &t.Params, &n.Params)
	}
	if c != word && m.retirer != nil {
		m.retirer.Release(&t.Params, word)
	}
	if c == 0 {
		return 0
	}
	return c | old&evicted
}

// Update does to a key what the word Find returned can't.
func (m *Map[P]) Update(hash uint64, key string, now int64, mode Mode, step func(p *P, word uint64, at int64) (next uint64, ok bool)) Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.t == nil {
		if mode == HeldOnly {
			p := m.kernel.Rebase(&m.config.Params, min(now, Horizon))
			step(&p, 0, min(now, Horizon))
			return Absent
		}
		m.t = m.newTable(&m.config.Params, now)
	}
	for {
		t := m.t
		var old uint64
		w := t.words[key]
		if w != nil {
			old = w.Load()
		}
		at, ok := t.At(now)
		if !ok {
			m.moveLocked(&t.Params, now)
			continue
		}
		if !Live(old) && mode == HeldOnly {
			step(&t.Params, old&^flags, at)
			return Absent
		}
		next, ok := step(&t.Params, old&^flags, at)
		if !ok {
			return Declined
		}
		if !Live(old) {
			if v := m.reserveLocked(at); v != Applied {
				return v
			}
		}
		if w == nil {
			w = new(atomic.Uint64)
			t.words[string([]byte(key))] = w
		}
		if !w.CompareAndSwap(old, next) {
			continue
		}
		if !Live(old) {
			m.held++
			m.stats.Created++
			if x := old &^ flags; x > full && x != next && m.retirer != nil {
				m.retirer.Release(&t.Params, x)
			}
			m.armLocked()
		}
		return Applied
	}
}

func (m *Map[P]) reserveLocked(at int64) Verdict {
	if m.config.MaxKeys <= 0 || m.held < m.config.MaxKeys {
		return Applied
	}
	if m.sweepLocked(at) > 0 {
		return Applied
	}
	switch m.config.Overflow {
	case DenyNewKeys:
		m.stats.DeniedNew++
		return Denied
	case AllowNewKeys:
		m.stats.AllowedUntracked++
		return Untracked
	}
	t := m.t
	for {
		var fullest *atomic.Uint64
		var word uint64
		least := int64(math.MaxInt64)
		for _, w := range t.words {
			old := w.Load()
			if !Live(old) {
				continue
			}
			if i := m.kernel.IdleAt(&t.Params, old); fullest == nil || i < least {
				fullest, word, least = w, old, i
			}
		}
		if fullest.CompareAndSwap(word, evicted|full) {
			m.held--
			m.stats.Evicted++
			if m.kernel.Limited(&t.Params, word, at) {
				m.stats.EvictedLimited++
			}
			if m.retirer != nil {
				m.retirer.Release(&t.Params, word)
			}
			return Applied
		}
	}
}

func (m *Map[P]) sweepLocked(now int64) (n int) {
	t := m.t
	if t == nil {
		return 0
	}
	at, ok := t.At(now)
	if !ok {
		m.moveLocked(&t.Params, now)
		return m.sweepLocked(now)
	}
	for _, w := range t.words {
		old := w.Load()
		if !Live(old) || m.kernel.IdleAt(&t.Params, old) > at || m.retirer != nil && !m.retirer.Retire(&t.Params, old, at) {
			continue
		}
		if w.CompareAndSwap(old, old|evicted) {
			m.held--
			m.stats.Evicted++
			n++
		}
	}
	return n
}

// Sweep evicts every key that is idle at now, and says how many.
func (m *Map[P]) Sweep(now int64) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.sweepLocked(now)
	if m.t != nil && m.held < len(m.t.words)/2 {
		m.moveLocked(&m.t.Params, now)
	}
	return n
}

// Reset makes the key as if never seen.
func (m *Map[P]) Reset(hash uint64, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.t == nil {
		return
	}
	w := m.t.words[key]
	if w == nil {
		return
	}
	for {
		old := w.Load()
		if !Live(old) {
			return
		}
		if w.CompareAndSwap(old, evicted|full) {
			m.held--
			m.stats.Evicted++
			if m.retirer != nil {
				m.retirer.Release(&m.t.Params, old)
			}
			return
		}
	}
}

// SetParams puts every key under p, from the instant now on.
func (m *Map[P]) SetParams(p P, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.config.Params = p
	if m.t != nil {
		m.moveLocked(&p, now)
	}
}

// Len returns the number of keys held.
func (m *Map[P]) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.held
}

// Stats returns the counts.
func (m *Map[P]) Stats() Stats {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.stats
	s.Keys = m.held
	s.Bytes = int64(m.held) * 100
	return s
}

func (m *Map[P]) armLocked() {
	if m.armed || m.config.Now == nil {
		return
	}
	m.armed = true
	w := weak.Make(m)
	time.AfterFunc(time.Second, func() {
		if m := w.Value(); m != nil {
			m.Sweep(m.config.Now())
			m.mu.Lock()
			m.armed = false
			if m.held > 0 {
				m.armLocked()
			}
			m.mu.Unlock()
		}
	})
}
