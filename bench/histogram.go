package bench

import "math/bits"

// histogram counts durations in ns: exact below 64, then 32 buckets to each doubling, so that a bucket is at most 1/32
// of its value wide. It is 15 KB, and counting is a few instructions.
type histogram struct {
	counts [60 * 32]uint64
	total  uint64
	max    int64
}

func (h *histogram) add(ns int64) {
	h.counts[bucketOf(ns)]++
	h.total++
	h.max = max(h.max, ns)
}

// bucketOf returns the bucket of a duration; of a negative one, the first.
func bucketOf(ns int64) int {
	if ns < 64 {
		return int(max(ns, 0))
	}
	doublings := bits.Len64(uint64(ns)) - 6 // at least 1
	return doublings*32 + int(uint64(ns)>>doublings)
}

// upper returns the longest duration of a bucket.
func upper(bucket int) int64 {
	if bucket < 64 {
		return int64(bucket)
	}
	doublings := bucket/32 - 1
	return (int64(bucket-doublings*32)+1)<<doublings - 1
}

// quantile returns a duration that the share q of all were not longer than; at most 1/32 too long.
func (h *histogram) quantile(q float64) int64 {
	rank := uint64(q * float64(h.total))
	seen := uint64(0)
	for bucket, n := range h.counts {
		if seen += n; seen > rank {
			return min(upper(bucket), h.max)
		}
	}
	return h.max
}
