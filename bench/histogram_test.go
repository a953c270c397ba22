package bench

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHistogramBuckets(t *testing.T) {
	for _, ns := range []int64{0, 1, 63, 64, 65, 127, 128, 129, 1000, 1_000_003, 1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
		bucket := bucketOf(ns)
		assert.Less(t, bucket, len(histogram{}.counts), "%d", ns)
		assert.GreaterOrEqual(t, upper(bucket), ns, "%d is in its bucket", ns)
		assert.LessOrEqual(t, float64(upper(bucket)-ns), float64(ns)/32, "the bucket of %d is narrow", ns)
		if bucket > 0 {
			assert.Less(t, upper(bucket-1), ns, "%d is not in the bucket before", ns)
		}
	}
	assert.Zero(t, bucketOf(-5))
}

func TestHistogramQuantiles(t *testing.T) {
	var h histogram
	var all []int64
	for i := range int64(100_000) {
		ns := i * i % 1_000_003
		h.add(ns)
		all = append(all, ns)
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.5, 0.99, 0.999} {
		exact := all[int(q*float64(len(all)))]
		assert.InDelta(t, exact, h.quantile(q), float64(exact)/32+1, "quantile %v", q)
	}
	assert.Equal(t, slices.Max(all), h.quantile(1))
}
