package limittest

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	ruleAt        = "the At variants decide as the clock's calls do at that instant"
	ruleFarTimes  = "a time beyond the horizon is clamped: no panic, no other key refused"
	ruleTakeBytes = "TakeBytes is Take, and does not retain the buffer"
	ruleMany      = "TryAcquireMany answers as single calls in order at one instant"
	ruleReset     = "Reset makes a key as if never seen"
	ruleSweep     = "Sweep evicts every idle key, and only idle keys"
	ruleStats     = "Stats tells keys and memory held, keys created, keys evicted"
)

func localAt(e *env) {
	byClock, byAt := e.limiter(e.rule(4, 6*time.Second)), e.limiter(e.rule(4, 6*time.Second))
	l := byAt.local()
	for i := range 40 {
		now := byClock.clock.NanoTime()
		if i%3 == 0 {
			if got, want := l.TryAcquireAt("k", now), byClock.TryAcquire("k"); got != want {
				byClock.broken(ruleAt, "TryAcquireAt(%+v) = %v; TryAcquire then: %v", time.Duration(now-start), got, want)
			}
		} else {
			n := int64(i % 4)
			byClock.expect(ruleAt, "k", n, l.TakeAt("k", n, now), byClock.take("k", n))
		}
		byClock.clock.Advance(time.Duration(i%5) * 400 * time.Millisecond)
	}
}

func localFarTimes(e *env) {
	for _, far := range []int64{math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, 0, -1} {
		p := e.limiter(e.rule(5, 10*time.Second))
		l := p.local()
		p.take("near", 1)
		for _, n := range []int64{1, 0, 5, -1, 6} {
			d := l.TakeAt("far", n, far)
			if d.Remaining < 0 || d.Remaining > 5 || d.ResetAfter < 0 || d.RetryAfter < 0 || d.Allowed == (d.RetryAfter != 0) {
				p.broken(ruleFarTimes, "TakeAt(k, %d, %d): %s", n, far, show(d))
			}
		}
		l.RefundAt("far", 1, far)
		l.Sweep()
		for _, key := range []string{"near", "other"} {
			if d := l.Take(key, 1); !d.Allowed {
				p.broken(ruleFarTimes, "after TakeAt(far, 1, %d), %s: %s", far, p.call(key, 1), show(d))
			}
		}
	}
}

func localTakeBytes(e *env) {
	p := e.limiter(e.rule(2, time.Hour))
	l := p.local()
	keys := []string{"", "a", "a key that lies in the slot", "a key that is longer than any slot, and so is stored in a place of its own, as all such keys"}
	for i := range 50 {
		keys = append(keys, fmt.Sprintf("key-%02d", i), fmt.Sprintf("a key of forty bytes, which ends in %04d", i))
	}
	var buffer []byte
	for _, key := range keys {
		buffer = append(buffer[:0], key...)
		d := p.checked(l.TakeBytes(buffer, 1), key, 1, start)
		if !d.Allowed || d.Remaining != 1 {
			p.broken(ruleTakeBytes, "TakeBytes(%q, 1) of a fresh key: %s", key, show(d))
		}
		for i := range buffer {
			buffer[i] = '#'
		}
	}
	for _, key := range keys {
		if d := p.take(key, 1); !d.Allowed || d.Remaining != 0 {
			p.broken(ruleTakeBytes, "after TakeBytes(%q, 1), whose buffer was written over, %s: %s", key, p.call(key, 1), show(d))
		}
	}
	if l.Len() != len(keys) {
		p.broken(ruleTakeBytes, "%d keys were taken from one buffer: Len() = %d", len(keys), l.Len())
	}
}

