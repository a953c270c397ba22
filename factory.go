package ratelimit

import (
	"fmt"
	"reflect"
)

// Overflow says what becomes of a new key when MaxKeys are held and none of them is idle.
type Overflow uint8

const (
	// EvictNearestFull drops the key that is nearest to full among a sample, so that a flood of fresh keys evicts itself
	// and not the clients that are being limited. An evicted key starts anew; Stats.EvictedLimited counts where that gave
	// something away.
	EvictNearestFull Overflow = iota
	// DenyNewKeys refuses the new key's request: Remaining 0, RetryAfter the time of one token.
	DenyNewKeys
	// AllowNewKeys allows it and doesn't keep the key.
	AllowNewKeys
)

// Config is what limiters have in common apart from their rules. The zero value is ready to use.
type Config struct {
	// Clock tells the time; nil is SystemClock. It is read once a decision, about 20 ns of it; see NewCoarseClock.
	Clock Clock
	// MaxKeys bounds the keys that one limiter holds, at every instant; idle keys are dropped before the bound matters.
	// 0, the default, is no bound: then a client who can mint keys can grow the memory, by about 50 bytes a key of up to 23
	// bytes, 100 up to 55, and more than its length for a longer one. Peek tells of a new key as if there were room for it.
	MaxKeys int
	// Overflow says what happens to new keys at MaxKeys. The default is EvictNearestFull.
	Overflow Overflow
}

func (c Config) validate() error {
	if isNil(c.Clock) {
		return fmt.Errorf("%w: Clock: a nil %T: leave the field out for SystemClock", ErrInvalidConfig, c.Clock)
	}
	if c.MaxKeys < 0 {
		return fmt.Errorf("%w: MaxKeys: %d: must be at least 0", ErrInvalidConfig, c.MaxKeys)
	}
	if c.Overflow > AllowNewKeys {
		return fmt.Errorf("%w: Overflow: %d: must be EvictNearestFull, DenyNewKeys or AllowNewKeys", ErrInvalidConfig, c.Overflow)
	}
	return nil
}

// isNil reports whether v is nil, or a nil of the kind that its methods would have to be called on.
func isNil(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map:
		return r.IsNil()
	}
	return false
}

// Factory makes limiters from rules, all with one Config.
type Factory struct {
	config Config
}

// NewFactory returns a factory for c. A bad c is reported by Create.
func NewFactory(c Config) *Factory {
	if c.Clock == nil {
		c.Clock = SystemClock()
	}
	return &Factory{config: c}
}

// Create returns a new limiter for r; it is the one place that maps an Algorithm to a type. The error wraps
// ErrInvalidRule or ErrInvalidConfig and names the field, the value and the bound. A limiter needs no closing: drop it.
func (f *Factory) Create(r Rule) (Local, error) {
	if err := f.config.validate(); err != nil {
		return nil, err
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	switch r.Algorithm {
	case TokenBucket:
		return newTokenBucket(r, f.config)
	case FixedWindow:
		return newFixedWindow(r, f.config)
	case SlidingWindowLog:
		return newSlidingLog(r, f.config)
	case SlidingWindowCounter:
		return newSlidingCounter(r, f.config)
	}
	return nil, r.Algorithm.unknown()
}

// New returns a new limiter for r: NewFactory(c).Create(r).
func New(r Rule, c Config) (Local, error) { return NewFactory(c).Create(r) }
