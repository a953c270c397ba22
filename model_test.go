package ratelimit_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// account is what one key has used, as the algorithm's definition has it: no words, no tables, no rings.
type account interface {
	instant(now int64) int64            // that a call at now counts at, at the least
	fits(n, at int64) bool              // n more tokens
	fresh(at int64) bool                // as if never seen
	take(n, at int64)                   // n tokens that fit
	refund(n, at int64)                 // n tokens taken at the instant at
	change(to ratelimit.Rule, at int64) // to another rule
}

// bucket is empty at the instant that empty/refill ns have gone, a rational.
type bucket struct {
	rule  ratelimit.Rule
	empty *big.Rat
}

func (b *bucket) ns(tokens int64) *big.Rat {
	return new(big.Rat).Mul(big.NewRat(tokens, 1), big.NewRat(int64(b.rule.Refill.Per), b.rule.Refill.Tokens))
}

func (b *bucket) after(n, at int64) *big.Rat {
	start := new(big.Rat).Sub(big.NewRat(at, 1), b.ns(b.rule.Capacity))
	if b.empty != nil && b.empty.Cmp(start) > 0 {
		start = b.empty
	}
	return new(big.Rat).Add(start, b.ns(n))
}

func (b *bucket) instant(now int64) int64 { return now }
func (b *bucket) fits(n, at int64) bool   { return b.after(n, at).Cmp(big.NewRat(at, 1)) <= 0 }
func (b *bucket) fresh(at int64) bool     { return b.fits(b.rule.Capacity, at) }
func (b *bucket) take(n, at int64)        { b.empty = b.after(n, at) }

func (b *bucket) refund(n, _ int64) {
	if b.empty != nil {
		b.empty = new(big.Rat).Sub(b.empty, b.ns(min(n, b.rule.Capacity)))
	}
}

func (b *bucket) change(to ratelimit.Rule, at int64) {
	full := b.fresh(at)
	tokens := new(big.Rat).Sub(big.NewRat(at, 1), b.after(0, at))
	tokens.Mul(tokens, big.NewRat(b.rule.Refill.Tokens, int64(b.rule.Refill.Per)))
	b.rule = to
	if full {
		b.empty = nil
		return
	}
	g := new(big.Int).GCD(nil, nil, big.NewInt(to.Refill.Tokens), big.NewInt(int64(to.Refill.Per)))
	unit := new(big.Rat).SetInt64(int64(to.Refill.Per) / g.Int64()) // of which a token has so many
	units := tokens.Mul(tokens, unit)
	floor := new(big.Int).Div(units.Num(), units.Denom())
	tokens.Quo(new(big.Rat).SetInt(floor), unit)
	if tokens.Cmp(big.NewRat(to.Capacity, 1)) >= 0 {
		b.empty = nil
		return
	}
	tokens.Mul(tokens, big.NewRat(int64(to.Refill.Per), to.Refill.Tokens))
	b.empty = tokens.Sub(big.NewRat(at, 1), tokens)
}

// windows is a fixed window or a sliding counter: what was taken in the newest window and in the one before.
type windows struct {
	rule              ratelimit.Rule
	used              bool
	number            int64
	current, previous int64
}

func (w *windows) length() int64 { return int64(w.rule.Window()) }

func (w *windows) instant(now int64) int64 {
	if w.used {
		return max(now, w.number*w.length())
	}
	return now
}

func (w *windows) counts(at int64) (number, current, previous int64) {
	number = at / w.length()
	switch {
	case !w.used || number > w.number+1:
		return number, 0, 0
	case number == w.number+1:
		return number, 0, w.current
	}
	return w.number, w.current, w.previous
}

func (w *windows) fits(n, at int64) bool {
	number, current, previous := w.counts(at)
	if w.rule.Algorithm == ratelimit.FixedWindow {
		return current+n <= w.rule.Capacity
	}
	left := (number+1)*w.length() - at
	used := new(big.Int).Mul(big.NewInt(previous), big.NewInt(left))
	return used.Cmp(new(big.Int).Mul(big.NewInt(w.rule.Capacity-current-n), big.NewInt(w.length()))) <= 0
}

func (w *windows) fresh(at int64) bool {
	_, current, previous := w.counts(at)
	return current == 0 && (previous == 0 || w.rule.Algorithm == ratelimit.FixedWindow)
}

func (w *windows) take(n, at int64) {
	w.number, w.current, w.previous = w.counts(at)
	w.used = true
	w.current += n
}

