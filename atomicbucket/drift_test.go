package atomicbucket

import (
	"testing"
)

// A bucket that is never left to spill is emptied for a year, at odd instants and on one epoch after another. In the
// end it has granted what was due, to the token: nothing was lost on the way, nor won.
func TestNeverDrifts(t *testing.T) {
	r := random(t)
	for _, rule := range []struct{ capacity, tokens, per int64 }{
		{10_000, 100, minute},
		{100_000, 10, 13 * second / 10},
		{1e6, 60, second},
		{1e9, 65_535, second},
		{1e13, 3e9, second},
		{100, 1, day},
		{1e13, 1_000_000_001, second},
		{5e12, 999_999_937, second},
		{1e9, 999_999_937, day},
		{7e8, 7e8 + 1, MaxTimeToFull - 1},
	} {
		p := compile(t, rule.capacity, rule.tokens, rule.per)
		start := r.Int64N(1e18)
		p = p.Rebase(start)
		word, _ := p.Take(0, start, rule.capacity)
		granted, now, epochs := rule.capacity, start, 1
		for now-start < year {
			_, retryAfter, resetAfter := p.Outcome(word, now, 1)
			if now += retryAfter; r.IntN(3) > 0 {
				now += r.Int64N(min(resetAfter-retryAfter, day))
			}
			if now > p.horizon {
				to := p.Rebase(now)
				word, p, epochs = p.Convert(word, &to), to, epochs+1
			}
			n, _, _ := p.Outcome(word, now, 0)
			next, ok := p.Take(word, now, n)
			if !ok {
				t.Fatalf("%+v: %d tokens left at %d are refused", rule, n, now)
			}
			word, granted = next, granted+n
		}
		due := floor(newTwin(rule.capacity, rule.tokens, rule.per, start).level(now)).Int64()
		if granted != due && (p.den == 1 || granted != due+1) {
			t.Errorf("(I2) %+v: %d tokens in a year and %d epochs, %d were due", rule, granted, epochs, due)
		}
	}
}
