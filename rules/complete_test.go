package rules_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func completeFile(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "rules", name))
	require.NoError(tb, err)
	return string(text)
}

// The complete rule file does what its comments say.
func TestCompleteFile(t *testing.T) {
	spec, err := rules.LoadFile(filepath.Join("..", "testdata", "rules", "complete.json"), nil)
	require.NoError(t, err)
	set, err := rules.Compile(spec)
	require.NoError(t, err)

	meets := func(plan, method, host, path string) (names []string) {
		for _, m := range set.Match(nil, set.Plan(plan), method, host, path, "") {
			names = append(names, m.Limit.Rule.Name)
		}
		return names
	}
	always := []string{"per-address", "per-network", "per-key", "per-address-stricter"}
	assert.Equal(t, always, meets("free", "GET", "", "/"))
	assert.Equal(t, []string{"per-address", "per-network", "search", "per-address-stricter"}, meets("free", "HEAD", "", "/v1/search"))
	assert.Equal(t, always, meets("free", "DELETE", "", "/v1/search"))
	assert.Equal(t, []string{"per-address", "per-network", "per-key", "uploads", "per-address-stricter"},
		meets("", "PUT", "API.example.com:443", "/v1/tenants/acme/files/a/b.txt"))
	assert.Equal(t, always, meets("free", "PUT", "other.example.com", "/v1/tenants/acme/files/a/b.txt"))
	assert.Equal(t, []string{"per-network", "per-key", "login", "per-address-stricter"}, meets("free", "POST", "", "/login"))
	assert.Equal(t, []string{"per-address", "per-network", "per-key", "exports", "per-address-stricter"}, meets("free", "GET", "", "/v1/exports/7"))
	assert.Equal(t, append(always[:4:4], "no-admin"), meets("free", "GET", "", "/internal/x"))

	limit := func(plan, rule string) *rules.Limit {
		for _, m := range set.Match(nil, set.Plan(plan), "GET", "", "/v1/exports/", "") {
			if m.Limit.Rule.Name == rule {
				return m.Limit
			}
		}
		return nil
	}
	assert.Equal(t, ratelimit.PerMinute(600).Burst(50), limit("free", "per-address").Limit)
	assert.Equal(t, ratelimit.PerHour(1000).Burst(1000), limit("free", "per-key").Limit)
	assert.Equal(t, ratelimit.PerSecond(20).Burst(200), limit("premium", "per-key").Limit)
	assert.True(t, limit("staff", "per-key").Unlimited)
	assert.Equal(t, ratelimit.PerDay(100).Burst(10), limit("free", "exports").Limit, "a third")
	assert.Equal(t, rules.MissingRefuse, limit("free", "exports").Rule.Missing)
	assert.Equal(t, rules.Shadow, limit("free", "per-address-stricter").Rule.Mode)
	assert.Equal(t, set.Plan("premium"), set.PlanOf("k-4711"))
	assert.Equal(t, set.Plan("free"), set.PlanOf("k-stolen"))
	assert.Equal(t, "", set.PlanName(0))
	assert.Equal(t, "staff", set.PlanName(set.PlanOf("k-0815")))
	from, ok := set.PlanFrom()
	assert.True(t, ok && set.HasPlans())
	assert.Equal(t, "header:X-Api-Key", from.String())
	assert.Equal(t, rules.Headers{Styles: rules.Draft8 | rules.XDelta, When: rules.Always}, set.Headers())

	_, err = rules.NewStore(spec, rules.Config{})
	assert.NoError(t, err)
}