func (w *windows) refund(n, at int64) {
	switch number := at / w.length(); {
	case !w.used:
	case number == w.number:
		w.current -= min(n, w.current)
	case number == w.number-1:
		w.previous -= min(n, w.previous)
	}
}

func (w *windows) change(to ratelimit.Rule, at int64) {
	if w.fresh(w.instant(at)) && w.instant(at) == at {
		*w = windows{rule: to}
		return
	}
	at = w.instant(at)
	_, current, previous := w.counts(at)
	if to.Window() != w.rule.Window() {
		if w.rule.Algorithm == ratelimit.SlidingWindowCounter { // the estimate, rounded up
			number, length := at/w.length(), w.length()
			share := new(big.Int).Mul(big.NewInt(previous), big.NewInt((number+1)*length-at))
			share.Add(share, big.NewInt(length-1))
			current += share.Div(share, big.NewInt(length)).Int64()
		}
		previous = 0
	}
	*w = windows{rule: to, used: true, number: at / int64(to.Window()), current: current, previous: previous}
}

// log is every request that was admitted.
type log struct {
	rule    ratelimit.Rule
	entries []ratelimit.Decision // At, and the tokens as Limit
	newest  int64
}

func (l *log) instant(now int64) int64 { return max(now, l.newest) }

func (l *log) usedAt(at int64) (used int64) {
	for _, e := range l.entries {
		if e.At > at-int64(l.rule.Window()) {
			used += e.Limit
		}
	}
	return used
}

func (l *log) fits(n, at int64) bool { return l.usedAt(at)+n <= l.rule.Capacity }
func (l *log) fresh(at int64) bool   { return l.usedAt(at) == 0 }

func (l *log) take(n, at int64) {
	l.entries = append(l.entries, ratelimit.Decision{At: at, Limit: n})
	l.newest = at
}

func (l *log) refund(n, at int64) {
	for i := range l.entries {
		if e := &l.entries[i]; e.At == at {
			back := min(n, e.Limit)
			e.Limit -= back
			n -= back
		}
	}
}

func (l *log) change(to ratelimit.Rule, at int64) {
	at = l.instant(at)
	kept := l.entries[:0]
	for _, e := range l.entries {
		if e.Limit > 0 && e.At > at-min(int64(to.Window()), int64(l.rule.Window())) {
			kept = append(kept, e)
		}
	}
	l.rule, l.entries = to, kept
}

func newAccount(rule ratelimit.Rule) account {
	switch rule.Algorithm {
	case ratelimit.TokenBucket:
		return &bucket{rule: rule}
	case ratelimit.SlidingWindowLog:
		return &log{rule: rule, newest: -1 << 60}
	}
	return &windows{rule: rule}
}

