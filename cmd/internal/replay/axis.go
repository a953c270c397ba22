package replay

import "time"

// maxBuckets bounds the number of buckets that time is counted in.
const maxBuckets = 240

// widths are the widths that a bucket may have, in seconds; each divides the next.
var widths = [...]int64{1, 5, 15, 60, 5 * 60, 15 * 60, 3600, 3 * 3600, 6 * 3600, 86400, 7 * 86400, 28 * 86400, 364 * 86400, 3640 * 86400}

// axis is the time that a log spans, in buckets. When there are too many of them they become wider.
type axis struct {
	start int64 // s; of bucket 0, a multiple of the width
	width int   // index in widths
	used  int   // buckets
	all   []*series
}

// series is a count per bucket.
type series []uint32

// newSeries returns a series that follows the axis.
func (a *axis) newSeries() *series {
	s := new(series)
	a.all = append(a.all, s)
	return s
}

// at returns the bucket of the instant ns. Instants don't go back.
func (a *axis) at(ns int64) int {
	s := ns / int64(time.Second)
	if a.used == 0 {
		a.start = floor(s, widths[a.width])
	}
	i := (s - a.start) / widths[a.width]
	for i >= maxBuckets && a.width < len(widths)-1 {
		a.widen()
		i = (s - a.start) / widths[a.width]
	}
	i = min(max(i, 0), maxBuckets-1)
	a.used = max(a.used, int(i)+1)
	return int(i)
}

// widen gives the buckets the next width.
func (a *axis) widen() {
	old := widths[a.width]
	a.width++
	width := widths[a.width]
	start := floor(a.start, width)
	moved := func(i int) int { return int((a.start + int64(i)*old - start) / width) }
	for _, s := range a.all {
		for i, n := range *s {
			(*s)[i] = 0
			(*s)[moved(i)] += n // never behind i
		}
		if len(*s) > 0 {
			*s = (*s)[:moved(len(*s)-1)+1]
		}
	}
	a.used = moved(a.used-1) + 1
	a.start = start
}

func floor(s, width int64) int64 {
	m := s % width
	if m < 0 {
		m += width
	}
	return s - m
}

func (s *series) add(bucket int) {
	for len(*s) <= bucket {
		*s = append(*s, 0)
	}
	(*s)[bucket]++
}

// full returns the counts of n buckets.
func (s *series) full(n int) []uint32 {
	all := make([]uint32, n)
	if s != nil {
		copy(all, *s)
	}
	return all
}
