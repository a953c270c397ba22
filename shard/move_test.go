package shard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func grown(t *testing.T, n int) *Map[tokens] {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}, limits: limits{slots: 48, depth: 5, patience: 64}})
	for i := range n {
		require.Equal(t, Applied, take(m, fmt.Sprint("key", i), 0, 1+int64(i%10)))
	}
	return m
}

func check(t *testing.T, m *Map[tokens], n int) {
	t.Helper()
	for i := range n {
		require.Equal(t, 1+int64(i%10), taken(m, fmt.Sprint("key", i), 0), "key%d", i)
	}
	require.Len(t, validate(t, m), n)
}

// pair returns two neighbours that show in the directory.
func pair(t *testing.T, m *Map[tokens]) (a, b *Table[tokens]) {
	d := m.top.dir.Load()
	for i := range d.entries {
		a, b = d.entries[i].Load(), d.entries[i^1].Load()
		if i&1 == 0 && a != b && a.depth == d.depth && b.depth == d.depth && a.under == nil && b.under == nil && a.next.Load() == nil && b.next.Load() == nil {
			return a, b
		}
	}
	t.Fatal("no pair")
	return
}

// mergeHalf begins to merge a and b, as merge does; but b has gone another way before it could join.
func mergeHalf(t *testing.T, m *Map[tokens], a, b *Table[tokens]) *successor[tokens] {
	m.settle(a)
	m.settle(b)
	c := m.legacy(0, a, b)
	c.depth--
	c.path &^= 1 << (63 - c.depth)
	c.room = a.close()
	for i, n := range b.close() {
		c.room[i] += n
	}
	for _, half := range m.survey(a, c.floor).half {
		c.load.add(half)
	}
	s := &successor[tokens]{}
	s.a = m.make(c, s, a, b)
	require.True(t, a.next.CompareAndSwap(nil, s))
	m.move(b, 0)
	require.NotSame(t, s, b.next.Load())
	m.settle(s.a)
	return s
}

// A merge of which one half goes another way leaves a table that shows in half of its place. Nothing is lost, and it is
// not merged further.
func TestMergeThatOneHalfDoesNotJoin(t *testing.T) {
	for _, left := range []bool{true, false} {
		m := grown(t, 100)
		a, b := pair(t, m)
		if !left {
			a, b = b, a
		}
		s := mergeHalf(t, m, a, b)
		check(t, m, 100)
		require.False(t, m.top.dir.Load().shows(s.a))
		require.False(t, m.unite(s.a, 0))
		for i := range 1000 { // it grows and splits as any other
			take(m, fmt.Sprint("more", i), 0, 1)
		}
		for i := range 100 {
			require.Equal(t, 1+int64(i%10), taken(m, fmt.Sprint("key", i), 0))
		}
		validate(t, m)
		m.SetParams(tokens{capacity: 10, unit: 1001}, 0)
		m.walk(&m.top, func(tb *Table[tokens]) bool {
			require.Equal(t, uint64(1), tb.rule.gen)
			return false
		})
		m.Sweep(1e6)
		require.Empty(t, validate(t, m))
	}
}

// A move that was begun and left is finished by whoever comes: by calls slot by slot, by creators in the way, by sweeps.
func TestMovesLeftToOthers(t *testing.T) {
	m := grown(t, 100)
	for range 3 {
		m.walk(&m.top, func(tb *Table[tokens]) bool {
			m.settle(tb)
			m.succeed(tb, 0, load{}, false)
			return false
		})
	}
	for i := range 100 {
		key := fmt.Sprint("key", i)
		require.Equal(t, 1+int64(i%10), taken(m, key, 0))
		if i%10 < 9 {
			require.Equal(t, Applied, take(m, key, 0, 1))
			require.Equal(t, Applied, giveBack(m, key, 0, 1))
		}
	}
	for i := 100; i < 300; i++ {
		require.Equal(t, Applied, take(m, fmt.Sprint("key", i), 0, 1+int64(i%10)))
	}
	check(t, m, 300)
}

// The directory grows and shrinks with the map; entries that show what was moved long ago are put right in passing.
func TestStaleDirectory(t *testing.T) {
	m := grown(t, 30)
	stale := m.top.dir.Load()
	for i := 30; i < 400; i++ {
		require.Equal(t, Applied, take(m, fmt.Sprint("key", i), 0, 1+int64(i%10)))
	}
	require.Greater(t, m.top.dir.Load().depth, stale.depth)
	m.top.dir.Store(stale)
	check(t, m, 400)
	require.Equal(t, Applied, take(m, "key1", 0, 1))
	require.Greater(t, m.top.dir.Load().depth, stale.depth)
}