// first returns the shortest time from at after which is holds, which then goes on to hold.
func first(at, most int64, is func(at int64) bool) time.Duration {
	low, high := int64(0), most
	for low < high {
		if mid := low + (high-low)/2; is(at + mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return time.Duration(low)
}

// want returns the Decision on n tokens of a at the instant at, and takes them if they fit.
func want(a account, rule ratelimit.Rule, n, at int64) ratelimit.Decision {
	d := ratelimit.Decision{Limit: rule.Capacity, At: at}
	d.Allowed = n == 0 || n > 0 && n <= rule.Capacity && a.fits(n, at)
	if d.Allowed && n > 0 {
		a.take(n, at)
	}
	most := int64(1) << 50
	if !d.Allowed {
		d.RetryAfter = ratelimit.Never
		if n > 0 && n <= rule.Capacity {
			d.RetryAfter = first(at, most, func(at int64) bool { return a.fits(n, at) })
		}
	}
	d.Remaining = rule.Capacity - int64(first(0, rule.Capacity, func(used int64) bool { return a.fits(rule.Capacity-used, at) }))
	d.ResetAfter = first(at, most, a.fresh)
	return d
}

// Everything that can be done to a limiter, in any order and at any time, against the definitions.
func TestAgainstDefinitions(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 15
	}
	for algorithm := ratelimit.TokenBucket; algorithm <= ratelimit.SlidingWindowCounter; algorithm++ {
		t.Run(algorithm.String(), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			for round := range rounds {
				againstDefinition(t, algorithm, rand.New(rand.NewPCG(seed, uint64(round))))
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

func againstDefinition(t *testing.T, algorithm ratelimit.Algorithm, r *rand.Rand) {
	var story []string
	say := func(format string, args ...any) { story = append(story, fmt.Sprintf(format, args...)) }
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(story[max(0, len(story)-24):], "\n"))
		}
	}()
	pick := func(from ...int64) int64 { return from[r.IntN(len(from))] }
	newRule := func() ratelimit.Rule {
		capacity := 1 + r.Int64N(pick(1, 3, 20))
		if algorithm == ratelimit.TokenBucket {
			return ratelimit.Rate{Tokens: 1 + r.Int64N(pick(1, 7, 100)), Per: time.Duration(1 + r.Int64N(pick(10, 1e6, 1e9)))}.Burst(capacity)
		}
		return ratelimit.Rule{Algorithm: algorithm, Capacity: capacity, Refill: ratelimit.Rate{Tokens: capacity, Per: time.Duration(pick(1e6, 3e6, 5e7, 1e9))}}
	}
	rule := newRule()
	clock := new(limittest.ManualClock)
	clock.Set(1e15)
	l := limiter(t, rule, clock)
	keys := []string{"", "a", "client-1", "0123456789abcdefghij", fmt.Sprintf("%060d", 7)}
	accounts := map[string]account{}
	taken := map[string]ratelimit.Decision{}
	newest := clock.NanoTime()
	for range 150 {
		scale := max(int64(rule.Window()), 1)
		now := clock.NanoTime()
		switch r.IntN(6) {
		case 0, 1:
			now += r.Int64N(1 + scale/10)
		case 2:
			now += r.Int64N(3 * scale)
		case 3:
			now -= r.Int64N(min(scale, 2e6)) // late
		}
		clock.Set(now)
		newest = max(newest, now)
		key := keys[r.IntN(len(keys))]
		a := accounts[key]
		if a == nil {
			a = newAccount(rule)
		}
		n := pick(1, 1, 2, rule.Capacity, rule.Capacity+1, 0, -1)
		op := r.IntN(20)
		say("%d: op %d, %q %d; rule %v", now, op, key, n, rule)
		switch {
		case op < 12:
			peeked := l.Peek(key, n)
			var d ratelimit.Decision
			switch op % 3 {
			case 0:
				d = l.Take(key, n)
			case 1:
				d = l.TakeAt(key, n, now)
			default:
				d = l.TakeBytes([]byte(key), n)
			}
			require.Equal(t, peeked, d, "Peek and Take of %d", n)
			require.GreaterOrEqual(t, d.At, a.instant(now))
			require.LessOrEqual(t, d.At, max(newest, a.instant(newest)))
			require.Equal(t, want(a, rule, n, d.At), d, "%v: take %d at %d", rule, n, now)
			if d.Allowed && n > 0 {
				accounts[key] = a
				d.Limit = n
				taken[key] = d
				say("  taken at %d", d.At)
			}
		case op < 15:
			if d, ok := taken[key]; ok {
				back := min(1+r.Int64N(rule.Capacity), d.Limit)
				say("  %d taken at %d", back, d.At)
				l.RefundAt(key, back, d.At)
				a.refund(back, d.At)
				d.Limit -= back
				if taken[key] = d; d.Limit == 0 {
					delete(taken, key)
				}
			}
		case op == 15:
			l.Reset(key)
			delete(accounts, key)
			delete(taken, key)
		case op == 16:
			l.Sweep()
		case op == 17:
			clock.Set(newest)
			was := rule
			rule = newRule()
			if r.IntN(2) == 0 && algorithm != ratelimit.TokenBucket { // the window stays
				rule.Refill = ratelimit.Rate{Tokens: rule.Capacity, Per: was.Window()}
			}
			if algorithm == ratelimit.SlidingWindowLog && rule.Window() > was.Window() { // what of it is still known is a ring's secret
				rule.Refill = ratelimit.Rate{Tokens: rule.Capacity, Per: was.Window()}
			}
			require.NoError(t, l.SetRule(rule))
			for _, a := range accounts {
				if rule != was {
					a.change(rule, newest)
				}
			}
			clear(taken) // an instant of another rule's windows tells nothing
		default:
			batch := []string{key, keys[0], key, key}
			allowed := make([]bool, len(batch))
			counted := l.Peek(key, 0).At
			if counted != now { // a late batch counts at an instant that it doesn't tell
				break
			}
			l.TryAcquireMany(batch, allowed)
			for i, key := range batch {
				a := accounts[key]
				if a == nil {
					a = newAccount(rule)
				}
				at := a.instant(now)
				require.Equal(t, want(a, rule, 1, at).Allowed, allowed[i], "%d of %q", i, batch)
				if allowed[i] {
					accounts[key] = a
				}
			}
		}
	}
}
