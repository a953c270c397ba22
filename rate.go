package ratelimit

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/casgate/ratelimit/atomicbucket"
)

const day = 24 * time.Hour

// Rate is an exact fraction: Tokens each Per. 100 a minute is {100, time.Minute}; nothing is rounded to a float or to
// whole tokens a second. Both must be positive.
type Rate struct {
	Tokens int64
	Per    time.Duration
}

// PerSecond returns n tokens a second.
func PerSecond(n int64) Rate { return Rate{n, time.Second} }

// PerMinute returns n tokens a minute.
func PerMinute(n int64) Rate { return Rate{n, time.Minute} }

// PerHour returns n tokens an hour.
func PerHour(n int64) Rate { return Rate{n, time.Hour} }

// PerDay returns n tokens each 24 hours.
func PerDay(n int64) Rate { return Rate{n, day} }

// PerSecond returns the rate in tokens a second, rounded to a float64; NaN or an infinity if Per is 0.
func (r Rate) PerSecond() float64 { return float64(r.Tokens) / float64(r.Per) * float64(time.Second) }

// Burst returns the rule of a token bucket that holds capacity tokens and refills at r.
func (r Rate) Burst(capacity int64) Rule {
	return Rule{Algorithm: TokenBucket, Capacity: capacity, Refill: r}
}

// FloatRate returns the rate of tokensPerSecond: a whole number of tokens a second, minute, hour or day if a float64 can't
// tell the difference (100/60.0 is 100 a minute), otherwise the first convergent of its continued fraction of which that is
// true (10/13.0 is 10 each 13 s), or the last one that a Rate can hold. It is for rates that arrive as floats; write
// {100, time.Minute} where you can. NaN, infinities, values that aren't positive, and values that no Rate is near are errors
// that wrap ErrInvalidRule.
func FloatRate(tokensPerSecond float64) (Rate, error) {
	f := tokensPerSecond
	if !(f > 0) || math.IsInf(f, 1) {
		return Rate{}, fmt.Errorf("%w: Refill: %v tokens a second is not a positive, finite number", ErrInvalidRule, f)
	}
	for _, unit := range []time.Duration{time.Second, time.Minute, time.Hour, day} {
		n := math.Round(f * unit.Seconds())
		if n >= 1 && n <= float64(atomicbucket.MaxCapacity) && n/unit.Seconds() == f {
			return Rate{int64(n), unit}, nil
		}
	}
	if r, ok := nearest(f); ok {
		return r, nil
	}
	return Rate{}, fmt.Errorf("%w: Refill: %v tokens a second: must be 1/%d to %d", ErrInvalidRule, f,
		int64(math.MaxInt64/time.Second), int64(atomicbucket.MaxCapacity))
}

// nearest returns the first convergent of f's continued fraction that rounds to f, or the last that a Rate can hold: no
// fraction with a smaller denominator is nearer.
func nearest(f float64) (r Rate, ok bool) {
	x := new(big.Rat).SetFloat64(f)
	n0, d0, n1, d1 := big.NewInt(0), big.NewInt(1), big.NewInt(1), big.NewInt(0)
	for {
		a := new(big.Int).Div(x.Num(), x.Denom())
		n0, n1 = n1, new(big.Int).Add(n0, new(big.Int).Mul(a, n1))
		d0, d1 = d1, new(big.Int).Add(d0, new(big.Int).Mul(a, d1))
		per := new(big.Int).Mul(d1, big.NewInt(int64(time.Second)))
		if n1.Cmp(big.NewInt(atomicbucket.MaxCapacity)) > 0 || !per.IsInt64() {
			return r, ok
		}
		if n1.Sign() > 0 {
			r, ok = Rate{n1.Int64(), time.Duration(per.Int64())}, true
		}
		if g, _ := new(big.Rat).SetFrac(n1, d1).Float64(); g == f {
			return r, ok
		}
		x.Inv(x.Sub(x, new(big.Rat).SetInt(a)))
	}
}

