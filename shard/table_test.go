package shard

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatACallCountsAt(t *testing.T) {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 5, unit: 10}})
	require.Equal(t, Applied, take(m, "k", 1e9, 1))
	table := m.top.dir.Load().at(0).Load()
	at := func(now int64) int64 {
		at, ok := table.At(now)
		require.True(t, ok)
		return at
	}
	require.Equal(t, int64(1e9), table.floor)
	require.Equal(t, int64(1e9), at(math.MinInt64), "a late call counts at the floor")
	require.Equal(t, int64(1e9+999_999), at(1e9+999_999))
	require.Equal(t, int64(1e9), table.mark.Load(), "the mark is not written within a millisecond")
	require.Equal(t, int64(1e9+1e6), at(1e9+1e6))
	require.Equal(t, int64(1e9+1e6), at(1e9+5), "a late call counts at the mark")
	require.Equal(t, int64(3e9), at(3e9))
	require.Equal(t, int64(3e9), at(2e9))

	// The last instants of the table, and what lies beyond them.
	last := table.horizon
	require.Equal(t, last-1, at(last-1))
	require.Equal(t, last-markStep, table.mark.Load(), "the mark leaves room for a step")
	require.Equal(t, last, at(last))
	_, ok := table.At(last + 1)
	require.False(t, ok)
	for _, now := range []int64{Horizon + 1, math.MaxInt64} {
		require.Equal(t, last, at(now))
	}
}

func TestFarAwayTimesMoveNothing(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		m := New(c)
		require.Equal(t, Applied, take(m, "far", math.MaxInt64, 1))
		require.Equal(t, Applied, take(m, "k", 1e9, 10))
		require.Equal(t, Applied, take(m, "far", math.MaxInt64-5, 1))
		require.Equal(t, Applied, take(m, "new", Horizon+1, 10))
		require.Equal(t, Declined, take(m, "k", 1e9+999, 1))
		require.Equal(t, Applied, take(m, "k", 1e9+1000, 1), "the clock of the others goes on")
		m.Sweep(math.MaxInt64)
		m.SetParams(m.rule.Load().params, math.MaxInt64)
		require.Equal(t, Declined, take(m, "k", 1e9+1999, 1))
		require.Equal(t, Applied, take(m, "k", 1e9+2000, 1))
		validate(t, m)
	})
}

// Beyond a table's horizon its keys go on, exactly, in one of a later epoch.
func TestLaterEpochs(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		c.Params = tokens{capacity: 1 << 16, unit: 1 << 41}
		m := New(c)
		now := int64(-1 << 62)
		require.Equal(t, Applied, take(m, "k", now, 1<<16))
		for now < Horizon-1<<60 {
			now += 1 << 56
			// Half of it has come back; then everything is taken again.
			lacks := int64(1<<16 - (1<<56)/(1<<41))
			require.Equal(t, lacks, taken(m, "k", now))
			require.Equal(t, Applied, take(m, "k", now, 1<<16-lacks))
			require.Equal(t, Declined, take(m, "k", now, 1))
		}
		require.Equal(t, 1, m.Len())
		validate(t, m)
	})
}

// So they do if the table is being moved already, and whoever does it is asleep.
func TestLaterEpochOfATableThatMoves(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		c.Params.unit = 1 << 40
		m := New(c)
		require.Equal(t, Applied, take(m, "k", 0, 10))
		tb := m.top.dir.Load().at(0).Load()
		now := tb.horizon + 1
		m.settle(tb)
		require.True(t, m.succeed(tb, now, load{}, false))
		require.Equal(t, Applied, take(m, "k", now, 10))
		require.Equal(t, Declined, take(m, "k", now, 1))
		validate(t, m)
	})
}

// Near Horizon a floor can't follow the calls: keys idle by then, but not at the floor, are carried, and want their room.
func TestNewKeysInTheLastMillisecond(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		c.Params.unit = 10
		moved := 0
		c.work = func(n int) {
			if moved += n; moved > 1e6 {
				panic("a call that ends never")
			}
		}
		m := New(c)
		for i := range 40 { // as many as fill tables, sooner or later; idle 20 ns before Horizon
			require.Equal(t, Applied, take(m, fmt.Sprint("old", i), Horizon-50, 3))
			require.Equal(t, Applied, take(m, fmt.Sprint("new", i), Horizon, 3))
		}
		validate(t, m)
	})
}

func TestSetParamsAppliesFromNowOn(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		m := New(c)
		require.Equal(t, Applied, take(m, "empty", 0, 10))
		require.Equal(t, Applied, take(m, "full", 0, 1))
		require.Equal(t, Applied, take(m, "half", 0, 7))
		m.SetParams(tokens{capacity: 20, unit: 10}, 2000) // a hundred times as fast, twice as large
		require.Equal(t, int64(18), taken(m, "empty", 2000), "two tokens came before")
		require.Equal(t, int64(0), taken(m, "full", 2000), "who is full is full")
		require.Equal(t, int64(15), taken(m, "half", 2000))
		require.Equal(t, int64(17), taken(m, "empty", 2010))
		m.SetParams(tokens{capacity: 4, unit: 1000}, 2010)
		require.Equal(t, int64(1), taken(m, "empty", 2010))
		require.Zero(t, taken(m, "half", 2010), "more than the capacity is full")
		validate(t, m)
	})
}
