package window

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// logRun is a log of one key beside its twin.
type logRun struct {
	draws
	t      testing.TB
	twin   *logTwin
	log    Log
	params LogParams
	word   uint64
	now    int64
	taken  int64 // when the last request counted
	floor  int64 // no call is older
}

func newLogRun(t testing.TB, d draws) *logRun {
	r := &logRun{draws: d, t: t}
	capacity := 1 + d.below(pick(d, 1, 3, 10, 40, 1000, MaxLogCapacity))
	window := pick(d, 1, 2, 7, 60, 1000, second, minute, 86400*second, MaxWindow/10)
	r.twin = newLogTwin(capacity, window, 0)
	r.params = r.log.Adopt(r.compile(capacity, window))
	r.now = d.below(6*window) - 3*window
	r.floor = math.MinInt64
	return r
}

func (r *logRun) compile(capacity, window int64) LogParams {
	p, err := CompileLog(capacity, capacity, window)
	require.NoError(r.t, err)
	return p
}

func (r *logRun) step() {
	switch window := min(r.twin.window, 1<<58); r.below(8) {
	case 0:
		r.now += r.below(3)
	case 1, 2:
		r.now += r.below(window)
	case 3:
		r.now += r.below(1 + window/pick(r, 3, 10, 50))
	case 4:
		r.now += r.below(4 * window)
	case 5:
		r.now -= r.below(3 * window)
	}
	r.now = min(max(r.now, r.floor, -1<<60), 1<<60)
	n := 1 + r.below(pick(r, 1, min(r.twin.capacity, 3), r.twin.capacity))
	if ring := r.log.ring(r.word); ring != nil && r.below(4) == 0 {
		ring.hint.Store(uint64(r.below(math.MaxInt64))) // it may say anything
	}

	switch op := r.below(32); {
	case op < 24:
		r.take(n)
	case op < 28:
		at := pick(r, r.now, r.taken, r.taken-r.twin.window, r.taken+1)
		if r.word != 0 {
			require.Equal(r.t, LogAllowed, r.log.Refund(&r.params, r.word, n, at))
			r.twin.refund(n, at)
		}
	case op == 28:
		r.retire()
	case op == 29: // release
		r.log.Release(&r.params, r.word)
		require.True(r.t, r.log.Retire(&r.params, r.word, r.now))
		r.forget()
	case op > 29:
		r.convert()
	}
	r.check(n)
}

func (r *logRun) take(n int64) {
	if r.word == 0 {
		r.word = r.log.New(&r.params, r.now, n)
		require.Equal(r.t, r.twin.outcome(r.now, n), r.params.Fresh(r.now, n))
		require.True(r.t, r.twin.take(r.now, n))
		r.taken = r.now
		return
	}
	want := r.twin.outcome(r.now, n)
	ok := r.twin.take(r.now, n)
	if r.below(2) == 0 {
		require.Equal(r.t, ok, r.log.Try(&r.params, r.word, r.now, n) == LogAllowed, "try %d at %d", n, r.now)
	} else {
		o, verdict := r.log.Take(&r.params, r.word, r.now, n)
		require.Equal(r.t, ok, verdict == LogAllowed, "take %d at %d", n, r.now)
		require.Equal(r.t, want, o, "take %d at %d", n, r.now)
	}
	if ok {
		r.taken = want.At
	}
}

func (r *logRun) retire() {
	idle := r.twin.used(r.twin.units(r.now)) == 0 && r.twin.outcome(r.now, 0).At == r.now
	require.Equal(r.t, idle || r.word == 0, r.log.Retire(&r.params, r.word, r.now))
	if idle {
		r.forget()
	}
}

// forget starts anew; later calls are not older than the state that was dropped.
func (r *logRun) forget() {
	r.twin = newLogTwin(r.twin.capacity, r.twin.window, r.twin.widest)
	r.word, r.floor = 0, r.now
}

func (r *logRun) convert() {
	capacity := 1 + r.below(min(2*r.twin.capacity, MaxLogCapacity))
	window := r.twin.window
	if r.below(2) == 0 {
		window = pick(r, 1+window/3, 1+window/2, 2*min(window, MaxWindow/2), 100*min(window, MaxWindow/100))
	}
	p := r.compile(capacity, window)
	to := r.log.Adopt(p)
	to = r.log.Rebase(&to, r.now)
	r.twin = r.twin.convert(r.now, capacity, window, r.known())
	if r.word != 0 {
		require.Equal(r.t, r.word, r.log.Convert(r.word, &r.params, &to))
		o, _ := r.log.Peek(&r.params, r.word, r.now, 1)
		require.Equal(r.t, r.twin.outcome(r.now, 1), o, "a call that found the last rule is under the new one (L8)")
		require.Equal(r.t, r.word, r.log.Convert(r.word, &r.params, &to), "once more changes nothing")
	}
	r.params, r.floor = to, r.now
}

// known returns how many entries the ring still has the tokens of.
func (r *logRun) known() (n int) {
	ring := r.log.ring(r.word)
	if ring == nil {
		return 0
	}
	v := ring.look(&r.params, r.now)
	for i := range ring.mask() {
		older, newer := ring.load((v.head()+i)&ring.mask()), ring.load((v.head()+i+1)&ring.mask())
		if (newer-older)&r.params.totals != 0 {
			n++
		}
	}
	return n
}

// check compares all that the word tells at now with the twin.
func (r *logRun) check(n int64) {
	if r.word == 0 {
		return
	}
	want := r.twin.outcome(r.now, n)
	got, verdict := r.log.Peek(&r.params, r.word, r.now, n)
	require.Equal(r.t, want, got, "peek %d at %d", n, r.now)
	require.Equal(r.t, want.RetryAfter == 0, verdict == LogAllowed)
	if retry := want.RetryAfter; retry > 0 && retry != Never {
		_, verdict = r.log.Peek(&r.params, r.word, want.At+retry-1, n)
		require.Equal(r.t, LogRefused, verdict, "refused one ns before retryAfter (L1)")
		_, verdict = r.log.Peek(&r.params, r.word, want.At+retry, n)
		require.Equal(r.t, LogAllowed, verdict, "allowed at retryAfter (L1)")
	}
	want = r.twin.outcome(r.now, 0)
	got, _ = r.log.Peek(&r.params, r.word, r.now, 0)
	require.Equal(r.t, want, got, "peek at %d", r.now)
	require.Equal(r.t, want.Remaining == 0, r.log.Limited(&r.params, r.word, r.now))
	if want.ResetAfter > 0 {
		require.Equal(r.t, want.At+want.ResetAfter, r.log.IdleAt(&r.params, r.word))
	} else {
		require.LessOrEqual(r.t, r.log.IdleAt(&r.params, r.word), want.At)
	}
	require.LessOrEqual(r.t, r.log.ring(r.word).log2, uint8(20))
}

func TestLogAgainstTwin(t *testing.T) {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-window.seed=%d", s)
	d := random{rand.New(rand.NewPCG(s, 0))}
	for range 300 {
		r := newLogRun(t, d)
		for range 200 {
			r.step()
		}
	}
}

func FuzzLog(f *testing.F) {
	for i := range byte(8) {
		in := make([]byte, 300)
		for j := range in {
			in[j] = byte(j) * (2*i + 37)
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		left := fuzzed(in)
		r := newLogRun(t, &left)
		for steps := 0; len(left) > 0 && steps < 200; steps++ {
			r.step()
		}
	})
}
