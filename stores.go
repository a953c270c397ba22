// How a transaction decides claims on stores: after all local ones, one call for each store.

package ratelimit

// Remote is a Reversible whose state is in a shared store. TakeAll decides all its claims on one store last, in one
// call.
type Remote interface {
	Reversible
	// Store identifies the store: limiters with equal values, which must be comparable, are decided together.
	Store() any
	// TakeGroup takes all the claims, whose limiters are of one store, or none of them, fills each Decision, and Err if
	// the store could not decide, and reports which. When it takes none, the Decision of a claim that would have been admitted tells what its key has left.
	TakeGroup(claims []Claim) bool
}

// takeRemote charges the remote claims, one call for each store.
func (t *transaction) takeRemote() bool {
	for i := range t.claims {
		r, ok := t.claims[i].Limiter.(Remote)
		if !ok || t.sharesStore(r, i) {
			continue
		}
		t.asked = i + 1
		if !t.takeStore(r) {
			t.refuser = i + 1
			return false
		}
	}
	return true
}

// sharesStore reports whether one of the claims before the index end is on the store of r, too.
func (t *transaction) sharesStore(r Remote, end int) bool {
	for i := range end {
		if other, ok := t.claims[i].Limiter.(Remote); ok && other.Store() == r.Store() {
			return true
		}
	}
	return false
}

// decided reports whether claim i was decided: all local ones are.
func (t *transaction) decided(i int) bool {
	r, ok := t.claims[i].Limiter.(Remote)
	return !ok || t.sharesStore(r, t.asked)
}

// takeStore charges all leading claims on the store of r, in one call.
func (t *transaction) takeStore(r Remote) bool {
	var group []Claim
	var members []int
	for i, c := range t.claims {
		if other, ok := c.Limiter.(Remote); ok && other.Store() == r.Store() && t.leader(i) == i {
			group = append(group, Claim{Limiter: c.Limiter, Key: c.Key, N: t.total(i)})
			members = append(members, i)
		}
	}
	taken := r.TakeGroup(group)
	for j, i := range members {
		t.claims[i].Decision, t.claims[i].Err = group[j].Decision, group[j].Err
	}
	return taken
}

// told reports whether l is on the store that refused, which has told what its keys have.
func (t *transaction) told(l Reversible) bool {
	r, ok := l.(Remote)
	return ok && t.refuser > 0 && r.Store() == t.claims[t.refuser-1].Limiter.(Remote).Store()
}

func isRemote(l Reversible) bool {
	_, ok := l.(Remote)
	return ok
}
