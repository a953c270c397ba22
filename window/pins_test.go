package window

import (
	"errors"
	"math/bits"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the hot path relies on: the fixed window's step, and the parts of the counter's, are
// inlined where they are called.
func TestInlining(t *testing.T) {
	if bits.UintSize < 64 {
		t.Skip("products of 128 bits are calls here")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	require.NoError(t, err, "%s", out)
	for _, method := range []string{
		"(*FixedParams).Take",
		"(*FixedParams).Refund",
		"(*FixedParams).CountsAt",
		"(*CounterParams).roll",
		"(*CounterParams).fits",
		"(*CounterParams).CountsAt",
	} {
		if !strings.Contains(string(out), "can inline "+method) {
			t.Errorf("%s isn't inlined any more", method)
		}
	}
}

func TestAllocations(t *testing.T) {
	f, c := mustFixed(t, 1000, second), mustCounter(t, 1000, second)
	var fixed Fixed
	var counter Counter
	now := int64(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		now += second / 20
		fixed.Take(f, now, 70)
		fixed.Refund(f, 1, now)
		fixed.Outcome(f, now, 70)
		counter.Take(c, now, 70)
		counter.Refund(c, 1, now)
		counter.Outcome(c, now, 70)
	}))
	word, _ := f.Take(0, now, 1)
	toFixed := f.Rebase(now)
	counted, _ := c.Take(0, now, 1)
	toCounter := c.Rebase(now)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		f.Convert(word, &toFixed)
		c.Convert(counted, &toCounter)
	}))
}
