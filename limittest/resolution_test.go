package limittest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/casgate/ratelimit"
)

// remoteLike is a limiter that tells times in whole microseconds, as one behind a network does; it is Reversible and no
// more.
type remoteLike struct{ exact *reference }

func newRemoteLike(r ratelimit.Rule, c ratelimit.Clock) ratelimit.Limiter {
	if r.Validate() != nil {
		return nil
	}
	return remoteLike{newReference("none")(r, c).(*reference)}
}

func (l remoteLike) TryAcquire(key string) bool { return l.exact.TryAcquire(key) }

func (l remoteLike) Take(key string, n int64) ratelimit.Decision {
	return inMicroseconds(l.exact.Take(key, n))
}

func (l remoteLike) Peek(key string, n int64) ratelimit.Decision {
	return inMicroseconds(l.exact.Peek(key, n))
}

func (l remoteLike) RefundAt(key string, n, at int64) { l.exact.RefundAt(key, n, at) }

func inMicroseconds(d ratelimit.Decision) ratelimit.Decision {
	for _, t := range []*time.Duration{&d.RetryAfter, &d.ResetAfter} {
		if rest := *t % time.Microsecond; rest != 0 && *t != ratelimit.Never {
			*t += time.Microsecond - rest
		}
	}
	return d
}

func TestResolution(t *testing.T) {
	s := Suite{New: newRemoteLike, Resolution: time.Microsecond}
	s.Run(t)
	s.RunTimelines(t, repository)
}

func TestResolutionIsNeeded(t *testing.T) {
	r := &recorder{TB: t}
	Suite{New: newRemoteLike, Skip: only("take/retry-after")}.Run(r)
	assert.NotEmpty(t, r.failures, "a microsecond is not exact to the ns")
}
