package ratelimit

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Clock tells the time that decisions count at, in ns. It is read once a decision. It never goes backwards. Windows
// start at its multiples: on a clock that counts from the Unix epoch, hours and UTC days are those of the calendar.
type Clock interface {
	NanoTime() int64
}

// SystemClock returns the clock of this process: Unix ns, taken once at its start, advanced by the monotonic clock. No
// step of the wall clock moves it; neither does the time that the machine is suspended, on systems whose monotonic
// clock stands still then (Linux).
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

var (
	started     = time.Now()
	startedUnix = started.UnixNano()
)

func (systemClock) NanoTime() int64 { return startedUnix + int64(time.Since(started)) }

// CoarseClock is a SystemClock whose reading is cached: a read costs one load, where SystemClock asks the processor. It
// is never ahead of SystemClock, and behind it by about the resolution (more when the process gets no processor time).
// Behind means that a client waits that much longer, never that it gets more.
type CoarseClock struct {
	*cachedTime
	stop func()
}

// cachedTime is what the refreshing goroutine holds, so that it doesn't keep the CoarseClock alive.
type cachedTime struct {
	now  atomic.Int64
	done chan struct{}
}

const (
	// DefaultResolution is the resolution of a CoarseClock made with none.
	DefaultResolution = time.Millisecond
	// MinResolution is the finest resolution of a CoarseClock. A finer one would cost more in refreshing than it saves in
	// reading, at a ns a whole processor; SystemClock is exact.
	MinResolution = 100 * time.Microsecond
)

// NewCoarseClock returns a clock that is refreshed each resolution in the background, until Close, or until nobody refers
// to it any more. At most 0 is DefaultResolution; anything else below MinResolution is that.
func NewCoarseClock(resolution time.Duration) *CoarseClock {
	if resolution <= 0 {
		resolution = DefaultResolution
	}
	resolution = max(resolution, MinResolution)
	t := &cachedTime{done: make(chan struct{})}
	t.now.Store(SystemClock().NanoTime())
	go t.refresh(resolution)
	c := &CoarseClock{cachedTime: t, stop: sync.OnceFunc(func() { close(t.done) })}
	runtime.AddCleanup(c, func(stop func()) { stop() }, c.stop)
	return c
}

// NanoTime returns the cached time. After Close it stands still, once a refresh that was under way has ended.
func (t *cachedTime) NanoTime() int64 { return t.now.Load() }

// Close ends the refreshing. It may be called more than once.
func (c *CoarseClock) Close() { c.stop() }

func (t *cachedTime) refresh(resolution time.Duration) {
	ticker := time.NewTicker(resolution)
	defer ticker.Stop()
	for {
		select {
		case <-t.done:
			return
		case <-ticker.C:
			t.now.Store(SystemClock().NanoTime())
		}
	}
}
