package atomicbucket

import (
	"math/bits"
	"testing"
)

// play reads calls from ops, makes them on a word and on its twin, and compares all they say.
func play(t testing.TB, capacity, tokens, per, epoch int64, ops []byte) {
	p := compile(t, capacity, tokens, per)
	p = p.Rebase(epoch)
	x := &pair{t: t, p: p, twin: newTwin(capacity, tokens, per, epoch)}
	now := epoch
	for len(ops) >= 3 {
		op, size, when := ops[0], ops[1], ops[2]
		ops = ops[3:]
		n := part(x.p.capacity, size)
		_, retryAfter, resetAfter := x.p.Outcome(x.word, now, n)
		switch when % 8 { // how far time goes on
		case 0, 1:
		case 2:
			now = later(now, 1)
		case 3:
			now = later(now, max(retryAfter-1, 0))
		case 4:
			now = later(now, retryAfter)
		case 5:
			now = later(now, part(max(resetAfter, 1), size^when))
		case 6:
			now = later(now, resetAfter)
		case 7:
			now = later(now, int64(size)<<(when/8))
		}
		if now > x.p.horizon {
			x.move(now)
		}
		late := now - part(now-x.p.epoch+1, when) + 1
		switch op % 8 {
		case 0, 1, 2, 3:
			x.take(now, n)
		case 4:
			x.take(late, n)
		case 5:
			x.refund(now, n)
		case 6:
			x.move(late)
		case 7:
			s := spread[int(size)%len(spread)]
			x.change(late, s.capacity, s.tokens, s.per)
		}
	}
}

// part returns a share of most, from 1 to most: small ones up to size 63, then 64ths, then near all.
func part(most int64, size byte) int64 {
	if size < 64 {
		return min(most, int64(size)+1)
	}
	hi, lo := bits.Mul64(uint64(most), uint64(size-63))
	share, _ := bits.Div64(hi, lo, 192)
	return max(1, int64(share))
}

func TestTwin(t *testing.T) {
	r := random(t)
	for range 400 {
		capacity, tokens, per := anyRule(r)
		ops := make([]byte, 3*40)
		for i := range ops {
			ops[i] = byte(r.Uint32())
		}
		epoch := int64(r.Uint64()) >> r.IntN(64)
		play(t, capacity, tokens, per, epoch, ops)
	}
}

func FuzzTwin(f *testing.F) {
	f.Fuzz(func(t *testing.T, capacity, tokens, per, epoch int64, ops []byte) {
		if check(capacity, tokens, per) != nil || len(ops) > 300 {
			return
		}
		play(t, capacity, tokens, per, epoch, ops)
	})
}
