package shard

import (
	"errors"
	"fmt"
	"math/bits"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/atomicbucket"
)

// only64 skips a test of what holds on 64-bit machines.
func only64(t *testing.T) {
	if bits.UintSize != 64 {
		t.Skip("of 64-bit machines")
	}
}

func TestWhatMustInline(t *testing.T) {
	only64(t)
	says := func(dir string, lines ...string) {
		out, err := exec.Command("go", "build", "-gcflags=-m", dir).CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip(err)
		}
		require.NoError(t, err, "%s", out)
		for _, line := range lines {
			require.True(t, regexp.MustCompile(line).Match(out), "the compiler doesn't say %q", line)
		}
	}
	says(".", `can inline Live`, `can inline \(\*bank\)\.home`, `can inline \(\*bank\)\.at`)
	says("..", `inlining call to shard\.\(\*times\)\.At`, `inlining call to shard\.Live`)
}

// A call reads the first line of a table, and what the step reads of the params in the next ones.
func TestTableLayout(t *testing.T) {
	only64(t)
	var table Table[atomicbucket.Params]
	require.Equal(t, uintptr(64), unsafe.Offsetof(table.Params))
	require.Less(t, unsafe.Offsetof(table.mark), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(table), uintptr(256))
	require.Equal(t, uintptr(placeBytes), unsafe.Sizeof(slot{}))
	require.Equal(t, uintptr(16), unsafe.Sizeof(bank{}))
}

func TestKnownKeysAllocateNothing(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		c.Params = tokens{capacity: 1 << 40, unit: 1}
		m := New(c)
		keys := []string{"", "short", "client-0000000000001", "0b6ed7cd-5ef8-4f1f-9a4e-4e1f7b9f2d11", strings.Repeat("long", 30)}
		for i := range 500 {
			take(m, fmt.Sprint("other", i), 0, 1<<30)
		}
		for _, key := range keys {
			take(m, key, 0, 1<<30)
			require.Zero(t, testing.AllocsPerRun(100, func() {
				take(m, key, 0, 1)
				taken(m, key, 0)
				giveBack(m, key, 0, 1)
				m.Prefetch(hashOf(m, key), len(key))
				m.PrefetchAll([]uint64{hashOf(m, key)}, []string{key})
			}), "%q", key)
		}
		// Nor while their tables are moving.
		m.walk(&m.top, func(tb *Table[tokens]) bool {
			m.settle(tb)
			m.succeed(tb, 0, load{}, false)
			return false
		})
		n := 0
		require.Zero(t, testing.AllocsPerRun(100, func() {
			take(m, fmt.Sprint("other", n)[:6], 0, 1)
			take(m, keys[2], 0, 1)
			n++
		})-testing.AllocsPerRun(100, func() { _ = fmt.Sprint("other", n)[:6] }))
	})
}

// K is the most slots that one call looks through, moves, clears and allocates: it surveys and moves one table, makes two,
// and copies a directory (four entries counting as one slot).
const K = 5 * maxSlots

func TestWorkOfACallIsBounded(t *testing.T) {
	most, work := 0, 0
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1 << 40}, work: func(n int) { work += n }})
	call := func(key string, want Verdict) {
		work = 0
		require.Equal(t, want, take(m, key, 0, 1))
		most = max(most, work)
	}
	const n = 200_000
	for i := range n {
		call(fmt.Sprintf("client-%d", i), Applied)
		call(fmt.Sprintf("client-%d-%034d", i, i), Applied)
	}
	for i := range n {
		call(fmt.Sprintf("client-%d", i), Applied)
	}
	require.Equal(t, 2*n, m.Len())
	require.LessOrEqual(t, most, K)
	require.Greater(t, most, maxSlots, "no table was moved")
	// The largest directory there can be.
	require.LessOrEqual(t, 1<<maxDepth/4, maxSlots)

	// At MaxKeys a call searches besides, four times at most.
	for _, o := range []Overflow{EvictNearestFull, DenyNewKeys} {
		most = 0
		c := Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1 << 40}, MaxKeys: 20_000, Overflow: o, work: func(n int) { work += n }}
		m = New(c)
		for i := range 60_000 {
			want := Applied
			if i >= c.MaxKeys && o == DenyNewKeys {
				want = Denied
			}
			call(fmt.Sprintf("client-%d", i), want)
		}
		require.LessOrEqual(t, most, K+4*searched)
	}
}

func TestNewKeysAllocateLittle(t *testing.T) {
	const n = 100_000
	for _, most := range []int{0, 10_000} { // at MaxKeys each evicts another
		m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1 << 40}, MaxKeys: most})
		keys := keysOf(most+n, 20)
		for _, key := range keys[:most] {
			take(m, key, 0, 1)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, key := range keys[most:] {
			take(m, key, 0, 1)
		}
		runtime.ReadMemStats(&after)
		s := m.Stats()
		require.Equal(t, uint64(most+n), s.Created)
		require.LessOrEqual(t, float64(after.Mallocs-before.Mallocs)/n, 0.01)
		require.LessOrEqual(t, s.Bytes/int64(s.Keys), int64(84))
	}
}
