package limittest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/casgate/ratelimit"
)

// recorder is a testing.TB that remembers what is reported to it.
type recorder struct {
	testing.TB

	mu       sync.Mutex
	failures []string
	logs     []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

// only returns the Skip that leaves one case.
func only(name string) map[string]string {
	skip := map[string]string{}
	for _, c := range conformance {
		if c.name != name {
			skip[c.name] = "not looked at here"
		}
	}
	return skip
}

func TestReferencePasses(t *testing.T) {
	TestLimiter(t, newReference("none"))
}

// faults are ways to be wrong, each with a case of the suite that must see it.
var faults = []struct{ fault, seenBy string }{
	{"tells the limit as 0", "take/never-seen"},
	{"tells no instant", "take/never-seen"},
	{"n = 0 creates the key", "take/never-seen"},
	{"n = 0 takes one", "take/zero"},
	{"nothing left refuses n = 0", "take/zero"},
	{"a refusal creates the key", "take/impossible"},
	{"cuts a cost above the limit to it", "take/impossible"},
	{"takes the absolute value of a cost", "take/impossible"},
	{"never is an hour", "take/impossible"},
	{"the first request is free", "take/drain"},
	{"remaining is what was left before", "take/drain"},
	{"a refusal is counted", "take/refusal"},
	{"takes what is there of a cost that isn't", "take/refusal"},
	{"retry after is the whole window", "take/retry-after"},
	{"retry after is cut to milliseconds", "take/retry-after"},
	{"a refusal may be retried at once", "take/retry-after"},
	{"windows end a tick early", "take/retry-after"},
	{"reset after is the whole window", "take/reset-after"},
	{"TryAcquire takes two", "take/try-acquire"},
	{"refills in whole tokens", "take/twin"},
	{"counts tokens in floats", "take/twin"},
	{"windows end a tick early", "take/twin"},
	{"ignores the window before", "take/twin"},
	{"evicts the least recently seen of 64 keys", "key/isolation"},
	{"compares hashes of 16 bits only", "key/isolation"},
	{"cuts keys at their first zero byte", "key/any-bytes"},
	{"cuts keys at 23 bytes", "key/tails"},
	{"stores keys of any length", "key/too-long"},
	{"a late time empties the bucket", "late/harmless"},
	{"a late time is believed", "late/alternating"},
	{"looks first, takes later", "concurrent/one-instant"},
	{"makes a state, then stores it", "concurrent/first-sight"},
	{"looks first, takes later", "concurrent/costs"},
	{"looks first, takes later", "concurrent/moving-time"},
	{"peeking takes", "reversible/peek"},
	{"peeking creates the key", "reversible/peek"},
	{"refunds nothing", "reversible/refund"},
	{"refunds lift above full", "reversible/refund-never-above-full"},
	{"a negative refund takes", "reversible/refund-never-above-full"},
	{"refunds go into the present window", "reversible/refund-past"},
	{"refunds create the key", "reversible/unknown-key"},
	{"refunds nothing", "reversible/twin"},
	{"the At variants ask the clock", "local/at"},
	{"the end of time is refused", "local/far-times"},
	{"retains the buffer of TakeBytes", "local/take-bytes"},
	{"decides duplicates in a batch once", "local/many"},
	{"checks no lengths", "local/many"},
	{"resets every key", "local/reset"},
	{"resets nothing", "local/reset"},
	{"sweeps keys that are not idle", "local/sweep"},
	{"sweeps keys that are nearly idle", "local/sweep"},
	{"sweeps nothing", "local/sweep"},
	{"counts every call as a creation", "local/stats"},
	{"sweeps nothing", "local/stats"},
	{"SetRule takes any algorithm", "local/set-rule-refuses"},
	{"SetRule reports no sentinel", "local/set-rule-refuses"},
	{"SetRule forgets what was used", "local/set-rule-keeps-state"},
	{"SetRule ignores keys that are held", "local/set-rule-keeps-state"},
	{"SetRule gives the difference to all", "local/set-rule-keeps-state"},
	{"SetRule keeps a full key's tokens", "local/set-rule-full-stays-full"},
	{"sweeps keys that are not idle", "local/concurrent-sweep-and-set-rule"},
	{"SetRule forgets what was used", "local/concurrent-sweep-and-set-rule"},
	{"a late time is believed", "local/concurrent-sweep-and-set-rule"},
}

func TestSuiteSeesFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range faults {
		t.Run(strings.ReplaceAll(c.fault, " ", "-")+"/"+c.seenBy, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			Suite{New: newReference(c.fault), Skip: only(c.seenBy)}.Run(r)
			assert.NotEmpty(t, r.failures, "the case let a limiter through that is wrong: %s", c.fault)
			for _, f := range r.failures {
				assert.Contains(t, f, c.seenBy+": ", "a failure tells its case")
			}
		})
	}
}

func TestEveryCaseIsSeenToFail(t *testing.T) {
	for _, c := range conformance {
		seen := slices.ContainsFunc(faults, func(f struct{ fault, seenBy string }) bool { return f.seenBy == c.name })
		assert.True(t, seen, "no fault shows that %s can fail", c.name)
	}
}

func TestUnsupportedIsSkippedVisibly(t *testing.T) {
	r := &recorder{TB: t}
	none := func(ratelimit.Rule, ratelimit.Clock) ratelimit.Limiter { return nil }
	TestLimiter(r, none)
	assert.Equal(t, []string{"limittest: New returned nil for every algorithm: nothing was tested"}, r.failures)
	assert.Len(t, r.logs, 4, "one line for each algorithm")

	r = &recorder{TB: t}
	basic := func(rule ratelimit.Rule, clock ratelimit.Clock) ratelimit.Limiter {
		if rule.Algorithm != ratelimit.FixedWindow {
			return nil
		}
		return struct{ ratelimit.Limiter }{newReference("none")(rule, clock)} // neither Reversible nor Local
	}
	TestLimiter(r, basic)
	assert.Empty(t, r.failures)
	assert.Contains(t, strings.Join(r.logs, "\n"), "FIXED_WINDOW: local/reset: skipped: struct { ratelimit.Limiter } is not a ratelimit.Local")
}
