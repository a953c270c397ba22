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

// An encoded slash separates segments to some servers and not to others: what either of them would limit is limited.
func TestEncodedSlashesInBothReadings(t *testing.T) {
	block := matching(named("internal", "1/s"), "/internal/")
	block.Mode = rules.Block
	tenant := matching(named("tenant", "1/s"), "/t/{tenant}/files")
	tenant.Key = rules.List{"path:tenant"}
	set := compiled(t, rules.Spec{Rules: []rules.RuleSpec{
		named("all", "1/s"), matching(named("login", "1/s"), "POST /v1/login"), matching(named("item", "1/s"), "/items/{id}"), block, tenant,
	}})
	for _, c := range []struct {
		method, path, raw string
		want              []string
	}{
		{"POST", "/v1/login", "", []string{"login"}},
		{"POST", "/v1/login", "/v1%2Flogin", []string{"all", "login"}},
		{"POST", "/x/../v1/login", "/x%2F..%2fv1/login", []string{"all", "login"}},
		{"POST", "/x/../v1/login", "/x/%2e%2e%2Fv1%2flogin", []string{"all", "login"}},
		{"GET", "//internal/secret", "/%2Finternal/secret", []string{"all", "internal"}},
		{"GET", "/internal/secret", "/internal%2Fsecret", []string{"all", "internal"}},
		{"GET", "/internal/a/b", "/internal/a%2Fb", []string{"internal"}},
		{"GET", "/items/a/b", "/items/a%2Fb", []string{"all", "item"}},
		{"GET", "/t/acme/files", "/t%2Facme%2Ffiles", []string{"all", "tenant"}},
	} {
		var got []string
		for _, m := range set.Match(nil, 0, c.method, "", c.path, c.raw) {
			got = append(got, m.Limit.Rule.Name)
			assert.True(t, m.Pattern.Matches(c.method, "", c.path, c.raw), "%s, %s", c.raw, m.Pattern)
		}
		assert.ElementsMatch(t, c.want, got, "%s %s", c.method, c.raw)
	}
	assert.Equal(t, "acme", set.Rules()[4].Patterns[0].Value("tenant", "/t/acme/files", "/t%2Facme%2Ffiles"))
}

// Methods are case-sensitive, but not to all servers.
func TestMethodsInAnyCase(t *testing.T) {
	set := compiled(t, rules.Spec{Rules: []rules.RuleSpec{named("all", "1/s"), matching(named("login", "1/s"), "POST /login"),
		matching(named("get", "1/s"), "GET /login")}})
	for method, want := range map[string]string{"POST": "login", "post": "login", "Post": "login", "head": "get", "GEt": "get", "PUT": "all"} {
		assert.Equal(t, []string{want}, met(set, "", method, "/login"), method)
		for _, r := range set.Rules()[1:] {
			assert.Equal(t, r.Name == want, r.Patterns[0].Matches(method, "", "/login", ""), "%s of %s", method, r.Name)
		}
	}
}
