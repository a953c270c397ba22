package compare_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/compare"
)

// What the picture shows is what the README says of the algorithms.
func TestEachAlgorithmKeepsItsPromise(t *testing.T) {
	results, err := compare.Run()
	require.NoError(t, err)
	most := map[ratelimit.Algorithm]int{}
	for _, r := range results {
		most[r.Algorithm] = r.Most(compare.Window)
	}
	assert.Equal(t, 2*compare.Limit, most[ratelimit.FixedWindow], "twice the limit, across an edge")
	assert.Equal(t, compare.Limit, most[ratelimit.SlidingWindowLog], "exactly the limit")
	assert.Greater(t, most[ratelimit.TokenBucket], compare.Limit, "capacity + rate * window at most")
	assert.LessOrEqual(t, most[ratelimit.TokenBucket], 2*compare.Limit)
	assert.Greater(t, most[ratelimit.SlidingWindowCounter], compare.Limit, "an estimate: the burst came late in its window")
	assert.Less(t, most[ratelimit.SlidingWindowCounter], 2*compare.Limit)
}

func TestTheReadmesPictureIsThis(t *testing.T) {
	results, err := compare.Run()
	require.NoError(t, err)
	file := t.TempDir() + "/algorithms.svg"
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, compare.SVG(f, results))
	require.NoError(t, f.Close())
	drawn, err := os.ReadFile(file)
	require.NoError(t, err)
	kept, err := os.ReadFile("../../../docs/algorithms.svg")
	require.NoError(t, err)
	assert.True(t, string(kept) == string(drawn), "docs/algorithms.svg differs: go run ./cmd/ratelimit compare --svg docs/algorithms.svg")
}

func TestMost(t *testing.T) {
	r := compare.Result{Admitted: []time.Duration{0, 1, 2, time.Second, time.Second + 1}}
	assert.Equal(t, 3, r.Most(time.Second), "a second is half open")
	assert.Equal(t, 5, r.Most(time.Minute))
}