func localMany(e *env) {
	batch, single := e.limiter(e.rule(3, 6*time.Second)), e.limiter(e.rule(3, 6*time.Second))
	l := batch.local()
	for size := range 70 {
		var keys []string
		for i := range size {
			keys = append(keys, fmt.Sprintf("client-%d", i*i%(1+size/2))) // some more than once
		}
		got, want := make([]bool, size), make([]bool, size)
		l.TryAcquireMany(keys, got)
		for i, key := range keys {
			want[i] = single.TryAcquire(key)
		}
		if !slices.Equal(got, want) {
			batch.broken(ruleMany, "keys %q:\n\tgot  %v\n\twant %v", keys, got, want)
			return
		}
		batch.clock.Advance(500 * time.Millisecond)
		single.clock.Advance(500 * time.Millisecond)
	}
	defer func() {
		if recover() == nil {
			batch.broken(ruleMany, "it panics unless the lengths agree; with 2 keys and 1 answer it didn't")
		}
	}()
	l.TryAcquireMany([]string{"a", "b"}, make([]bool, 1))
}

func localReset(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	l := p.local()
	l.Reset("unknown")
	p.unseen("Reset of an unknown key")
	for range 3 {
		p.take("k", 5)
		p.take("other", 1)
		l.Reset("k")
		if d := p.take("k", 0); d.Remaining != 5 || d.ResetAfter != 0 {
			p.broken(ruleReset, "after Reset, %s: %s", p.call("k", 0), show(d))
		}
		if l.Len() != 1 {
			p.broken(ruleReset, "two keys were held and one was reset: Len() = %d", l.Len())
		}
	}
	if d := p.take("other", 0); d.Remaining != 2 {
		p.broken(ruleReset, "3 of another key's 5 were taken; after Resets of k, %s: %s", p.call("other", 0), show(d))
	}
}

func localSweep(e *env) {
	p, exact := e.limiter(e.rule(5, 10*time.Second)), newTwin(e.rule(5, 10*time.Second))
	l := p.local()
	take := func(key string, n int64) {
		p.expect(ruleSweep, key, n, p.take(key, n), exact.take(key, n, p.clock.NanoTime()))
	}
	for i := range 100 {
		take(fmt.Sprintf("early-%d", i), 1)
	}
	p.clock.Advance(20 * time.Second)
	for i := range 50 {
		take(fmt.Sprintf("late-%d", i), 1+int64(i%5))
	}
	p.clock.Advance(time.Second)
	l.Sweep() // or it was done before, by a call that met the idle keys
	if l.Len() != 50 {
		p.broken(ruleSweep, "100 of 150 keys were idle; after Sweep, Len() = %d", l.Len())
	}
	if n := l.Sweep(); n != 0 {
		p.broken(ruleSweep, "a second Sweep at the same instant evicts nothing; it says %d", n)
	}
	for i := range 100 {
		take(fmt.Sprintf("early-%d", i), 5)
		take(fmt.Sprintf("late-%d", i%50), 2)
	}
}

func localStats(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	l := p.local()
	for i := range 300 {
		p.take(fmt.Sprintf("client-%d", i%150), 1)
	}
	s := l.Stats()
	if s.Keys != 150 || l.Len() != 150 || s.Created != 150 || s.Evicted != 0 {
		p.broken(ruleStats, "150 keys were taken: %+v, Len() = %d", s, l.Len())
	}
	if s.Bytes < 150*8 {
		p.broken(ruleStats, "150 keys are held in %d bytes", s.Bytes)
	}
	p.clock.Advance(time.Hour)
	l.Sweep()
	s = l.Stats()
	if s.Keys != 0 || s.Created != 150 || s.Evicted != 150 {
		p.broken(ruleStats, "all 150 were idle and swept: %+v", s)
	}
	if s.EvictedLimited != 0 || s.DeniedNew != 0 || s.AllowedUntracked != 0 {
		p.broken(ruleStats, "nothing was given away or denied for want of room: %+v", s)
	}
	if rule := l.Rule(); rule != p.rule {
		p.broken("Rule returns the rule in force", "got %s, want %s", showRule(rule), showRule(p.rule))
	}
}
