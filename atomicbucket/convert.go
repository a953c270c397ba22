package atomicbucket

// Convert returns the word in `to` that stands for word in p: the same rule or another one, at the same or a later
// epoch. It is pure. It returns 0 for a bucket that is full at to's epoch, which may be dropped.
//
// A later epoch alone shifts the word by an integer: nothing is rounded. Under another rule the whole tokens are
// kept, at most the new capacity, and the fraction of a token is not; they are counted at to's epoch, or, if the
// bucket is empty even then, at the first instant at which it no longer owes anything. So a client that is being
// refused gains nothing.
func (p *Params) Convert(word uint64, to *Params) uint64 {
	if uint64(p.idleAfter(word)) <= uint64(to.epoch-p.epoch) {
		return 0 // and from here on p.V(to.epoch) < word + C, which is below 2^63
	}
	v := p.V(to.epoch)
	if p.sameRule(to) {
		return word - (v - to.V(to.epoch))
	}
	if word > v {
		empty := later(to.epoch, p.wait(to.epoch, word-v))
		return to.V(min(empty, to.horizon))
	}
	tokens := min((v-word)/p.unit, uint64(to.capacity))
	if tokens == uint64(to.capacity) {
		return 0
	}
	return to.full + 1 - tokens*to.unit
}

func (p *Params) sameRule(to *Params) bool {
	return p.capacity == to.capacity && p.num == to.num && p.den == to.den && p.unit == to.unit
}
