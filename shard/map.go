package shard

import (
	"math"
	"sync/atomic"
)

// Map maps keys to kernel words. It is made by New and safe for concurrent use; it must not be copied.
type Map[P any] struct {
	// Immutable after New.
	kernel   Kernel[P]
	retirer  Retirer[P] // nil if the kernel is none
	maxKeys  int64
	overflow Overflow
	now      func() int64
	born     int64 // by that clock
	limits   limits
	dull     uint64    // bits that tests take from the hash
	work     func(int) // tests count the slots a call moves, clears and allocates

	top space[P]

	// Accessed atomically.
	rule      atomic.Pointer[rule[P]]
	held      atomic.Int64 // keys held, and places reserved for those about to be
	evicted   atomic.Uint64
	reset     atomic.Uint64
	limited   atomic.Uint64
	denied    atomic.Uint64
	untracked atomic.Uint64
	newest    recent
	janitor   janitor
}

// New returns an empty map. It holds no memory to speak of before its first key.
func New[P any](c Config[P]) *Map[P] {
	m := &Map[P]{
		kernel:   c.Kernel,
		maxKeys:  int64(c.MaxKeys),
		overflow: c.Overflow,
		now:      c.Now,
		limits:   limits{slots: maxSlots, depth: maxDepth, patience: patience},
		dull:     c.dull,
		work:     func(int) {},
	}
	m.retirer, _ = c.Kernel.(Retirer[P])
	if c.limits != (limits{}) {
		m.limits = c.limits
	}
	if c.work != nil {
		m.work = c.work
	}
	if c.Now != nil {
		m.born = c.Now()
	}
	for i := range m.janitor.idle.bounds {
		m.janitor.idle.bounds[i].Store(math.MaxInt64) // no key, none idle
	}
	m.top.patience = m.limits.patience
	m.rule.Store(&rule[P]{params: c.Params})
	return m
}

// retire asks the kernel for a last look at an idle state.
func (m *Map[P]) retire(t *Table[P], state uint64, at int64) bool {
	return m.retirer == nil || m.retirer.Retire(&t.Params, state, at)
}

// release tells the kernel that a state is gone.
func (m *Map[P]) release(t *Table[P], state uint64) {
	if m.retirer != nil && state > full {
		m.retirer.Release(&t.Params, state)
	}
}

// Len returns the number of keys held. It may count a creation under way.
func (m *Map[P]) Len() int { return int(m.held.Load()) }
