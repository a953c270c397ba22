package atomicbucket

import "testing"

// One rule to another, told in tokens: what is there before, and what is there after, at the new epoch.
func TestConvertToAnotherRule(t *testing.T) {
	for _, c := range []struct {
		name      string
		from, to  [3]int64 // capacity, tokens, per
		take      int64    // from a full bucket, at 0
		at        int64    // the new epoch
		remaining int64
		idle      bool
	}{
		{"whole tokens are kept", [3]int64{10, 1, second}, [3]int64{10, 2, second}, 4, 0, 6, false},
		{"a part of a token is kept, but isn't one", [3]int64{10, 1, second}, [3]int64{10, 2, second}, 4, 1999 * ms, 7, false},
		{"clamped to a smaller capacity: full", [3]int64{10, 1, second}, [3]int64{5, 1, second}, 4, 0, 5, true},
		{"not to a larger one", [3]int64{10, 1, second}, [3]int64{20, 1, second}, 4, 0, 6, false},
		{"full stays full", [3]int64{10, 1, second}, [3]int64{20, 1, second}, 4, 4 * second, 20, true},
		{"almost full doesn't", [3]int64{10, 1, second}, [3]int64{20, 1, second}, 4, 4*second - 1, 9, false},
		{"refused stays refused", [3]int64{10, 1, second}, [3]int64{1000, 1000, second}, 10, 999 * ms, 0, false},
		{"exact to scaled", [3]int64{10, 1, second}, [3]int64{100, 1e9 + 7, second}, 4, 0, 6, false},
		{"scaled to exact", [3]int64{100, 1e9 + 7, second}, [3]int64{10, 1, second}, 96, 2, 6, false},
		{"scaled to scaled", [3]int64{1e9, 1e9 + 7, second}, [3]int64{7e8, 7e8 + 1, MaxTimeToFull - 1}, 1e9, 5, 5, false},
	} {
		from := compile(t, c.from[0], c.from[1], c.from[2])
		to := compile(t, c.to[0], c.to[1], c.to[2])
		to = to.Rebase(c.at)
		word, _ := from.Take(0, 0, c.take)
		next := from.Convert(word, &to)
		remaining, _, resetAfter := to.Outcome(next, c.at, 1)
		if remaining != c.remaining || (resetAfter == 0) != c.idle || (next == 0) != c.idle {
			t.Errorf("%s: %d tokens, full in %d ns, word %d", c.name, remaining, resetAfter, next)
		}
		if from.Convert(word, &to) != next {
			t.Errorf("%s: not pure", c.name)
		}
	}
}

// However often the rule changes, a bucket fills at the rate in force: here 10 a second and 20 in turn, each for 7 ms,
// in which no whole token comes in.
func TestConvertKeepsPartsOfAToken(t *testing.T) {
	p, other := compile(t, 100, 10, second), compile(t, 100, 20, second)
	word, _ := p.Take(0, 0, 100)
	const changes = 400
	for i := range int64(changes) {
		next := other.Rebase((i + 1) * 7 * ms)
		word = p.Convert(word, &next)
		p, other = next, p
	}
	if remaining, _, _ := p.Outcome(word, changes*7*ms, 0); remaining != 15*7*changes/1000 {
		t.Errorf("%d tokens after %d changes, want %d", remaining, changes, 15*7*changes/1000)
	}
}

// A word charged later than the new epoch owes until then, under the new rule too.
func TestConvertCountsAtTheInstantTheWordNames(t *testing.T) {
	from := compile(t, 10, 1, second)
	to := compile(t, 10, 1000, second)
	word, _ := from.Take(0, 5*second, 10) // empty at 5 s
	next := from.Convert(word, &to)       // counted from 0
	for _, c := range []struct{ at, remaining, retryAfter int64 }{
		{0, 0, 5001 * ms},
		{5 * second, 0, ms},
		{5*second + ms, 1, 0},
	} {
		if remaining, retryAfter, _ := to.Outcome(next, c.at, 1); remaining != c.remaining || retryAfter != c.retryAfter {
			t.Errorf("at %d: %d left, retry after %d, want %+v", c.at, remaining, retryAfter, c)
		}
	}
}

// The emptier of two buckets doesn't become the fuller one, and a client that is being refused gains nothing.
func TestConvertIsMonotone(t *testing.T) {
	r := random(t)
	for range 20_000 {
		from := anyParams(t, r)
		to := anyParams(t, r)
		to = to.Rebase(from.epoch + r.Int64N(from.horizon-from.epoch+1))
		a := 1 + r.Uint64N(from.V(from.horizon))
		b := min(a+uint64(magnitude(r, 1<<62)), maxWord)
		ca, cb := from.Convert(a, &to), from.Convert(b, &to)
		if ca > cb || cb > maxWord {
			t.Fatalf("words %d and %d become %d and %d:\n%+v\n%+v", a, b, ca, cb, from, to)
		}
		if _, wait, _ := from.Outcome(a, to.epoch, 1); wait > 0 {
			if _, granted := to.Take(ca, to.epoch, 1); granted {
				t.Fatalf("word %d is refused at %d, its conversion %d isn't:\n%+v\n%+v", a, to.epoch, ca, from, to)
			}
		}
	}
}

// As never used, whatever the rule: what a map writes for a key that was reset.
func TestPayloadOneIsFull(t *testing.T) {
	r := random(t)
	for range 5_000 {
		p := anyParams(t, r)
		for _, word := range []uint64{0, 1} {
			for _, now := range []int64{p.epoch, p.epoch + r.Int64N(p.horizon-p.epoch+1), p.horizon} {
				remaining, retryAfter, resetAfter := p.Outcome(word, now, p.capacity)
				_, granted := p.Take(word, now, p.capacity)
				if remaining != p.capacity || retryAfter != 0 || resetAfter != 0 || !granted || p.IdleAt(word) != p.epoch {
					t.Fatalf("(I6) word %d at %d: %d %d %d %v: %+v", word, now, remaining, retryAfter, resetAfter, granted, p)
				}
			}
			if to := anyParams(t, r); to.epoch >= p.epoch && p.Convert(word, &to) != 0 {
				t.Fatalf("(I6) word %d isn't idle: %+v to %+v", word, p, to)
			}
		}
	}
}
