package promlimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/promlimit"
	"github.com/casgate/ratelimit/rules"
)

func newStore(t testing.TB) *rules.Store {
	t.Helper()
	spec, err := rules.ParseJSON([]byte(`{"rules": [
		{"name": "address", "key": "ip", "limit": "2/hour"},
		{"name": "trial", "key": "ip", "limit": "1/hour", "mode": "shadow"}]}`))
	require.NoError(t, err)
	store, err := rules.NewStore(spec, rules.Config{Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}}})
	require.NoError(t, err)
	return store
}

func TestCollector(t *testing.T) {
	store := newStore(t)
	filter, err := httplimit.New(httplimit.Config{Store: store})
	require.NoError(t, err)
	for range 5 {
		filter.Decide(httptest.NewRequest("GET", "/", nil))
	}
	require.Error(t, store.Update(rules.Spec{}))
	c := promlimit.New(promlimit.Config{Filter: filter, Store: store, Backend: func() promlimit.Backend {
		return promlimit.Backend{BreakerOpen: true, Leases: []promlimit.Lease{{Rule: "address", Taken: 100, Returned: 7}}}
	}})
	c.ObserveBackend(150*time.Microsecond, nil)
	c.ObserveBackend(5*time.Millisecond, fmt.Errorf("get: %w", context.DeadlineExceeded))
	c.ObserveBackend(time.Millisecond, context.Canceled)
	c.ObserveBackend(time.Millisecond, errors.New("connection refused"))

	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP ratelimit_requests_total Requests that a rule was asked about, by what it said.
# TYPE ratelimit_requests_total counter
ratelimit_requests_total{result="allowed",rule="address"} 2
ratelimit_requests_total{result="error_allowed",rule="address"} 0
ratelimit_requests_total{result="error_denied",rule="address"} 0
ratelimit_requests_total{result="limited",rule="address"} 3
ratelimit_requests_total{result="shadow",rule="address"} 0
ratelimit_requests_total{result="allowed",rule="trial"} 1
ratelimit_requests_total{result="error_allowed",rule="trial"} 0
ratelimit_requests_total{result="error_denied",rule="trial"} 0
ratelimit_requests_total{result="limited",rule="trial"} 0
ratelimit_requests_total{result="shadow",rule="trial"} 4
# HELP ratelimit_keys Clients that a rule remembers.
# TYPE ratelimit_keys gauge
ratelimit_keys{rule="address"} 1
ratelimit_keys{rule="trial"} 1
# HELP ratelimit_evictions_total Clients forgotten: limited ones, for want of room, and others, idle nearly all.
# TYPE ratelimit_evictions_total counter
ratelimit_evictions_total{kind="other",rule="address"} 0
ratelimit_evictions_total{kind="limited",rule="address"} 0
ratelimit_evictions_total{kind="other",rule="trial"} 0
ratelimit_evictions_total{kind="limited",rule="trial"} 0
# HELP ratelimit_config_reloads_total Changes of the rules, the first included, and those that failed.
# TYPE ratelimit_config_reloads_total counter
ratelimit_config_reloads_total{result="error"} 1
ratelimit_config_reloads_total{result="ok"} 1
# HELP ratelimit_config_version Version of the rules in force, from 1.
# TYPE ratelimit_config_version gauge
ratelimit_config_version 1
# HELP ratelimit_breaker_open 1 while the remote store is not being asked.
# TYPE ratelimit_breaker_open gauge
ratelimit_breaker_open 1
# HELP ratelimit_leased_tokens_total Tokens taken from the remote store in leases, and given back unspent.
# TYPE ratelimit_leased_tokens_total counter
ratelimit_leased_tokens_total{event="returned",rule="address"} 7
ratelimit_leased_tokens_total{event="taken",rule="address"} 100
# HELP ratelimit_backend_errors_total Calls to the remote store that failed: too late, given up by the caller, or otherwise.
# TYPE ratelimit_backend_errors_total counter
ratelimit_backend_errors_total{kind="canceled"} 1
ratelimit_backend_errors_total{kind="failure"} 1
ratelimit_backend_errors_total{kind="timeout"} 1
`), "ratelimit_requests_total", "ratelimit_keys", "ratelimit_evictions_total", "ratelimit_config_reloads_total", "ratelimit_config_version",
		"ratelimit_breaker_open", "ratelimit_leased_tokens_total", "ratelimit_backend_errors_total"))

	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.Equal(t, 1, testutil.CollectAndCount(c, "ratelimit_backend_duration_seconds"))
	assert.Equal(t, 2, testutil.CollectAndCount(c, "ratelimit_keys_bytes"))
}

// What is nil is left out, and nothing that is told was not described.
func TestCollectorOfLess(t *testing.T) {
	c := promlimit.New(promlimit.Config{})
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	assert.Equal(t, "ratelimit_backend_duration_seconds", families[0].GetName())
}

func ExampleCollector() {
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{Name: "api", Limit: ratelimit.PerMinute(100).Burst(20)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(promlimit.New(promlimit.Config{Filter: filter}))

	filter.Decide(httptest.NewRequest("GET", "/", nil))
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "ratelimit_requests_total" {
			fmt.Println(f.GetName(), f.Metric[0].GetCounter().GetValue())
		}
	}
	// Output:
	// ratelimit_requests_total 1
}
