package rules_test

import (
	"testing"

	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParsePart(t *testing.T) {
	for text, want := range map[string]rules.Part{
		"ip":               {Kind: rules.IP, V4: 32, V6: 64},
		"ip/56":            {Kind: rules.IP, V4: 32, V6: 56},
		"ip/24/48":         {Kind: rules.IP, V4: 24, V6: 48},
		"ip/32/128":        {Kind: rules.IP, V4: 32, V6: 128},
		"header:x-api-key": {Kind: rules.Header, Name: "X-Api-Key"},
		"cookie:sid":       {Kind: rules.Cookie, Name: "sid"},
		"query:api_key":    {Kind: rules.Query, Name: "api_key"},
		"user":             {Kind: rules.User},
		"host":             {Kind: rules.Host},
		"method":           {Kind: rules.Method},
		"route":            {Kind: rules.Route},
		"path:tenant":      {Kind: rules.Path, Name: "tenant"},
		"func:tenant.of":   {Kind: rules.Func, Name: "tenant.of"},
		"global":           {Kind: rules.Global},
	} {
		part, err := rules.ParsePart(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, part, text)
		again, err := rules.ParsePart(part.String())
		require.NoError(t, err, part.String())
		assert.Equal(t, part, again)
	}
	for _, text := range []string{"", "IP", "ip:", "ip/", "ip/0", "ip/129", "ip/33/64", "ip/24/", "ip/24/48/1", "ip/-1", "ip/+5", "address", "header", "header:",
		"header:a b", "header:ü", "header:a(b", "cookie:a=b", "query:", "path:1", "path:a-b", "func:1", "func:a b", "user:x", "global:x", "route:"} {
		_, err := rules.ParsePart(text)
		assert.ErrorIs(t, err, rules.ErrKey, text)
	}
}

func TestParseKey(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"ip"}, "ip"},
		{[]string{"ip/32/64"}, "ip"},
		{[]string{"header:x-api-key", "ip"}, "header:X-Api-Key, ip"},
		{[]string{"header:a + route", "cookie:s", "ip+method"}, "header:A+route, cookie:s, ip+method"},
		{[]string{"ip/128+ip/64"}, "ip/128+ip"},
	} {
		key, err := rules.ParseKey(c.texts...)
		require.NoError(t, err, c.texts)
		assert.Equal(t, c.want, key.String())
		assert.Len(t, key.Alternatives, len(c.texts))
	}
	for _, texts := range [][]string{
		{""}, {"ip+"}, {"+"}, {"ip+ip"}, {"ip+ip/64"}, {"global+ip"}, {"user", "user"}, {"header:a", "header:A"},
		{"ip", "user"}, {"global", "ip"}, {"route+ip", "user"}, {"user", "address"},
	} {
		_, err := rules.ParseKey(texts...)
		assert.ErrorIs(t, err, rules.ErrKey, "%q", texts)
	}
}

// Rules must say what becomes of a request without the key, exactly where there can be one.
func TestMissingMustBeSaid(t *testing.T) {
	for key, must := range map[string]bool{
		"ip": false, "global": false, "route": false, "method": false, "host": false, "ip+route": false, "path:tenant": false,
		"user": true, "header:A": true, "cookie:a": true, "query:a": true, "func:f": true, "ip+user": true, "path:rest": true,
	} {
		rule := perIP("1/s")
		rule.Match, rule.Key = rules.List{"/{tenant}/{rest...}"}, rules.List{key}
		err := rules.Spec{Rules: []rules.RuleSpec{rule}}.Validate()
		if must {
			assert.ErrorIs(t, problemAt(t, err, "rules[0].missing"), rules.ErrRequired, key)
			rule.Missing = rules.MissingSkip
			err = rules.Spec{Rules: []rules.RuleSpec{rule}}.Validate()
		}
		assert.NoError(t, err, key)
	}
}
