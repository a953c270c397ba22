package window

import (
	"fmt"
	"math"
	"time"
)

// payloadBits is what the map leaves of a word: bits 63 and 62 are its own.
const payloadBits = 62

// A grid is the clock cut into windows at the multiples of their length, numbered
// from a table's epoch: the window that the epoch lies in is number 1. So a used
// word is never 0, and number 0 is past.
//
// Offsets are ns since the start of window 0. They are uint64 and span 64 bits: two
// int64 instants may be further apart than an int64 tells.
type grid struct {
	window uint64 // ns
	origin uint64 // the instant at which window 0 starts, mod 2^64
	lead   uint64 // the epoch's offset: 1 window or more, less than 2
	last   uint64 // the greatest number that fits

	epoch   int64 // the earliest instant that may be asked about
	horizon int64 // the latest
}

// MinEpoch is the least time in ns that an epoch lasts, whenever it begins.
const MinEpoch = 2 * int64(time.Millisecond)

// lasts returns an error for a rule whose counts leave so few bits to the number that an epoch of
// its windows would be over too soon.
func (g *grid) lasts(capacity int64) error {
	if (g.last-1)*g.window >= uint64(MinEpoch) { // the epoch may lie at the end of window 1
		return nil
	}
	return fmt.Errorf("window: Capacity: %d requests: must be fewer in windows of %v, whose numbers would run out within %v",
		capacity, time.Duration(g.window), time.Duration(MinEpoch))
}

// newGrid returns the grid of windows of that many ns at epoch 0. Its numbers fit
// width bits, and two windows after the last one still fit an offset.
func newGrid(window int64, width int) grid {
	g := grid{window: uint64(window)}
	g.last = min(1<<width-1, math.MaxUint64/g.window-2)
	g.rebase(0)
	return g
}

func (g *grid) rebase(epoch int64) {
	into := epoch % int64(g.window)
	if into < 0 {
		into += int64(g.window)
	}
	g.epoch = epoch
	g.lead = g.window + uint64(into)
	g.origin = uint64(epoch) - g.lead
	g.horizon = g.instant((g.last+1)*g.window - 1)
}

// Horizon returns the last instant, in ns, that the epoch's words can tell.
func (g *grid) Horizon() int64 { return g.horizon }

func (g *grid) clamp(now int64) int64 { return min(max(now, g.epoch), g.horizon) }

// outside is the offset of an instant before window 0, or too far behind it. No window
// whose number fits holds it.
const outside = math.MaxUint64

// offset returns the offset of any instant at all.
func (g *grid) offset(at int64) uint64 {
	if at < g.epoch {
		before := uint64(g.epoch) - uint64(at)
		if before > g.lead {
			return outside
		}
		return g.lead - before
	}
	return g.lead + min(uint64(at)-uint64(g.epoch), outside-g.lead)
}

// instant is offset's inverse; it saturates.
func (g *grid) instant(offset uint64) int64 {
	if offset < g.lead {
		before := min(g.lead-offset, uint64(g.epoch)-1<<63)
		return int64(uint64(g.epoch) - before)
	}
	after := min(offset-g.lead, math.MaxInt64-uint64(g.epoch))
	return int64(uint64(g.epoch) + after)
}

// saturate returns a wait as an int64: 292 years and more are told as that.
func saturate(ns uint64) int64 { return int64(min(ns, math.MaxInt64)) }
