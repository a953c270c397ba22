package window

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// payloadBits is what the map leaves of a word: bits 63 and 62 are its own.
const payloadBits = 62

// MaxWindow is the longest window: a hundred years of 365.25 days.
const MaxWindow = 36525 * 24 * time.Hour

// lengthOf returns the window of a rule in ns: the time that tokens per `per` ns
// takes to give capacity. The errors name the field, its value and the bound.
func lengthOf(capacity, tokens, per, maxCapacity int64) (int64, error) {
	if capacity < 1 || capacity > maxCapacity {
		return 0, fmt.Errorf("window: Capacity: %d: must be 1 to %d", capacity, maxCapacity)
	}
	if tokens < 1 || per < 1 {
		return 0, refillError(capacity, tokens, per, errors.New("both must be positive"))
	}
	hi, lo := bits.Mul64(uint64(capacity), uint64(per))
	if hi == 0 && lo < uint64(tokens) {
		return 0, refillError(capacity, tokens, per, errors.New("the window must be at least 1ns"))
	}
	if hi >= uint64(tokens) {
		return 0, refillError(capacity, tokens, per, errTooLong)
	}
	window, rest := bits.Div64(hi, lo, uint64(tokens))
	if window > uint64(MaxWindow) {
		return 0, refillError(capacity, tokens, per, errTooLong)
	}
	if rest != 0 {
		return 0, refillError(capacity, tokens, per, errors.New("the window must be a whole number of ns"))
	}
	return int64(window), nil
}

var errTooLong = fmt.Errorf("the window must be at most %v", MaxWindow)

func refillError(capacity, tokens, per int64, bound error) error {
	return fmt.Errorf("window: Refill: %d per %v, Capacity %d: %w", tokens, time.Duration(per), capacity, bound)
}

// A grid is the clock cut into windows that start at its multiples, counted
// from a table's epoch: the window that the epoch lies in is number 1, so that
// a used word is never 0 and number 0 is always past.
//
// Offsets are ns since the start of window 0, as uint64. They span all 64 bits,
// so no difference of two int64 instants is ever taken as a signed one.
type grid struct {
	window uint64 // ns
	origin uint64 // the instant at which window 0 starts, modulo 2^64
	last   uint64 // the greatest number that fits
	lead   uint64 // the epoch's offset: 1 to 2 windows
	epoch  int64
}

// newGrid returns the grid of a window of that many ns, with epoch 0, whose
// numbers fit width bits. Two windows after the last one still fit an offset.
func newGrid(window int64, width int) grid {
	g := grid{window: uint64(window)}
	g.last = min(1<<width-1, math.MaxUint64/g.window-2)
	g.rebase(0)
	return g
}

func (g *grid) rebase(epoch int64) {
	g.epoch = epoch
	into := epoch % int64(g.window)
	if into < 0 {
		into += int64(g.window)
	}
	g.lead = g.window + uint64(into)
	g.origin = uint64(epoch) - g.lead
}

// Horizon returns the last instant, in ns, whose window's number fits a word.
func (g *grid) Horizon() int64 {
	return g.instant((g.last+1)*g.window - 1)
}

// offset returns the offset of any instant: 0 for one before window 0, the
// greatest for one that is too far away.
func (g *grid) offset(at int64) uint64 {
	if at < g.epoch {
		before := uint64(g.epoch) - uint64(at)
		return g.lead - min(before, g.lead)
	}
	after := uint64(at) - uint64(g.epoch)
	if after > math.MaxUint64-g.lead {
		return math.MaxUint64
	}
	return g.lead + after
}

// instant is offset's inverse; it saturates.
func (g *grid) instant(offset uint64) int64 {
	if offset < g.lead {
		before := g.lead - offset
		if before > uint64(g.epoch)-uint64(1<<63) {
			return math.MinInt64
		}
		return int64(uint64(g.epoch) - before)
	}
	after := offset - g.lead
	if after > math.MaxInt64-uint64(g.epoch) {
		return math.MaxInt64
	}
	return int64(uint64(g.epoch) + after)
}

// clampNS returns ns as an int64; a wait beyond 292 years is told as that.
func clampNS(ns uint64) int64 {
	return int64(min(ns, math.MaxInt64))
}
