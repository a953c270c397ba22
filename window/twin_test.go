package window

import (
	"math/big"
	"math/bits"
)

// twin is a limiter that is obviously right: what each window of the clock admitted, by the
// window's number, and the estimate as an exact fraction. It knows no word and no epoch, and
// what it is asked about the future it finds by trying instants.
type twin struct {
	sliding          bool // a sliding-window counter, or a fixed window
	capacity, window int64
	admitted         map[int64]int64
	newest           int64 // the newest window in admitted, if there is any
}

// at returns the window that a call counts in and the instant it counts at: a call from before
// the newest window counts at that one's start.
func (w *twin) at(now int64) (number, at int64) {
	number = floorDiv(now, w.window).Int64()
	if len(w.admitted) > 0 && number < w.newest {
		return w.newest, w.newest * w.window
	}
	return number, now
}

// used returns what counts against the capacity at now.
func (w *twin) used(now int64) *big.Rat {
	number, at := w.at(now)
	used := new(big.Rat).SetInt64(w.admitted[number])
	if previous := w.admitted[number-1]; w.sliding && previous > 0 {
		left := big.NewRat((number+1)*w.window-at, w.window)
		used.Add(used, left.Mul(left, new(big.Rat).SetInt64(previous)))
	}
	return used
}

func (w *twin) fits(now, n int64) bool {
	return new(big.Rat).Sub(new(big.Rat).SetInt64(w.capacity-n), w.used(now)).Sign() >= 0
}

func (w *twin) take(now, n int64) bool {
	if !w.fits(now, n) {
		return false
	}
	w.newest, _ = w.at(now)
	w.admitted[w.newest] += n
	return true
}

func (w *twin) refund(n, at int64) {
	number := floorDiv(at, w.window).Int64()
	if number == w.newest || w.sliding && number == w.newest-1 {
		w.admitted[number] -= min(n, w.admitted[number])
	}
}

func (w *twin) outcome(now, n int64) (remaining, retryAfter, resetAfter int64) {
	left := new(big.Rat).Sub(new(big.Rat).SetInt64(w.capacity), w.used(now))
	remaining = max(0, new(big.Int).Quo(left.Num(), left.Denom()).Int64())
	retryAfter = Never
	if n <= w.capacity {
		retryAfter = w.wait(now, func(at int64) bool { return w.fits(at, n) })
	}
	resetAfter = w.wait(now, func(at int64) bool { return w.used(at).Sign() == 0 })
	return remaining, retryAfter, resetAfter
}

// wait returns the ns from now until ok, which once true stays true and is true when two
// windows have gone.
func (w *twin) wait(now int64, ok func(at int64) bool) int64 {
	_, at := w.at(now)
	no, yes := int64(-1), at-now+2*w.window
	for no+1 < yes {
		if middle := no + (yes-no)/2; ok(now + middle) {
			yes = middle
		} else {
			no = middle
		}
	}
	return yes
}

// convert moves to another rule at floor. What is idle by then is forgotten; a window that begins later isn't.
func (w *twin) convert(floor, capacity, window int64) {
	old := *w
	w.capacity, w.window, w.admitted = capacity, window, map[int64]int64{}
	used := old.used(floor)
	number, at := old.at(floor)
	if used.Sign() == 0 && at == floor {
		return
	}
	current, previous := old.admitted[number], old.admitted[number-1]
	if window != old.window {
		up := new(big.Int).Add(used.Num(), new(big.Int).Sub(used.Denom(), big.NewInt(1)))
		current, previous = up.Quo(up, used.Denom()).Int64(), 0
	}
	w.newest = floorDiv(at, window).Int64()
	w.admitted[w.newest] = min(current, w.most())
	w.admitted[w.newest-1] = min(previous, w.most())
}

// most is the largest count that the rule's word has bits for.
func (w *twin) most() int64 {
	if w.sliding {
		return int64(1)<<max(bits.Len64(uint64(w.capacity)), keptCounter) - 1
	}
	return int64(1)<<max(bits.Len64(uint64(w.capacity)), keptFixed) - 1
}
