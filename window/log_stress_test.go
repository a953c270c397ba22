package window

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A logKey is one key of a limiter without its map: a word that comes and goes, and a mark.
type logKey struct {
	Log
	p    LogParams
	word atomic.Uint64 // 0, or what was there with its sign set: not held
	mark atomic.Int64
}

func newLogKey(t testing.TB, capacity, window int64) *logKey {
	p, err := CompileLog(capacity, capacity, window)
	require.NoError(t, err)
	k := &logKey{p: p}
	k.p = k.Adopt(p)
	k.mark.Store(math.MinInt64)
	return k
}

func (k *logKey) take(now, n int64) (LogOutcome, bool) {
	for dead := uint64(0); ; {
		word := k.word.Load()
		at := max(now, k.mark.Load())
		if word == 0 || word>>63 != 0 || word == dead {
			next := k.New(&k.p, at, n)
			if k.word.CompareAndSwap(word, next) {
				return k.p.Fresh(at, n), true
			}
			k.Discard(next)
			continue
		}
		if o, verdict := k.Take(&k.p, word, at, n); verdict <= LogRefused {
			return o, verdict == LogAllowed
		}
		dead = word
	}
}

func (k *logKey) evict(now int64) bool {
	word := k.word.Load()
	if word == 0 || word>>63 != 0 || k.IdleAt(&k.p, word) > now {
		return false
	}
	for mark := k.mark.Load(); mark < now && !k.mark.CompareAndSwap(mark, now); mark = k.mark.Load() {
	}
	return k.Retire(&k.p, word, now) && k.word.CompareAndSwap(word, word|1<<63)
}

// All take until they are refused, some of them two at once, half of them late now and then.
// They are granted the capacity, exactly; the ring grows from 4 slots to 65,536 meanwhile.
func TestLogStressTake(t *testing.T) {
	const capacity = 50_000
	contended := int64(0)
	for round := int64(0); round < 3 || contended == 0 && round < 100; round++ {
		k := newLogKey(t, capacity, second)
		var granted, others atomic.Int64
		together(func(g int) {
			left := int64(capacity)
			for i := int64(0); ; i++ {
				n := 1 + i%2
				o, ok := k.take(round*minute-i%int64(1+g)*ms/100, n)
				if !ok && n == 1 {
					return
				}
				if ok {
					granted.Add(n)
					if left-o.Remaining > n {
						others.Add(1)
					}
					left = o.Remaining
				}
				pause(int(i))
			}
		})
		require.Equal(t, int64(capacity), granted.Load(), "(L1)")
		contended += others.Load()
	}
	t.Logf("%d contended calls", contended)
	require.Positive(t, contended, "no contention was seen")
}

// Time goes on, and others evict the key whenever it is idle. In each window the grants are
// at most the capacity, by the instants that they counted at.
func TestLogStressMovingTime(t *testing.T) {
	const capacity, window = 7, 100
	evicted := int64(0)
	for round := 0; round < 3 || evicted == 0 && round < 100; round++ {
		k := newLogKey(t, capacity, window)
		var clock, evictions atomic.Int64
		var grants [8][]int64
		together(func(g int) {
			for i := range 20_000 {
				switch now := clock.Load(); {
				case g == 0:
					if k.evict(now) {
						evictions.Add(1)
					}
				case i%500 == 0:
					clock.Add(2 * window)
				default:
					n := 1 + int64(i)%3
					if o, ok := k.take(clock.Add(int64(i)%2)-int64(i)%50, n); ok {
						grants[g] = append(grants[g], slices.Repeat([]int64{o.At}, int(n))...)
					}
				}
				pause(i)
			}
		})
		all := slices.Concat(grants[:]...)
		slices.Sort(all)
		for i := capacity; i < len(all); i++ {
			require.GreaterOrEqual(t, all[i]-all[i-capacity], int64(window), "%d in a window (L1)", capacity+1)
		}
		evicted += evictions.Load()
	}
	t.Logf("%d evictions", evicted)
	require.Positive(t, evicted, "no eviction was seen")
}

// All give back what they took. Those who hold a request are never more than the capacity,
// and in the end nothing is counted.
func TestLogStressRefund(t *testing.T) {
	const capacity = 5
	contended := int64(0)
	for round := 0; round < 1 || contended == 0 && round < 100; round++ {
		k := newLogKey(t, capacity, second)
		k.take(0, 1)
		k.Refund(&k.p, k.word.Load(), 1, 0)
		var holders, refused atomic.Int64
		together(func(g int) {
			for i := range 3_000 {
				o, ok := k.take(int64(i), 1)
				if !ok {
					refused.Add(1)
					continue
				}
				if held := holders.Add(1); held > capacity {
					t.Errorf("%d hold a request", held)
				}
				pause(i)
				holders.Add(-1)
				k.Refund(&k.p, k.word.Load(), 1, o.At)
			}
		})
		o, _ := k.Peek(&k.p, k.word.Load(), second/2, 0)
		require.Equal(t, int64(capacity), o.Remaining)
		contended += refused.Load()
	}
	t.Logf("%d refused", contended)
	require.Positive(t, contended, "no contention was seen")
}

// The rule changes to and fro while all take. In the end the larger capacity has been
// granted, exactly.
func TestLogStressRules(t *testing.T) {
	const capacity = 20_000
	k := newLogKey(t, capacity, second)
	k.take(0, 1)
	word := k.word.Load()
	var granted, switched atomic.Int64
	granted.Store(1)
	together(func(g int) {
		if g == 0 {
			p := k.p
			for i := range int64(400) {
				to, _ := CompileLog(capacity/(1+i%2), capacity/(1+i%2), second)
				to = k.Adopt(to)
				k.Convert(word, &p, &to)
				p = to
				pause(100 * int(i))
			}
			return
		}
		for i := range 100_000 {
			switch k.Try(&k.p, word, 0, 1) {
			case LogAllowed:
				granted.Add(1)
			case LogStale:
				switched.Add(1) // a map would tell the newer rule
			}
			pause(i)
		}
	})
	p := k.newest.Load()
	require.LessOrEqual(t, granted.Load(), int64(capacity))
	to := k.Adopt(k.p)
	k.Convert(word, p, &to)
	for k.Try(&to, word, 0, 1) == LogAllowed {
		granted.Add(1)
	}
	require.Equal(t, int64(capacity), granted.Load())
}
