package redislimit

import (
	"sync"
	"time"
)

// background is what a store does beside decisions: probes, settling, leases. close waits for what is under way, and
// nothing starts after it.
type background struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// start counts one more task, unless there must be no more; the task ends with running.Done.
func (b *background) start() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return false
	}
	b.running.Add(1)
	return true
}

// run runs f in a goroutine of its own, unless nothing must start any more, and reports which.
func (b *background) run(f func()) bool {
	if !b.start() {
		return false
	}
	go func() {
		defer b.running.Done()
		f()
	}()
	return true
}

// after runs f when wait is over.
func (b *background) after(wait time.Duration, f func()) {
	time.AfterFunc(wait, func() {
		if b.start() {
			defer b.running.Done()
			f()
		}
	})
}

func (b *background) close() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.running.Wait()
}

// parallel is how many calls inParallel has under way.
const parallel = 32

// inParallel calls f for what produce yields, several at a time, and returns when all are done.
func inParallel[T any](produce func(yield func(T)), f func(T)) {
	work := make(chan T)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for one := range work {
				f(one)
			}
		})
	}
	produce(func(one T) { work <- one })
	close(work)
	workers.Wait()
}
