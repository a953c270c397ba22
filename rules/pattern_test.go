package rules_test

import (
	"testing"

	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPatternsThatCannotMatch(t *testing.T) {
	for text, says := range map[string]string{
		"":                  "no /",
		"GET":               "no /",
		"GET ":              "no /",
		"get /a":            "GET",
		"Get /a":            "GET",
		"G@T /a":            "bad method",
		"GET  POST /a":      "bad host",
		"/a//b":             "/a/b",
		"/a/./b":            "/a/b",
		"/a/../b":           "/b",
		"//":                "cleaned",
		"/a/%2e%2E/b":       "no path has",
		"/a/%zz":            "no path has",
		"/a?b=c":            "query",
		"/a#b":              "query",
		"example.com:80/":   "port",
		"[::1]:80/":         "port",
		"*.example.com/":    "hosts are matched as a whole",
		"{host}/":           "hosts are matched as a whole",
		"https://a.test/":   "scheme",
		"a.test?/":          "bad host",
		"/a/b{x}":           "whole segment",
		"/a/{x}b":           "whole segment",
		"/a/{x":             "whole segment",
		"/a/{}":             "bad name",
		"/a/{1}":            "bad name",
		"/a/{x-y}":          "bad name",
		"/a/{...}":          "bad name",
		"/a/{x...}/b":       "can only be last",
		"/a/{$}/b":          "can only be last",
		"/a/{$}/":           "can only be last",
		"/{x}/a/{x}":        "two wildcards",
		"/{x}/a/{x...}":     "two wildcards",
		"POST a.test":       "no /",
		"/\tGET":            "",
		"GET a.test/a b/c?": "query",
	} {
		_, err := rules.ParsePattern(text)
		if says == "" {
			assert.NoError(t, err, "%q", text)
			continue
		}
		assert.ErrorIs(t, err, rules.ErrPattern, "%q", text)
		assert.ErrorContains(t, err, says, "%q", text)
	}
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern            string
		method, host, path string
		matches            bool
		values             map[string]string
	}{
		{"/", "GET", "", "/", true, nil},
		{"/", "PATCH", "a.test", "/a/b", true, map[string]string{"a": "", "": ""}},
		{"/{$}", "GET", "", "/", true, map[string]string{"$": ""}},
		{"/{$}", "GET", "", "/a", false, nil},
		{"GET /a", "HEAD", "", "/a", true, nil},
		{"GET /a", "POST", "", "/a", false, nil},
		{"HEAD /a", "GET", "", "/a", false, nil},
		{"GET   /a", "GET", "", "/a", true, nil},
		{"A.Test/", "GET", "a.test:8080", "/", true, nil},
		{"a.test/", "GET", "A.TEST.", "/", true, nil},
		{"a.test/", "GET", "b.test", "/", false, nil},
		{"[::1]/", "GET", "[::1]:80", "/", true, nil},
		{"[::1]/", "GET", "[::1]", "/", true, nil},
		{"/a/{id}", "GET", "", "/a/7", true, map[string]string{"id": "7", "other": ""}},
		{"/a/{id}", "GET", "", "/a/", false, nil},
		{"/a/{id}", "GET", "", "/a/7/b", false, nil},
		{"/a/{id}/", "GET", "", "/a/7", true, map[string]string{"id": "7"}},
		{"/a/{rest...}", "GET", "", "/a", true, map[string]string{"rest": ""}},
		{"/a/{rest...}", "GET", "", "/a/b/c/", true, map[string]string{"rest": "b/c/"}},
		{"/a/{rest...}", "GET", "", "/ab", false, nil},
		{"/a%20b/c", "GET", "", "/a b/c", true, nil},
		{"/ä/{x}", "GET", "", "/ä/ö", true, map[string]string{"x": "ö"}},
		{"/a/{x}", "GET", "", "/./a//7/../8", true, map[string]string{"x": "8"}},
		{"/a", "GET", "", "a", true, nil},
		{"/{$}", "GET", "", "", true, nil},
	} {
		p, err := rules.ParsePattern(c.pattern)
		require.NoError(t, err, c.pattern)
		assert.Equal(t, c.matches, p.Matches(c.method, c.host, c.path, ""), "%s against %s %s%s", c.pattern, c.method, c.host, c.path)
		for name, value := range c.values {
			assert.Equal(t, value, p.Value(name, c.path, ""), "%s in %s of %s", name, c.path, c.pattern)
		}
	}
	p, err := rules.ParsePattern("GET  A.test/x/{id}")
	require.NoError(t, err)
	assert.Equal(t, []string{"GET A.test/x/{id}", "GET", "a.test"}, []string{p.String(), p.Method(), p.Host()})
}

// A slash that is a part of a segment can stay one; dots count as dots however they are written; a RawPath that isn't of
// the Path is no reason to miss a rule.
func TestEncodedPaths(t *testing.T) {
	for _, c := range []struct {
		pattern, path, raw string
		matches            bool
		value              string
	}{
		{"/files/{x}", "/files/a/b", "/files/a%2Fb", true, "a/b"},
		{"/files/{x}", "/files/a/b", "/files/a%2fb", true, "a/b"},
		{"/files/{x}", "/files/a/b", "", false, ""},
		{"/files/{x...}", "/files/a/b c", "/files/a%2fb%20c", true, "a/b c"},
		{"/t/{x}/f/{rest...}", "/t/acme/f/1/f/y", "/t/acme%2Ff%2F1/f/y", true, "acme"},
		{"/t/{x}/f/{rest...}", "/t/a/b/f/y", "/t/a%2Fb/f/y", true, "a/b"},
		{"/files/a%2Fb/{x}", "/files/a/b/c", "/files/a%2Fb/c", true, "c"},
		{"/{x}", "/a/b", "/c%2Fd", false, ""},
		{"/a/{x}", "/a/b", "/c%2Fd", true, "b"},
		{"/login", "/a/../login", "/a/%2e%2E/login", true, ""},
		{"/a%2Fb/login", "/a/b/c/../login", "/a%2Fb/c/%2e%2e/login", true, ""},
		{"/{x}", "/%2F", "/%252F", true, "%2F"},
	} {
		p, err := rules.ParsePattern(c.pattern)
		require.NoError(t, err, c.pattern)
		assert.Equal(t, c.matches, p.Matches("GET", "", c.path, c.raw), "%s against %q (%q)", c.pattern, c.path, c.raw)
		if c.matches {
			assert.Equal(t, c.value, p.Value("x", c.path, c.raw), "%s against %q (%q)", c.pattern, c.path, c.raw)
		}
	}
}
