package ratelimit

import "fmt"

// Composite holds one key under several rules at once, such as 10 a second and 1,000 a day: each must admit a request,
// and a request that one refuses charges none. For several keys use TakeAll.
//
// A request counts at one instant in all of them: a late one at the newest that any has seen, which is the Decision's At.
// Only if another call on the key comes in between can one of them count earlier than that; a log then doesn't find the
// request again when RefundAt gives it back, and keeps it until its window is past.
type Composite struct {
	limiters []Reversible
	clock    Clock // of the limiters that take a time; nil if none does
}

// NewComposite returns the composite of the limiters, at least one. Limiters of this package must have one clock, since a
// Decision has one instant; otherwise the error wraps ErrInvalidConfig. A clock that can't be compared, such as a function,
// is taken for another than any.
func NewComposite(limiters ...Reversible) (*Composite, error) {
	if len(limiters) == 0 {
		return nil, fmt.Errorf("%w: NewComposite: 0 limiters: must be at least 1", ErrInvalidConfig)
	}
	c := new(Composite)
	for i, l := range limiters {
		if isNil(l) {
			return nil, fmt.Errorf("%w: NewComposite: limiter %d is %#v", ErrInvalidConfig, i, l)
		}
		parts := []Reversible{l}
		if inner, ok := l.(*Composite); ok { // its parts are this one's: one that stands in both is asked for the sum
			if parts = inner.limiters; len(parts) == 0 {
				return nil, fmt.Errorf("%w: NewComposite: limiter %d is a Composite of 0 limiters: must be at least 1", ErrInvalidConfig, i)
			}
		}
		for _, part := range parts {
			c.limiters = append(c.limiters, part)
			switch local, ok := part.(timed); {
			case !ok:
			case c.clock == nil:
				c.clock = local.timeline()
			case !same(c.clock, local.timeline()):
				return nil, fmt.Errorf("%w: NewComposite: limiter %d has another clock than those before it", ErrInvalidConfig, i)
			}
		}
	}
	return c, nil
}

// TryAcquire takes one token of key in every limiter, or none.
func (c *Composite) TryAcquire(key string) bool { return c.Take(key, 1).Allowed }

// Take takes n tokens of key in every limiter, or none. The Decision is the binding limiter's, as TakeAll says.
func (c *Composite) Take(key string, n int64) Decision {
	t := c.transaction(make([]Claim, 0, composed), key, n)
	d, _ := t.run()
	return d
}

// TakeAt is Take at the instant now on the clock that the limiters share; those with a time of their own go by that.
func (c *Composite) TakeAt(key string, n, now int64) Decision {
	t := c.transaction(make([]Claim, 0, composed), key, n)
	t.setTime(c.clock, now)
	d, _ := t.run()
	return d
}

// Peek returns what Take would say.
func (c *Composite) Peek(key string, n int64) Decision {
	t := c.transaction(make([]Claim, 0, composed), key, n)
	return t.peek()
}

// RefundAt gives back n tokens of key in every limiter.
func (c *Composite) RefundAt(key string, n, at int64) {
	for _, l := range c.limiters {
		l.RefundAt(key, n, at)
	}
}

func (c *Composite) peekAt(key string, n, now int64) Decision {
	t := c.transaction(make([]Claim, 0, composed), key, n)
	t.setTime(c.clock, now)
	return t.peek()
}

func (c *Composite) timeline() Clock { return c.clock }

// composed is the number of limiters up to which a decision allocates nothing.
const composed = 8

// transaction returns the transaction of n tokens of key in every limiter, its claims appended to buf.
func (c *Composite) transaction(buf []Claim, key string, n int64) transaction {
	return transaction{claims: c.claim(buf, key, n), oneInstant: true}
}

// claim appends a claim on each limiter to buf.
func (c *Composite) claim(buf []Claim, key string, n int64) []Claim {
	for _, l := range c.limiters {
		buf = append(buf, Claim{Limiter: l, Key: key, N: n})
	}
	return buf
}

// takeParts is TakeAll with claims on its limiters in the place of one on a Composite, which gets the Decision of the one
// that binds it.
func takeParts(claims []Claim) (d Decision, binding int) {
	t := transaction{claims: make([]Claim, 0, composed), oneInstant: true}
	for _, c := range claims {
		if composite, ok := c.Limiter.(*Composite); ok {
			t.claims = composite.claim(t.claims, c.Key, c.N)
		} else {
			t.claims = append(t.claims, c)
		}
	}
	d, part := t.run()
	binding = -1
	end := 0
	for i := range claims {
		start := end
		if composite, ok := claims[i].Limiter.(*Composite); ok {
			end += len(composite.limiters)
		} else {
			end++
		}
		var tightest int
		claims[i].Err = nil
		if claims[i].Decision, tightest = t.tightest(start, end); tightest >= 0 {
			claims[i].Err = t.claims[tightest].Err
		}
		if start <= part && part < end {
			d, binding = claims[i].Decision, i
		}
	}
	return d, binding
}
