package limittest

import (
	"math/big"
	"slices"

	"github.com/casgate/ratelimit"
)

// account is what one key has used. Instants never decrease from call to call, but free and fresh may be asked about
// the future. Tokens are counted in parts, of which perToken make one, so that no fraction is ever rounded.
type account interface {
	perToken() int64
	free(at int64) *big.Int     // parts left at that instant
	fresh(at int64) bool        // as if never seen
	charge(n, at int64)         // takes n tokens, which are there
	refund(n, taken, now int64) // gives back n tokens that were taken at the instant taken
	clone() account
}

// parts returns n tokens in parts.
func parts(n, perToken int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(n), big.NewInt(perToken))
}

// has reports whether n tokens are left.
func has(a account, n, at int64) bool { return a.free(at).Cmp(parts(n, a.perToken())) >= 0 }

// remaining returns the whole tokens left.
func remaining(a account, at int64) int64 {
	return max(0, new(big.Int).Div(a.free(at), big.NewInt(a.perToken())).Int64())
}

// bucketAccount is a token bucket: what was left when it was last touched, and when that was.
type bucketAccount struct {
	rule  ratelimit.Rule
	left  *big.Int
	stamp int64
}

func newBucketAccount(rule ratelimit.Rule) *bucketAccount {
	return &bucketAccount{rule: rule, left: parts(rule.Capacity, int64(rule.Refill.Per))}
}

func (a *bucketAccount) perToken() int64 { return int64(a.rule.Refill.Per) }

func (a *bucketAccount) free(at int64) *big.Int {
	elapsed := new(big.Int).Sub(big.NewInt(max(at, a.stamp)), big.NewInt(a.stamp)) // may be longer than an int64
	refill := elapsed.Mul(elapsed, big.NewInt(a.rule.Refill.Tokens))
	return a.capped(refill.Add(refill, a.left))
}

func (a *bucketAccount) capped(left *big.Int) *big.Int {
	if full := parts(a.rule.Capacity, a.perToken()); left.Cmp(full) > 0 {
		return full
	}
	return left
}

func (a *bucketAccount) fresh(at int64) bool { return has(a, a.rule.Capacity, at) }

func (a *bucketAccount) charge(n, at int64) {
	left := a.free(at)
	a.left, a.stamp = left.Sub(left, parts(n, a.perToken())), at
}

func (a *bucketAccount) refund(n, _, now int64) {
	left := a.free(now)
	a.left, a.stamp = a.capped(left.Add(left, parts(n, a.perToken()))), now
}

func (a *bucketAccount) clone() account { c := *a; return &c }

// fixedAccount is a fixed window: its index, and what was taken in it.
type fixedAccount struct {
	capacity, window int64
	index, count     int64
}

func (a *fixedAccount) perToken() int64 { return 1 }

func (a *fixedAccount) free(at int64) *big.Int {
	if floorDiv(at, a.window) != a.index {
		return big.NewInt(a.capacity)
	}
	return big.NewInt(a.capacity - a.count)
}

func (a *fixedAccount) fresh(at int64) bool { return a.count == 0 || floorDiv(at, a.window) != a.index }

func (a *fixedAccount) charge(n, at int64) {
	if index := floorDiv(at, a.window); index != a.index {
		a.index, a.count = index, 0
	}
	a.count += n
}

func (a *fixedAccount) refund(n, taken, now int64) {
	if floorDiv(taken, a.window) == a.index && floorDiv(now, a.window) == a.index {
		a.count = max(0, a.count-min(n, a.count))
	}
}

func (a *fixedAccount) clone() account { c := *a; return &c }

// logAccount is a sliding log: every request that was admitted and is still in the window, oldest first.
type logAccount struct {
	capacity, window int64
	entries          []logEntry
}

type logEntry struct{ at, n int64 }

func (a *logAccount) perToken() int64 { return 1 }

func (a *logAccount) free(at int64) *big.Int {
	left := a.capacity
	for _, e := range a.entries {
		if e.at > at-a.window {
			left -= e.n
		}
	}
	return big.NewInt(left)
}

func (a *logAccount) fresh(at int64) bool {
	for _, e := range a.entries {
		if e.at > at-a.window && e.n > 0 {
			return false
		}
	}
	return true
}

func (a *logAccount) charge(n, at int64) {
	past := func(e logEntry) bool { return e.at <= at-a.window }
	a.entries = append(slices.DeleteFunc(a.entries, past), logEntry{at, n})
}

func (a *logAccount) refund(n, taken, _ int64) {
	for i := range a.entries {
		if e := &a.entries[i]; e.at == taken {
			back := min(n, e.n)
			e.n -= back
			n -= back
		}
	}
}

func (a *logAccount) clone() account {
	c := *a
	c.entries = slices.Clone(a.entries)
	return &c
}

// counterAccount is a sliding counter: the index of a window, what was taken in it, and in the one before.
type counterAccount struct {
	capacity, window         int64
	index, current, previous int64
}

// counts returns what was taken in the window of the instant at and in the one before.
func (a *counterAccount) counts(at int64) (current, previous int64) {
	switch floorDiv(at, a.window) - a.index {
	case 0:
		return a.current, a.previous
	case 1:
		return 0, a.current
	}
	return 0, 0
}

func (a *counterAccount) perToken() int64 { return a.window }

func (a *counterAccount) free(at int64) *big.Int {
	current, previous := a.counts(at)
	elapsed := at - floorDiv(at, a.window)*a.window
	left := parts(a.capacity-current, a.window)
	return left.Sub(left, parts(previous, a.window-elapsed))
}

func (a *counterAccount) fresh(at int64) bool {
	current, previous := a.counts(at)
	return current == 0 && previous == 0
}

func (a *counterAccount) charge(n, at int64) {
	a.current, a.previous = a.counts(at)
	a.index = floorDiv(at, a.window)
	a.current += n
}

func (a *counterAccount) refund(n, taken, now int64) {
	if floorDiv(taken, a.window) == a.index && floorDiv(now, a.window) == a.index {
		a.current = max(0, a.current-min(n, a.current))
	}
}

func (a *counterAccount) clone() account { c := *a; return &c }

// floorDiv returns a/b rounded down, for a positive b.
func floorDiv(a, b int64) int64 {
	quo := a / b
	if a%b < 0 {
		quo--
	}
	return quo
}
