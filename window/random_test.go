package window

import (
	"encoding/binary"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var seed = flag.Uint64("window.seed", 0, "seed of the random operations; 0: another one each time")

// draws are the choices of a run: random ones, or a fuzzer's.
type draws interface{ below(n int64) int64 }

type random struct{ *rand.Rand }

func (r random) below(n int64) int64 { return r.Int64N(n) }

type fuzzed []byte

func (f *fuzzed) below(n int64) int64 {
	var b [8]byte
	width := 8
	if n <= 1<<8 {
		width = 1
	}
	*f = (*f)[copy(b[:width], *f):]
	return int64(binary.LittleEndian.Uint64(b[:]) % uint64(n))
}

func pick(d draws, from ...int64) int64 { return from[d.below(int64(len(from)))] }

// run is a word beside its twin.
type run[P any, K kernel[P]] struct {
	draws
	t           testing.TB
	compile     func(capacity, tokens, per int64) (P, error)
	maxCapacity int64

	twin     twin
	params   P
	word     uint64
	now      int64
	earliest int64 // no call is older: the epoch, or when the word was evicted
	taken    int64 // when the last request counted
}

func newRun[P any, K kernel[P]](t testing.TB, d draws, sliding bool, maxCapacity int64, compile func(capacity, tokens, per int64) (P, error)) *run[P, K] {
	r := &run[P, K]{t: t, draws: d, compile: compile, maxCapacity: maxCapacity}
	r.twin = twin{sliding: sliding, admitted: map[int64]int64{}}
	r.twin.capacity = 1 + d.below(pick(d, 1, 3, 10, 100, 1<<24, maxCapacity))
	r.twin.window = pick(d, 1, 2, 7, 60, 1000, second, minute, 365*86400*second)
	r.twin.capacity = r.fitting(r.twin.capacity, r.twin.window)
	r.now = d.below(6*r.twin.window) - 3*r.twin.window
	r.move()
	return r
}

// fitting returns a capacity that windows of that length may have; see TestAnEpochLasts.
func (r *run[P, K]) fitting(capacity, window int64) int64 {
	if r.twin.sliding && window < ms {
		return min(capacity, 1<<20-1)
	}
	return capacity
}

// move compiles the twin's rule at now and, but for the first time, takes the word there.
func (r *run[P, K]) move() {
	p, err := r.compile(r.twin.capacity, r.twin.capacity, r.twin.window)
	require.NoError(r.t, err)
	to := K(&p).Rebase(r.now)
	if r.word != 0 {
		idle := K(&r.params).IdleAt(r.word) <= r.now
		r.word = K(&r.params).Convert(r.word, &to)
		require.Equal(r.t, idle, r.word == 0, "a word is dropped if it is idle, and only then (I6)")
	}
	r.params, r.earliest = to, r.now
}

func (r *run[P, K]) step() {
	p := K(&r.params)
	switch window := r.twin.window; r.below(6) {
	case 0:
		r.now += r.below(3)
	case 1, 2:
		r.now += r.below(window)
	case 3:
		r.now += r.below(3 * window)
	case 4:
		r.now = max(r.now-r.below(3*window), r.earliest)
	}
	r.now = min(r.now, p.Horizon(), 1<<60)
	n := 1 + r.below(pick(r, min(r.twin.capacity, 3), r.twin.capacity))

	switch op := r.below(16); {
	case op < 11:
		next, ok := p.Take(r.word, r.now, n)
		require.Equal(r.t, r.twin.take(r.now, n), ok, "take %d at %d", n, r.now)
		if ok {
			require.GreaterOrEqual(r.t, p.CountsAt(next, math.MinInt64), p.CountsAt(r.word, math.MinInt64), "a window never gets older (I2)")
			r.word, r.taken = next, p.CountsAt(next, r.now)
		}
	case op < 13:
		if r.word != 0 {
			at := pick(r, r.now, r.taken, r.taken-r.twin.window, r.taken+r.twin.window)
			r.word = p.Refund(r.word, n, at)
			r.twin.refund(n, at)
		}
	case op == 13: // evict
		if r.word != 0 && p.IdleAt(r.word) <= r.now {
			r.word, r.twin.admitted, r.earliest = 0, map[int64]int64{}, r.now
		}
	case op == 14: // a later epoch
		r.twin.convert(r.now, r.twin.capacity, r.twin.window)
		r.move()
	case op == 15: // another rule
		if _, at := r.twin.at(r.now); at > r.now {
			break // word's window may be beyond the new horizon, see TestFixedConvert
		}
		capacity := 1 + r.below(min(2*r.twin.capacity, r.maxCapacity))
		window := r.twin.window
		if r.below(2) == 0 {
			window = pick(r, 1+window/3, 1+window/2, min(2*window, 10*365*86400*second))
		}
		capacity = r.fitting(capacity, window)
		r.twin.convert(r.now, capacity, window)
		r.move()
	}
	r.check(n)
}

// check compares all that word tells at now with the twin.
func (r *run[P, K]) check(n int64) {
	p := K(&r.params)
	require.Less(r.t, r.word, uint64(1)<<payloadBits)
	_, countsAt := r.twin.at(r.now)
	require.Equal(r.t, countsAt, p.CountsAt(r.word, r.now))
	remaining, retryAfter, resetAfter := r.twin.outcome(r.now, n)
	gotRemaining, gotRetry, gotReset := p.Outcome(r.word, r.now, n)
	require.Equal(r.t, []int64{remaining, retryAfter, resetAfter}, []int64{gotRemaining, gotRetry, gotReset},
		"remaining, retryAfter (I5) and resetAfter of %d at %d", n, r.now)
	if retryAfter > 0 && retryAfter <= p.Horizon()-r.now {
		_, ok := p.Take(r.word, r.now+retryAfter-1, n)
		require.False(r.t, ok, "refused one ns before retryAfter (I5)")
		_, ok = p.Take(r.word, r.now+retryAfter, n)
		require.True(r.t, ok, "allowed at retryAfter (I5)")
	}
	if resetAfter > 0 {
		require.Equal(r.t, r.now+resetAfter, p.IdleAt(r.word))
	} else if r.word != 0 {
		require.LessOrEqual(r.t, p.IdleAt(r.word), countsAt)
	}
}

// fixedRun and counterRun are the two kernels' runs.
func fixedRun(t testing.TB, d draws) *run[FixedParams, *FixedParams] {
	return newRun[FixedParams](t, d, false, MaxFixedCapacity, CompileFixed)
}

func counterRun(t testing.TB, d draws) *run[CounterParams, *CounterParams] {
	return newRun[CounterParams](t, d, true, MaxCounterCapacity, CompileCounter)
}

func playRandom[P any, K kernel[P]](t *testing.T, start func(testing.TB, draws) *run[P, K]) {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-window.seed=%d", s)
	d := random{rand.New(rand.NewPCG(s, 0))}
	for range 100 {
		r := start(t, d)
		for range 100 {
			r.step()
		}
	}
}

func TestFixedAgainstTwin(t *testing.T)   { playRandom(t, fixedRun) }
func TestCounterAgainstTwin(t *testing.T) { playRandom(t, counterRun) }

func fuzz[P any, K kernel[P]](f *testing.F, start func(testing.TB, draws) *run[P, K]) {
	for i := range byte(8) {
		in := make([]byte, 200)
		for j := range in {
			in[j] = byte(j) * (2*i + 37)
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		left := fuzzed(in)
		r := start(t, &left)
		for steps := 0; len(left) > 0 && steps < 100; steps++ {
			r.step()
		}
	})
}

func FuzzFixed(f *testing.F)   { fuzz(f, fixedRun) }
func FuzzCounter(f *testing.F) { fuzz(f, counterRun) }
