package atomicbucket

import "testing"

func TestBucket(t *testing.T) {
	p := compile(t, 10, 1, second)
	p = p.Rebase(100 * second)
	now := 100 * second
	var b Bucket
	left := func(want int64) {
		t.Helper()
		if got, _, _ := b.Outcome(&p, now, 0); got != want {
			t.Errorf("%d tokens left, want %d", got, want)
		}
	}
	taken := func(n int64, want bool) {
		t.Helper()
		if b.Take(&p, now, n) != want {
			t.Errorf("Take(%d) = %v", n, !want)
		}
	}

	b.Refund(&p, 3) // never used: stays so
	left(10)
	taken(0, true)
	taken(-1, false)
	taken(11, false)
	taken(1<<55, false) // times the units a token: 0, mod 2^64
	taken(1<<63-1, false)
	if b != (Bucket{}) {
		t.Error("that left a trace")
	}

	taken(10, true)
	taken(1, false)
	b.Refund(&p, 4)
	left(4)
	b.Refund(&p, 0)
	b.Refund(&p, -5)
	left(4)
	b.Refund(&p, 1<<63-1)
	left(10)
	taken(10, true)
	b.Reset()
	left(10)

	taken(10, true)
	now = p.Horizon()
	left(10)
	taken(10, true)
	now = 1<<63 - 1 // beyond: as the horizon
	left(0)
	taken(1, false)
	to := p.Rebase(p.Horizon())
	b.Convert(&p, &to)
	p, now = to, p.Horizon()+5*second
	left(5)
	now = 0 // before the epoch: as the epoch
	left(0)
	b.Reset()
	taken(10, true)
	now = p.epoch
	taken(1, false)
}

// What a refund gives back is there again, and not a token more than fits.
func TestRefundNeverOverfills(t *testing.T) {
	p := compile(t, 10, 1, second)
	word, _ := p.Take(0, 0, 7)
	for _, c := range []struct{ n, now, remaining int64 }{
		{0, 0, 3},
		{2, 0, 5},
		{7, 0, 10},
		{1000, 0, 10},
		{1 << 62, 0, 10},
		{5, 4 * second, 10},
		{-3, 0, 3},
	} {
		next := p.Refund(word, c.n, 0)
		if remaining, _, _ := p.Outcome(next, c.now, 0); remaining != c.remaining || next == 0 {
			t.Errorf("%d given back: %d left at %d, want %d; word %d", c.n, remaining, c.now, c.remaining, next)
		}
	}
}

func TestSnapshot(t *testing.T) {
	p := compile(t, 10, 1, second)
	p = p.Rebase(-second)
	word, _ := p.Take(0, 2*second+300*ms, 8)
	for _, c := range []struct{ now, tokens, stamp int64 }{
		{2*second + 300*ms, 2, 2*second + 300*ms},
		{3 * second, 2, 2*second + 300*ms},
		{3*second + 300*ms, 3, 3*second + 300*ms},
		{4*second + 299*ms, 3, 3*second + 300*ms},
		{100 * second, 10, 10*second + 300*ms}, // since when it is full
		{-second, 0, 300 * ms},                 // late: since when it isn't owing
	} {
		if tokens, stamp := p.Snapshot(word, c.now); tokens != c.tokens || stamp != c.stamp {
			t.Errorf("at %d: %d tokens since %d, want %+v", c.now, tokens, stamp, c)
		}
	}
	if tokens, stamp := p.Snapshot(0, 5*second); tokens != 10 || stamp != -second {
		t.Errorf("never used: %d tokens since %d", tokens, stamp)
	}
}
