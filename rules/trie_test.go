package rules

import (
	"fmt"
	"testing"

	"github.com/casgate/ratelimit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The work of a match is in the nodes that it visits: as many among ten thousand rules as among ten.
func TestMatchVisitsFewNodes(t *testing.T) {
	compiled := func(n int) *Set {
		var spec Spec
		for i := range n {
			spec.Rules = append(spec.Rules, RuleSpec{
				Name: fmt.Sprintf("r%d", i), Match: List{fmt.Sprintf([]string{"GET /v1/r%d/{id}", "/v2/{tenant}/r%d/", "POST a.test/r%d"}[i%3], i)},
				Key: List{"ip"}, Limit: ratelimit.PerSecond(1),
			})
		}
		set, err := Compile(spec)
		require.NoError(t, err)
		return set
	}
	visited := func(set *Set, method, path string) int {
		w := walk{target: newTarget(path, ""), open: set.layers}
		set.trie.any.match(&w, method, nil)
		return w.visited
	}
	small, large := compiled(10), compiled(10_000)
	for _, c := range []struct{ method, path string }{
		{"GET", "/v1/r6/42"}, {"GET", "/v2/acme/r7/a/b/c"}, {"POST", "/r8"}, {"GET", "/v1/r7000/42"}, {"GET", "/nowhere"},
	} {
		few, many := visited(small, c.method, c.path), visited(large, c.method, c.path)
		assert.LessOrEqual(t, many, 8, "%s %s", c.method, c.path)
		assert.LessOrEqual(t, many, few+2, "%s %s", c.method, c.path)
	}
}

// A walk ends when every layer has its rule, and isn't begun where every rule claims everything.
func TestMatchEndsEarly(t *testing.T) {
	rule := func(name string, patterns ...string) RuleSpec {
		return RuleSpec{Name: name, Match: patterns, Key: List{"ip"}, Limit: ratelimit.PerSecond(1)}
	}
	set, err := Compile(Spec{Rules: []RuleSpec{rule("a", "/a", "/{x}", "/")}})
	require.NoError(t, err)
	w := walk{target: newTarget("/a", ""), open: set.layers}
	set.trie.any.match(&w, "GET", nil)
	assert.Equal(t, 2, w.visited, "the root and /a, not /{x}")
	assert.Nil(t, set.catchAll)

	set, err = Compile(Spec{Rules: []RuleSpec{rule("a")}})
	require.NoError(t, err)
	assert.Len(t, set.catchAll[0], 1)
}

// Whatever the path, no node is visited twice for one method: the work is bounded by the rules, not by the client.
func TestNoPathIsSlow(t *testing.T) {
	var spec Spec
	for i := range 64 { // all mixtures of a literal and a wildcard in six steps
		path := ""
		for bit := range 6 {
			path += []string{"/a", fmt.Sprintf("/{x%d}", bit)}[i>>bit&1]
		}
		spec.Rules = append(spec.Rules, RuleSpec{Name: fmt.Sprintf("r%d", i), Match: List{path}, Key: List{"ip"},
			Limit: ratelimit.PerSecond(1), Layer: fmt.Sprintf("l%d", i)})
	}
	set, err := Compile(spec)
	require.NoError(t, err)
	w := walk{target: newTarget("/a/a/a/a/a/a/a/a/a/a", ""), open: set.layers}
	set.trie.any.match(&w, "GET", nil)
	assert.LessOrEqual(t, w.visited, 1<<7)
}

// conflict is symmetric, and no pattern is more specific than itself.
func TestRelations(t *testing.T) {
	inverse := map[relation]relation{same: same, narrower: wider, wider: narrower, crossing: crossing, disjoint: disjoint}
	var patterns []*Pattern
	for _, text := range []string{"/", "/{$}", "/a", "/a/", "/{x}", "/{x}/", "/a/{x}", "/{x}/a", "/{x}/{y...}", "/a/{$}", "GET /", "GET /a", "HEAD /a", "POST /{x}", "h/a", "h/"} {
		p, err := ParsePattern(text)
		require.NoError(t, err)
		patterns = append(patterns, p)
	}
	assert.False(t, patterns[2].conflict(patterns[len(patterns)-2]), "/a and h/a: the one with a host wins")
	for _, p := range patterns {
		assert.True(t, p.conflict(p))
		for _, q := range patterns {
			assert.Equal(t, inverse[p.comparePaths(q)], q.comparePaths(p), "%s and %s", p, q)
			assert.Equal(t, inverse[p.compareMethods(q)], q.compareMethods(p), "%s and %s", p, q)
			assert.Equal(t, p.conflict(q), q.conflict(p), "%s and %s", p, q)
		}
	}
}
