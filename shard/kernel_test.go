package shard

import "math"

// tokens is the rule of the tests' kernel, a token bucket: one token per unit ns. A word is V(stamp) - tokens*unit,
// where V(t) = capacity*unit + 1 + t - epoch.
type tokens struct{ capacity, unit, epoch int64 }

func (r *tokens) v(now int64) int64 { return r.capacity*r.unit + 1 + now - r.epoch }

func (r *tokens) take(word uint64, now, n int64) (uint64, bool) {
	v := r.v(now)
	next := max(int64(word), v-r.capacity*r.unit) + n*r.unit
	return uint64(next), next <= v
}

type bucket struct{}

func (bucket) Rebase(r *tokens, floor int64) tokens { return tokens{r.capacity, r.unit, floor} }

func (bucket) Horizon(r *tokens) int64 {
	if h := r.epoch + 1<<61 - r.capacity*r.unit; h > r.epoch {
		return h
	}
	return math.MaxInt64
}

func (bucket) IdleAt(r *tokens, word uint64) int64 { return int64(word) - 1 + r.epoch }

func (bucket) Limited(r *tokens, word uint64, at int64) bool {
	_, ok := r.take(word, at, 1)
	return !ok
}

func (bucket) Convert(word uint64, from, to *tokens) uint64 {
	if from.capacity == to.capacity && from.unit == to.unit {
		return word - uint64(to.epoch-from.epoch)
	}
	at := min(max(to.epoch, int64(word)-from.v(0)), bucket{}.Horizon(to)) // where it owes nothing
	n := max(0, min((from.v(at)-int64(word))/from.unit, to.capacity))
	if n == to.capacity {
		return 0
	}
	return uint64(to.v(at) - n*to.unit)
}
