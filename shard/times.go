package shard

import (
	"math"
	"sync/atomic"
	"time"
)

// Horizon is the last instant (ns) that a map counts at: in the year 2257, if instants are Unix time. Later ones are
// taken for the last instant of the key's table, and move nothing on.
const Horizon = math.MaxInt64 - 1<<57

const markStep = int64(time.Millisecond)

// times is what a table knows of the time. It has no parameter, because methods that have one don't inline elsewhere.
type times struct {
	mark    atomic.Int64 // the newest instant seen, to within a markStep; never below the floor
	horizon int64        // the last instant of the words; at most Horizon
}

// At returns the instant at which a call at now counts in the table: never before the floor, nor before the mark by
// which others have told that time went on. ok is false if it is beyond what the table's words can say: Update moves
// them on. Load the word first, because a mark loaded before the word can be older than what the word was charged at.
func (t *times) At(now int64) (at int64, ok bool) {
	if uint64(now-t.mark.Load()) >= uint64(markStep) {
		now = t.slowAt(now)
	}
	return now, now != beyond
}

// beyond is no instant: floors are later.
const beyond = math.MinInt64

//go:noinline
func (t *times) slowAt(now int64) int64 {
	switch mark := t.mark.Load(); {
	case now <= mark:
		return mark
	case now > Horizon:
		return t.horizon
	case now > t.horizon:
		return beyond
	}
	t.raise(now)
	return now
}

// raise lifts the mark to now, but leaves At a whole step below the horizon.
func (t *times) raise(now int64) {
	now = min(now, t.horizon-markStep)
	for {
		mark := t.mark.Load()
		if mark >= now || t.mark.CompareAndSwap(mark, now) {
			return
		}
	}
}

// instant returns when to judge idleness in the table.
func (t *times) instant(now int64) int64 {
	mark := t.mark.Load()
	if now > Horizon {
		return mark
	}
	return max(now, mark)
}
