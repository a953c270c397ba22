package limittest_test

import (
	"os"
	"testing"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// local returns a limiter of this module, nil for a rule that it refuses.
func local(rule ratelimit.Rule, clock ratelimit.Clock) ratelimit.Limiter {
	if l, err := ratelimit.New(rule, ratelimit.Config{Clock: clock}); err == nil {
		return l
	}
	return nil
}

// bounded returns one that may hold more keys than the suite has, so that every creation counts against the bound.
func bounded(rule ratelimit.Rule, clock ratelimit.Clock) ratelimit.Limiter {
	config := ratelimit.Config{Clock: clock, MaxKeys: 1 << 20, Overflow: ratelimit.DenyNewKeys}
	if l, err := ratelimit.New(rule, config); err == nil {
		return l
	}
	return nil
}

// composite returns two limiters of the same rule as one: it decides as one of them does.
func composite(rule ratelimit.Rule, clock ratelimit.Clock) ratelimit.Limiter {
	first, err := ratelimit.New(rule, ratelimit.Config{Clock: clock})
	if err != nil {
		return nil
	}
	second, _ := ratelimit.New(rule, ratelimit.Config{Clock: clock})
	both, err := ratelimit.NewComposite(first, second)
	if err != nil {
		return nil
	}
	return both
}

func TestLocalLimiters(t *testing.T) { limittest.TestLimiter(t, local) }

func TestBoundedLimiters(t *testing.T) { limittest.TestLimiter(t, bounded) }

func TestComposite(t *testing.T) { limittest.TestLimiter(t, composite) }

func TestTimelines(t *testing.T) {
	timelines := os.DirFS("../testdata/timelines")
	limittest.RunTimelines(t, timelines, local)
	limittest.RunTimelines(t, timelines, composite)
}