// A split that shows while the directory is being halved keeps both its halves.
func TestSplitWhileTheDirectoryIsHalved(t *testing.T) {
	m := grown(t, 100)
	d := m.top.dir.Load()
	require.Less(t, d.depth, m.limits.depth)
	m.deepen(&m.top, d) // as it is after merges
	d = m.top.dir.Load()
	require.True(t, d.paired())
	i := 0
	for d.entries[i].Load().depth != d.depth-1 {
		i += 2
	}
	tb := d.entries[i].Load()
	m.settle(tb)
	require.True(t, m.succeed(tb, 0, load{keys: [2]int{small: 30}}, false))
	m.finish(tb)
	require.Same(t, d, m.top.dir.Load())
	require.NotSame(t, d.entries[i].Load(), d.entries[i+1].Load(), "the split shows")
	if half := d.half(); half != nil {
		m.top.dir.Store(half)
	}
	check(t, m, 100)
}

// meddler is the tests' kernel with something that happens once in the middle of a move: before the next word is carried.
type meddler struct {
	bucket
	then func()
}

func (k *meddler) Convert(word uint64, from, to *tokens) uint64 {
	if then := k.then; then != nil {
		k.then = nil
		then()
	}
	return k.bucket.Convert(word, from, to)
}

// below returns a map with all its keys in one table of a keyed space, and the stem of that.
func below(t *testing.T, k Kernel[tokens]) (*Map[tokens], *Table[tokens]) {
	m := New(Config[tokens]{Kernel: k, Params: tokens{capacity: 10, unit: 1000}})
	for i := range 5 {
		require.Equal(t, Applied, take(m, fmt.Sprint("key", i), 0, 9))
	}
	tb := m.top.dir.Load().at(0).Load()
	m.settle(tb)
	require.True(t, m.succeed(tb, 0, load{}, true))
	m.finish(tb)
	stem := m.top.dir.Load().at(0).Load()
	require.NotNil(t, stem.under)
	return m, stem
}

// A space that is given up while SetParams is in it leaves its keys in a table above, made under the old rule. They are
// not passed over.
func TestSetParamsWhileASpaceIsGivenUp(t *testing.T) {
	less := tokens{capacity: 3, unit: 1000}
	check := func(m *Map[tokens]) {
		tb := m.top.dir.Load().at(0).Load()
		require.Nil(t, tb.under)
		require.Equal(t, uint64(1), tb.rule.gen)
		for i := range 5 {
			require.Equal(t, int64(2), taken(m, fmt.Sprint("key", i), 0), "one of ten was left, and is of three")
		}
		validate(t, m)
	}
	k := &meddler{}
	m, stem := below(t, k)
	k.then = func() { m.SetParams(less, 0) }
	m.surface(stem.under.dir.Load().at(0).Load(), 0)
	require.Nil(t, k.then)
	check(m)

	// Whoever moved the last table up has not come to tell the stem.
	m, stem = below(t, bucket{})
	m.surface(stem.under.dir.Load().at(0).Load(), 0)
	require.True(t, stem.done.Load())
	m.top.dir.Load().at(0).Store(stem)
	stem.done.Store(false)
	stem.next.Store(nil)
	m.SetParams(less, 0)
	check(m)
}

// A first table that was made under an old rule does not come after SetParams has returned.
func TestSetParamsBeforeTheFirstTable(t *testing.T) {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}})
	s := m.first(0) // a call has come so far
	m.SetParams(tokens{capacity: 1, unit: 1000}, 0)
	m.top.plant(s)
	require.Equal(t, Declined, take(m, "k", 0, 2))
	require.Equal(t, Applied, take(m, "k", 0, 1))
	validate(t, m)
}

// A slot of which only ctrl was written yet belongs to whoever writes the next word. See decide for why a look must do
// so in a table that moves.
func TestSlotHalfWritten(t *testing.T) {
	const ours, theirs = "first   same end", "other   same end"
	half := func(m *Map[tokens]) (*Table[tokens], *slot) {
		take(m, "x", 0, 1)
		id := identify(ours, hashOf(m, ours))
		tb := m.enter(&id)
		b := &tb.banks[small]
		p := b.start(id.hash)
		for b.at(p.place).ctrl.Load() != empty {
			p.advance(b)
		}
		s := b.at(p.place)
		require.True(t, tb.claim(small))
		s.ctrl.Store(id.ctrl)
		return tb, s
	}
	c := Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}, dull: ^uint64(0), limits: limits{slots: 48, depth: 5, patience: 64}}

	m := New(c)
	_, s := half(m)
	require.Zero(t, taken(m, ours, 0))
	require.Zero(t, s.w0.Load(), "a look leaves it alone")
	require.Equal(t, Applied, take(m, theirs, 0, 3))
	require.NotZero(t, s.w0.Load())
	require.Equal(t, Applied, take(m, ours, 0, 4))
	require.Equal(t, []int64{3, 4}, []int64{taken(m, theirs, 0), taken(m, ours, 0)})
	validate(t, m)

	m = New(c)
	tb, s := half(m)
	m.settle(tb)
	m.succeed(tb, 0, load{}, false)
	require.Zero(t, taken(m, ours, 0))
	require.NotZero(t, s.w0.Load(), "in a table that moves a look decides")
	require.Equal(t, Applied, take(m, theirs, 0, 3))
	require.Equal(t, Applied, take(m, ours, 0, 4))
	require.Equal(t, []int64{3, 4}, []int64{taken(m, theirs, 0), taken(m, ours, 0)})
	validate(t, m)
}
