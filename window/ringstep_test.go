//go:build ringsteps

package window

import (
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"
)

// A schedule runs calls one step at a time: each runs until it is about to do its next load
// or CAS of shared memory, and waits there until it is told to go on.
type schedule struct {
	trial
	waiting []*call
	running *call
}

type call struct {
	resume   func() (struct{}, bool) // until the next step; false: it has returned
	wait     func(struct{}) bool
	slot     *atomic.Uint64 // that its next step is about; nil: the rest of the memory
	started  bool
	returned bool
	after    []int  // the calls that had returned when this one started
	history  uint64 // hash of what its steps found: what it does next follows from that
}

// A trial is calls that start in the same memory each time.
type trial struct {
	calls []func()
	slots func() uint64                  // hash of all slots
	rest  func() uint64                  // hash of the other memory
	final func(slot *atomic.Uint64) bool // tells that no call can write the slot any more
	check func(s *schedule)              // after all calls have returned
}

// current is the schedule that runs; nil: steps don't wait.
var current *schedule

func ringStep(slot *atomic.Uint64) {
	if current == nil || current.running == nil || slot != nil && current.final(slot) {
		return
	}
	c := current.running
	c.slot = slot
	c.wait(struct{}{})
}

// newSchedule starts the calls; all wait before their first step.
func newSchedule(t trial) *schedule {
	s := &schedule{trial: t}
	for _, body := range t.calls {
		c := new(call)
		c.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
			c.wait = yield
			body()
		})
		s.waiting = append(s.waiting, c)
	}
	return s
}

// step lets call i do its next step.
func (s *schedule) step(i int) {
	c := s.waiting[i]
	if !c.started {
		c.started = true
		for j, other := range s.waiting {
			if other.returned {
				c.after = append(c.after, j)
			}
		}
	}
	if c.slot != nil {
		c.history = mix(c.history, c.slot.Load())
	} else {
		c.history = mix(c.history, s.rest())
	}
	current, s.running = s, c
	_, more := c.resume()
	current, s.running = nil, nil
	c.returned = !more
}

// finish lets all calls run to their ends.
func (s *schedule) finish() {
	for _, c := range s.waiting {
		for !c.returned {
			_, more := c.resume()
			c.returned = !more
		}
	}
}

func (s *schedule) ready() (calls []int) {
	for i, c := range s.waiting {
		if !c.returned {
			calls = append(calls, i)
		}
	}
	return calls
}

// state tells apart all that can happen from here on and all that has been answered.
func (s *schedule) state() uint64 {
	h := mix(s.slots(), s.rest())
	for _, c := range s.waiting {
		h = mix(h, c.history)
		for _, j := range c.after {
			h = mix(h, uint64(j))
		}
	}
	return h
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd1342543de82ef95)
	return hi ^ lo + 0x94d049bb133111eb
}

// explore runs every order of the steps of a trial's calls, but for those that come to a
// state that was reached before, and those in which a call that could go on is interrupted
// more often than `most` times. It returns the number of states.
func explore(begin func() trial, most int) int {
	seen := map[uint64]bool{}
	for todo := []steps{{last: -1}}; len(todo) > 0; {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s := newSchedule(begin())
		for _, i := range r.order {
			s.step(i)
		}
		for state := r.state(s, most); !seen[state]; state = r.state(s, most) {
			seen[state] = true
			ready := s.ready()
			if len(ready) == 0 {
				s.check(s)
				break
			}
			from := r
			r.interrupted = most + 1
			for _, i := range ready {
				next := steps{append(slices.Clone(from.order), i), i, from.interrupted}
				if i != from.last && slices.Contains(ready, from.last) {
					next.interrupted++
				}
				if next.interrupted < r.interrupted {
					r, next = next, r
				}
				if next.interrupted <= most {
					todo = append(todo, next)
				}
			}
			s.step(r.last)
		}
		s.finish()
	}
	return len(seen)
}

// steps are the calls that have done the steps so far.
type steps struct {
	order       []int
	last        int
	interrupted int
}

func (r steps) state(s *schedule, most int) uint64 {
	if most == always {
		return s.state()
	}
	return mix(s.state(), uint64(r.last)<<32|uint64(r.interrupted))
}

// always is more interruptions than there are steps.
const always = 1000
