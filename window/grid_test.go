package window

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// floorDiv returns floor(a/b) exactly, b > 0.
func floorDiv(a, b int64) *big.Int {
	q, _ := new(big.Int).DivMod(big.NewInt(a), big.NewInt(b), new(big.Int)) // Euclid's: floor for b > 0
	return q
}

// Every instant's number, the horizon and the way back, for epochs and windows at the
// ends of their ranges, against integers without end.
func TestGrid(t *testing.T) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, -MaxWindow, -61, -60, -1, 0, 1, 59, 60, MaxWindow, math.MaxInt64 - 1, math.MaxInt64}
	for _, window := range []int64{1, 2, 60, second, MaxWindow - 1, MaxWindow} {
		for _, width := range []int{2, 12, 61} {
			for _, epoch := range ends {
				g := newGrid(window, width)
				g.rebase(epoch)
				require.GreaterOrEqual(t, g.last, uint64(3))
				base := new(big.Int).Sub(floorDiv(epoch, window), big.NewInt(1))

				end := new(big.Int).SetUint64(g.last + 1)
				end.Add(end, base).Mul(end, big.NewInt(window)).Sub(end, big.NewInt(1))
				if end.IsInt64() {
					require.Equal(t, end.Int64(), g.Horizon(), "window %d, width %d, epoch %d", window, width, epoch)
				} else {
					require.Equal(t, int64(math.MaxInt64), g.Horizon(), "window %d, width %d, epoch %d", window, width, epoch)
				}

				for _, at := range append(ends, g.Horizon()) {
					number := new(big.Int).Sub(floorDiv(at, window), base)
					got := new(big.Int).SetUint64(g.offset(at) / g.window)
					switch {
					case number.Sign() < 0:
						require.Equal(t, uint64(outside), g.offset(at))
					case number.Cmp(new(big.Int).SetUint64(g.last)) > 0:
						require.Greater(t, got.Uint64(), g.last)
					default:
						require.Zero(t, number.Cmp(got), "window %d, epoch %d, at %d", window, epoch, at)
						require.Equal(t, at, g.instant(g.offset(at)))
					}
				}
			}
		}
	}
}

func TestGridSaturates(t *testing.T) {
	g := newGrid(MaxWindow, 61)
	g.rebase(math.MinInt64)
	require.Equal(t, int64(math.MinInt64), g.instant(0), "window 0 starts before the first instant")
	g.rebase(math.MaxInt64)
	require.Equal(t, int64(math.MaxInt64), g.instant(math.MaxUint64))
	require.Equal(t, int64(math.MaxInt64), g.Horizon())
	require.Equal(t, int64(math.MaxInt64), saturate(math.MaxUint64))
}