// rateUnits are the words for a Per, the one that String writes first.
var rateUnits = []struct {
	per   time.Duration
	words []string
}{
	{day, []string{"day", "d", "days"}},
	{time.Hour, []string{"hour", "h", "hr", "hours"}},
	{time.Minute, []string{"minute", "m", "min", "minutes"}},
	{time.Second, []string{"s", "second", "sec", "seconds"}},
	{time.Millisecond, []string{"ms"}},
	{time.Microsecond, []string{"us", "µs", "μs"}},
	{time.Nanosecond, []string{"ns"}},
}

// String returns the rate in a form that ParseRate reads: "10/s", "100/minute", "5/2h", "1000/day".
func (r Rate) String() string {
	for _, u := range rateUnits {
		if r.Per == u.per {
			return fmt.Sprintf("%d/%s", r.Tokens, u.words[0])
		}
		if r.Per > u.per && r.Per%u.per == 0 {
			short := u.words[0][:1] // d, h, m, s
			if u.per < time.Second {
				short = u.words[0]
			}
			return fmt.Sprintf("%d/%d%s", r.Tokens, int64(r.Per/u.per), short)
		}
	}
	return fmt.Sprintf("%d/%s", r.Tokens, r.Per)
}

// MarshalText returns String's form; a rate that isn't positive is an error that wraps ErrInvalidRule.
func (r Rate) MarshalText() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return []byte(r.String()), nil
}

// UnmarshalText is ParseRate; on an error r stays as it was.
func (r *Rate) UnmarshalText(text []byte) error {
	parsed, err := ParseRate(string(text))
	if err == nil {
		*r = parsed
	}
	return err
}

// ParseRate reads a rate: a positive whole number (an "r" may follow, as nginx writes), "/" or " per ", and a time: a
// unit (ns, us, ms, s, m, h, d, or second, minute, hour, day and their plurals), a number of them, or a Go duration.
// "100/minute", "10/s", "5/2h", "1000/day", "10r/s", "100 per minute", "1/1m30s". Anything else is an error that wraps
// ErrInvalidRule and shows what was given.
func ParseRate(s string) (Rate, error) {
	count, per, ok := strings.Cut(s, "/")
	if !ok {
		count, per, ok = strings.Cut(s, " per ")
	}
	if !ok {
		return Rate{}, badRate(s, "want a number, then / or per, then a time")
	}
	count = strings.TrimSuffix(strings.TrimSpace(count), "r")
	tokens, err := parseCount(strings.TrimSpace(count))
	if err != nil {
		return Rate{}, badRate(s, "the number of tokens must be 1 to 9223372036854775807, in digits")
	}
	d, err := parsePer(strings.TrimSpace(per))
	if err != nil {
		return Rate{}, badRate(s, "the time must be a unit (s, minute, hour, day), a number of them, or a duration, 1ns to 106751 days")
	}
	return Rate{tokens, d}, nil
}

func badRate(s, want string) error {
	if len(s) > 64 {
		s = s[:64] + "…"
	}
	return fmt.Errorf("%w: Refill: %q: %s", ErrInvalidRule, s, want)
}

func parseCount(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || n == 0 {
		return 0, strconv.ErrRange
	}
	return int64(n), nil
}

func parsePer(s string) (time.Duration, error) {
	word := strings.TrimLeft(s, "0123456789")
	digits := s[:len(s)-len(word)]
	word = strings.TrimSpace(word)
	for _, u := range rateUnits {
		for _, w := range u.words {
			if word == w {
				count, err := int64(1), error(nil)
				if digits != "" {
					count, err = parseCount(digits)
				}
				if err != nil || count > math.MaxInt64/int64(u.per) {
					return 0, strconv.ErrRange
				}
				return time.Duration(count) * u.per, nil
			}
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, strconv.ErrSyntax
	}
	return d, nil
}

func (r Rate) check() error {
	if r.Tokens <= 0 {
		return fmt.Errorf("%w: Refill.Tokens: %d: must be at least 1", ErrInvalidRule, r.Tokens)
	}
	if r.Per <= 0 {
		return fmt.Errorf("%w: Refill.Per: %v: must be at least 1ns", ErrInvalidRule, r.Per)
	}
	return nil
}
