// Package compare plays one bursty hour's worth of trouble to all four algorithms, in virtual time, and draws what each
// lets through.
package compare

import (
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

const (
	// Limit is the limit that each algorithm enforces: so many requests in a Window.
	Limit  = 100
	Window = time.Minute
	// Span is how long the workload lasts.
	Span = 4 * time.Minute
)

// phases is the workload: requests a second, evenly spaced, until a time. A client is idle, then makes a burst that spans the edge of
// a minute, then asks steadily for more than its limit, then pauses and bursts again.
var phases = []struct {
	until     time.Duration
	perSecond int
}{
	{50 * time.Second, 0},
	{70 * time.Second, 20},
	{150 * time.Second, 4},
	{200 * time.Second, 0},
	{210 * time.Second, 20},
	{Span, 4},
}

// arrivals returns the instants, from 0, of the workload's requests.
func arrivals() (at []time.Duration) {
	var now time.Duration
	for _, p := range phases {
		if p.perSecond == 0 {
			now = p.until
			continue
		}
		for ; now < p.until; now += time.Second / time.Duration(p.perSecond) {
			at = append(at, now)
		}
	}
	return at
}

// Result is what one algorithm let through.
type Result struct {
	Algorithm ratelimit.Algorithm
	Admitted  []time.Duration // the instants of the requests that passed
	Offered   int             // requests made
}

// Run plays the workload to every algorithm, each with the limit of Limit a Window.
func Run() ([]Result, error) {
	var results []Result
	for _, a := range []ratelimit.Algorithm{
		ratelimit.TokenBucket, ratelimit.SlidingWindowCounter, ratelimit.SlidingWindowLog, ratelimit.FixedWindow,
	} {
		var clock limittest.ManualClock
		limiter, err := ratelimit.New(ratelimit.Rule{Algorithm: a, Capacity: Limit, Refill: ratelimit.Rate{Tokens: Limit, Per: Window}},
			ratelimit.Config{Clock: &clock})
		if err != nil {
			return nil, err
		}
		result := Result{Algorithm: a}
		for _, at := range arrivals() {
			clock.Set(int64(at))
			result.Offered++
			if limiter.TryAcquire("client") {
				result.Admitted = append(result.Admitted, at)
			}
		}
		results = append(results, result)
	}
	return results, nil
}

// Most returns the largest number of requests that passed within any time of that length.
func (r *Result) Most(within time.Duration) int {
	most, first := 0, 0
	for i, at := range r.Admitted {
		for at-r.Admitted[first] >= within {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Per counts the requests that passed in each step of time.
func (r *Result) Per(step time.Duration) []int {
	counts := make([]int, int(Span/step))
	for _, at := range r.Admitted {
		counts[int(at/step)]++
	}
	return counts
}

// Title says in words what the algorithm is.
func (r *Result) Title() string {
	return map[ratelimit.Algorithm]string{
		ratelimit.TokenBucket:          "token bucket",
		ratelimit.SlidingWindowCounter: "sliding counter",
		ratelimit.SlidingWindowLog:     "sliding log",
		ratelimit.FixedWindow:          "fixed window",
	}[r.Algorithm]
}
