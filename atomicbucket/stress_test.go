package atomicbucket

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// hammer lets 16 goroutines take from one bucket, and give back every other time. It returns the tokens granted less
// those given back.
func hammer(t *testing.T, b *Bucket, p *Params, now func() int64) int64 {
	var net, lost atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for g := range 16 {
		take, calls := b.Take, 50_000
		if g%2 == 1 {
			take, calls = yielding(b, &lost), 5_000
		}
		wg.Go(func() {
			<-start
			for i := range calls {
				n := int64(1 + (g+i)%3)
				if take(p, now(), n) {
					net.Add(n)
					if i%2 == 0 {
						b.Refund(p, n)
						net.Add(-n)
					}
				}
			}
		})
	}
	close(start)
	wg.Wait()
	t.Logf("%d granted, %d CASs lost", net.Load(), lost.Load())
	if lost.Load() == 0 {
		t.Error("no contention was seen: this run shows nothing")
	}
	return net.Load()
}

// yielding returns b.Take with room for others between load and CAS, on one core too. It counts the CASs it loses.
func yielding(b *Bucket, lost *atomic.Int64) func(p *Params, now, n int64) bool {
	return func(p *Params, now, n int64) bool {
		for {
			old := b.word.Load()
			next, ok := p.Take(old, now, n)
			runtime.Gosched()
			if !ok || b.word.CompareAndSwap(old, next) {
				return ok
			}
			lost.Add(1)
		}
	}
}

func TestStressAtOneInstant(t *testing.T) {
	const capacity = 420_000 // all calls together want a little more
	for _, tokens := range []int64{100, 1_000_000_007} {
		p := compile(t, capacity, tokens, second)
		p = p.Rebase(-7)
		var b Bucket
		granted := hammer(t, &b, &p, func() int64 { return 12345 })
		for b.Take(&p, 12345, 1) {
			granted++
		}
		if granted != capacity {
			t.Errorf("(I1) %d a second: %d tokens at one instant", tokens, granted)
		}
	}
}

func TestStressWhileTimeMoves(t *testing.T) {
	for _, rule := range []struct{ capacity, tokens, per int64 }{{100, 3, 7}, {100, 1_000_000_007, second}} {
		p := compile(t, rule.capacity, rule.tokens, rule.per)
		var b Bucket
		var clock atomic.Int64
		granted := hammer(t, &b, &p, func() int64 {
			now := clock.Add(1)
			return max(0, now-now%5*20) // many come late
		})
		due := floor(newTwin(rule.capacity, rule.tokens, rule.per, 0).level(clock.Load())).Int64()
		if granted > due || granted <= rule.capacity {
			t.Errorf("(I1) %+v: %d tokens in %d ns, %d were due", rule, granted, clock.Load(), due)
		}
	}
}
