package rules_test

import (
	"fmt"
	"testing"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func compiled(t testing.TB, spec rules.Spec) *rules.Set {
	t.Helper()
	set, err := rules.Compile(spec)
	require.NoError(t, err)
	return set
}

// met returns the names of the rules that a request meets.
func met(set *rules.Set, plan, method, path string) (names []string) {
	for _, m := range set.Match(nil, set.Plan(plan), method, "", path, "") {
		names = append(names, m.Limit.Rule.Name)
	}
	return names
}

func TestLayers(t *testing.T) {
	user := named("user", "1/s")
	user.Key, user.Missing = rules.List{"user"}, rules.MissingSkip
	shadow := named("shadow", "1/s")
	shadow.Mode = rules.Shadow
	apart := matching(named("apart", "1/s"), "/v1/")
	apart.Layer = "apart"
	set := compiled(t, rules.Spec{Rules: []rules.RuleSpec{
		named("all", "1/s"), user, matching(named("v1", "1/s"), "/v1/"), shadow, apart, matching(named("items", "1/s"), "GET /v1/items/{id}"),
	}})
	assert.Equal(t, []string{"all", "user", "shadow"}, met(set, "", "GET", "/"))
	assert.Equal(t, []string{"user", "v1", "shadow", "apart"}, met(set, "", "POST", "/v1/items/7"))
	assert.Equal(t, []string{"user", "shadow", "apart", "items"}, met(set, "", "GET", "/v1/items/7"), "in the order of the spec")
	assert.Equal(t, []string{"user", "v1", "shadow", "apart"}, met(set, "", "GET", "/v1"), "as ServeMux would redirect it")
	for _, r := range set.Rules() {
		want := map[string]string{"user": "(user)", "shadow": "(shadow ip)", "apart": "apart"}[r.Name]
		if want == "" {
			want = "(ip)"
		}
		assert.Equal(t, want, r.Layer, r.Name)
	}
}

func TestPlansChooseRules(t *testing.T) {
	general := named("general", "1/s")
	free := matching(named("search.free", "1/s"), "/search")
	free.Limit, free.Plans = ratelimit.Rate{}, map[string]rules.PlanLimit{"free": {Limit: ratelimit.PerSecond(2)}}
	gold := matching(named("search.gold", "1/s"), "/search")
	gold.Limit, gold.Plans = ratelimit.Rate{}, map[string]rules.PlanLimit{"gold": {Unlimited: true}}
	set := compiled(t, rules.Spec{
		Plans: rules.PlansSpec{Names: rules.List{"free", "gold"}},
		Rules: []rules.RuleSpec{general, free, gold},
	})
	assert.Equal(t, []string{"search.free"}, met(set, "free", "GET", "/search"))
	assert.Equal(t, []string{"search.gold"}, met(set, "gold", "GET", "/search"), "one pattern, but never one request")
	assert.Equal(t, []string{"general"}, met(set, "", "GET", "/search"), "neither claims those on no plan")
	assert.Equal(t, []string{"general"}, met(set, "gold", "GET", "/"))

	gold.Plans["free"] = rules.PlanLimit{Limit: ratelimit.PerSecond(1)}
	_, err := rules.Compile(rules.Spec{
		Plans: rules.PlansSpec{Names: rules.List{"free", "gold"}},
		Rules: []rules.RuleSpec{general, free, gold},
	})
	assert.ErrorIs(t, problemAt(t, err, "rules[2].match[0]"), rules.ErrConflict)
}

func TestMatchAppends(t *testing.T) {
	for _, set := range []*rules.Set{
		compiled(t, rules.Spec{Rules: []rules.RuleSpec{perIP("1/s")}}),
		compiled(t, rules.Spec{Rules: []rules.RuleSpec{perIP("1/s"), matching(named("b", "1/s"), "/b")}}),
	} {
		found := set.Match(nil, 0, "GET", "", "/", "")
		found = set.Match(found, 0, "GET", "", "/", "")
		require.Len(t, found, 2)
		assert.Equal(t, found[0], found[1], "what was there before is left alone")
	}
}

// One layer for each rule is the worst case: all of them hold together.
func TestManyLayers(t *testing.T) {
	var spec rules.Spec
	for i := range 100 {
		rule := named(fmt.Sprintf("r%d", i), "1/s")
		rule.Layer = fmt.Sprintf("l%d", i)
		if i%2 == 0 {
			rule.Match = rules.List{"/a/{x}"}
		}
		spec.Rules = append(spec.Rules, rule)
	}
	set := compiled(t, spec)
	assert.Len(t, met(set, "", "GET", "/a/b"), 100)
	assert.Len(t, met(set, "", "GET", "/b"), 50)
}

func TestMatchAllocatesNothing(t *testing.T) {
	for _, n := range []int{0, 10, 10_000} {
		set := compiled(t, manyRules(n))
		for _, r := range someRequests {
			allocs := testing.AllocsPerRun(100, func() {
				var buf [8]rules.Match
				set.Match(buf[:0], 0, r.method, r.host, r.path, "")
			})
			assert.Zero(t, allocs, "%d rules, %s %s", n, r.method, r.path)
		}
	}
}
