package rules_test

import (
	"errors"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mistakes are specs with one mistake each: where it is, of which kind, and a word that the message must have.
var mistakes = []struct {
	name string
	json string
	path string
	kind error
	says string
}{
	{"no rules", `{}`, "rules", rules.ErrRequired, "nothing would be limited"},
	{"no name", `{"rules": [{"key": "ip", "limit": "1/s"}]}`, "rules[0].name", rules.ErrRequired, "name"},
	{"bad name", `{"rules": [{"name": "my rule", "key": "ip", "limit": "1/s"}]}`, "rules[0].name", rules.ErrValue, "letter"},
	{"duplicate name", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s"}, {"name": "a", "key": "user", "missing": "skip", "limit": "1/s"}]}`,
		"rules[1].name", rules.ErrDuplicate, "rules[0]"},
	{"no key", `{"rules": [{"name": "a", "limit": "1/s"}]}`, "rules[0].key", rules.ErrRequired, "ip"},
	{"no limit", `{"rules": [{"name": "a", "key": "ip"}]}`, "rules[0].limit", rules.ErrRequired, "100/minute"},
	{"burst without a limit", `{"rules": [{"name": "a", "key": "ip", "burst": 3, "mode": "block"}]}`, "rules[0].limit", rules.ErrRequired, "3"},
	{"zero burst", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "burst": 0}]}`, "rules[0].burst", ratelimit.ErrInvalidRule, "at least 1"},
	{"negative burst", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "burst": -5}]}`, "rules[0].burst", ratelimit.ErrInvalidRule, "-5"},
	{"burst of a window", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "burst": 5, "algorithm": "fixed_window"}]}`,
		"rules[0].burst", ratelimit.ErrInvalidRule, "fixed_window has no burst"},
	{"burst of a plan's window", `{"plans": {"names": "p"}, "rules": [{"name": "a", "key": "ip", "algorithm": "SLIDING_WINDOW_LOG", "plans": {"p": {"limit": "1/s", "burst": 5}}}]}`, "rules[0].plans.p.burst", ratelimit.ErrInvalidRule, "no burst"},
	{"burst out of range", `{"rules": [{"name": "a", "key": "ip", "limit": "1/year", "burst": 5}]}`, "rules[0].limit", ratelimit.ErrInvalidRule, "1/year"},
	{"burst beyond a century", `{"rules": [{"name": "a", "key": "ip", "limit": "1/day", "burst": 900000000000000}]}`,
		"rules[0].burst", ratelimit.ErrInvalidRule, "900000000000000"},
	{"cost of nothing", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "cost": 0}]}`, "rules[0].cost", ratelimit.ErrInvalidRule, "at least 1"},
	{"negative cost", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "cost": -1}]}`, "rules[0].cost", ratelimit.ErrInvalidRule, "-1"},
	{"cost above the burst", `{"rules": [{"name": "a", "key": "ip", "limit": "5/s", "cost": 6}]}`, "rules[0]", ratelimit.ErrInvalidRule, "none would pass"},
	{"cost above the share", `{"rules": [{"name": "a", "key": "ip", "limit": "6/s", "cost": 3, "share": 3}]}`, "rules[0]", ratelimit.ErrInvalidRule, "more than the 2"},
	{"share of nobody", `{"rules": [{"name": "a", "key": "ip", "limit": "6/s", "share": 0}]}`, "rules[0].share", ratelimit.ErrInvalidRule, "at least 1"},
	{"share of a store", `{"store": "redis://r", "rules": [{"name": "a", "key": "ip", "limit": "6/s", "share": 2}]}`, "rules[0].share", rules.ErrConflict, "shared"},
	{"unknown mode", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "mode": "shade"}]}`, "rules[0].mode", rules.ErrValue, "enforce, shadow or block"},
	{"unknown algorithm", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "algorithm": "leaky"}]}`, "rules[0].algorithm", rules.ErrValue, "token_bucket"},
	{"bad status", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "refund": ["5xx", "6xx"]}]}`, "rules[0].refund[1]", rules.ErrValue, "5xx"},
	{"status range backwards", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "refund": "503-500"}]}`, "rules[0].refund[0]", rules.ErrValue, "range"},
	{"bad layer", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "layer": "a b"}]}`, "rules[0].layer", rules.ErrValue, "letter"},

	{"unknown kind of key", `{"rules": [{"name": "a", "key": "header", "limit": "1/s"}]}`, "rules[0].key", rules.ErrKey, "header:NAME"},
	{"key twice", `{"rules": [{"name": "a", "key": ["user", "user"], "missing": "skip", "limit": "1/s"}]}`, "rules[0].key", rules.ErrKey, "twice"},
	{"key never used", `{"rules": [{"name": "a", "key": ["ip", "header:X-API-Key"], "limit": "1/s"}]}`, "rules[0].key", rules.ErrKey, "never used"},
	{"key that can be missing", `{"rules": [{"name": "a", "key": "header:X-API-Key", "limit": "1/s"}]}`, "rules[0].missing", rules.ErrRequired, "skip or refuse"},
	{"wildcard that isn't there", `{"rules": [{"name": "a", "match": "/{t}/x", "key": "path:tenant", "limit": "1/s"}]}`, "rules[0].key", rules.ErrKey, "tenant"},

	{"bad pattern", `{"rules": [{"name": "a", "match": "v1", "key": "ip", "limit": "1/s"}]}`, "rules[0].match[0]", rules.ErrPattern, ""},
	{"pattern that can't match", `{"rules": [{"name": "a", "match": ["/a", "/a/../b"], "key": "ip", "limit": "1/s"}]}`, "rules[0].match[1]", rules.ErrPattern, "cleaned"},
	{"pattern twice", `{"rules": [{"name": "a", "match": ["/a", "/a"], "key": "ip", "limit": "1/s"}]}`, "rules[0].match[1]", rules.ErrDuplicate, "same rule"},
	{"two rules, one request", `{"rules": [{"name": "a", "match": "/{x}/b", "key": "ip", "limit": "1/s"}, {"name": "b", "match": "/a/{y}", "key": "ip", "limit": "1/s"}]}`,
		"rules[1].match[0]", rules.ErrConflict, "rule a (rules[0])"},
	{"two rules without patterns", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s"}, {"name": "b", "key": "ip", "limit": "1/s"}]}`,
		"rules[1]", rules.ErrConflict, "rule a (rules[0])"},

	{"plan that isn't declared", `{"rules": [{"name": "a", "key": "ip", "limit": "1/s", "plans": {"gold": {"limit": "2/s"}}}]}`, "rules[0].plans.gold", rules.ErrPlan, "plans.names"},
	{"plan without a limit", `{"plans": {"names": "p"}, "rules": [{"name": "a", "key": "ip", "plans": {"p": {"burst": 2}}}]}`, "rules[0].plans.p.limit", rules.ErrRequired, "unlimited"},
	{"plan with and without limits", `{"plans": {"names": "p"}, "rules": [{"name": "a", "key": "ip", "plans": {"p": {"limit": "1/s", "unlimited": true}}}]}`,
		"rules[0].plans.p.unlimited", rules.ErrConflict, "limit"},
	{"plan without a rule", `{"plans": {"names": ["free", "gold"], "default": "free"}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "plans.names[1]", rules.ErrPlan, `"gold"`},
	{"default plan without a rule", `{"plans": {"names": ["free", "gold"], "default": "free"}, "rules": [{"name": "a", "key": "ip", "plans": {"gold": {"limit": "1/s"}}}]}`,
		"plans.names[0]", rules.ErrPlan, `"free"`},
	{"plan twice", `{"plans": {"names": ["p", "p"]}, "rules": [{"name": "a", "key": "ip", "plans": {"p": {"limit": "1/s"}}}]}`, "plans.names[1]", rules.ErrDuplicate, "twice"},
	{"unknown default plan", `{"plans": {"default": "p"}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "plans.default", rules.ErrPlan, "declared"},
	{"plan by address", `{"plans": {"names": "p", "from": "ip"}, "rules": [{"name": "a", "key": "ip", "plans": {"p": {"limit": "1/s"}}}]}`, "plans.from", rules.ErrKey, "header"},
	{"plan from, but none declared", `{"plans": {"from": "header:X-Plan"}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "plans.names", rules.ErrRequired, "declared"},
	{"values of nothing", `{"plans": {"names": "p", "values": {"k": "p"}}, "rules": [{"name": "a", "key": "ip", "plans": {"p": {"limit": "1/s"}}}]}`, "plans.from", rules.ErrRequired, "values"},
	{"value of an unknown plan", `{"plans": {"names": "p", "from": "header:K", "values": {"secret": "q"}}, "rules": [{"name": "a", "key": "ip", "plans": {"p": {"limit": "1/s"}}}]}`,
		"plans.values", rules.ErrPlan, `"q"`},

	{"trust everybody", `{"proxies": {"trusted": "0.0.0.0/0"}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "proxies.trusted[0]", rules.ErrTrust, "any client"},
	{"trust a half of the internet", `{"proxies": {"trusted": ["private", "2000::/3"]}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "proxies.trusted[1]", rules.ErrTrust, "/7"},
	{"trust everybody in disguise", `{"proxies": {"trusted": "::ffff:0:0/96"}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "proxies.trusted[0]", rules.ErrTrust, "any client"},
	{"trust nobody by a header", `{"proxies": {"source": "forwarded"}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "proxies.source", rules.ErrRequired, "never read"},
	{"unknown source", `{"proxies": {"trusted": "loopback", "source": "cookie:x"}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "proxies.source", rules.ErrValue, "header:NAME"},
	{"prefix with stray bits", `{"block": "10.1.2.3/8", "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "block[0]", rules.ErrValue, "10.0.0.0/8"},
	{"allow everybody", `{"allow": ["0.0.0.0/1", "128.0.0.0/1"], "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "allow", rules.ErrTrust, "IPv4"},
	{"allow and block", `{"allow": "user=x", "block": "user=x", "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "block[0]", rules.ErrConflict, "allowed too"},
	{"block twice", `{"block": ["user=x", "user=x"], "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "block[1]", rules.ErrDuplicate, "twice"},
	{"block by a route", `{"block": ["route=x"], "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "block[0]", rules.ErrKey, "route"},
	{"block by an address as a key", `{"block": ["ip=192.0.2.1"], "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "block[0]", rules.ErrKey, "alone"},

	{"unknown style", `{"headers": {"styles": "draft7"}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "headers.styles[0]", rules.ErrValue, "draft8"},
	{"style twice", `{"headers": {"styles": ["draft8", "draft8"]}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "headers.styles[1]", rules.ErrDuplicate, "twice"},
	{"two meanings of one header", `{"headers": {"styles": ["x-delta", "x-epoch"]}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "headers.styles", rules.ErrConflict, "choose one"},
	{"unknown when", `{"headers": {"when": "sometimes"}, "rules": [{"name": "a", "key": "ip", "limit": "1/s"}]}`, "headers.when", rules.ErrValue, "always"},
}

func TestEachMistakeIsFound(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			_, err := rules.ParseJSON([]byte(m.json))
			var e *rules.Error
			require.ErrorAs(t, err, &e)
			require.Len(t, e.Problems, 1, "%v", err)
			assert.Equal(t, m.path, e.Problems[0].Path)
			assert.ErrorIs(t, err, m.kind)
			assert.ErrorIs(t, err, rules.ErrInvalidSpec)
			assert.Contains(t, err.Error(), m.says)
			assert.Equal(t, 1, e.Problems[0].Line, "JSON knows its lines")
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	burst, cost := int64(0), int64(-1)
	spec := rules.Spec{
		Plans:   rules.PlansSpec{Names: rules.List{"gold"}},
		Proxies: rules.ProxiesSpec{Trusted: rules.List{"0.0.0.0/0", "nonsense"}},
		Rules: []rules.RuleSpec{
			{Name: "search", Match: rules.List{"get /search"}, Key: rules.List{"ip"}, Limit: ratelimit.PerMinute(5), Burst: &burst},
			{Name: "search", Key: rules.List{"cookies"}, Limit: ratelimit.Rate{Tokens: 1, Per: -time.Second}, Cost: &cost},
		},
	}
	_, err := rules.Compile(spec)
	for path, kind := range map[string]error{
		"plans.names[0]":     rules.ErrPlan,
		"proxies.trusted[0]": rules.ErrTrust,
		"proxies.trusted[1]": rules.ErrValue,
		"rules[0].match[0]":  rules.ErrPattern,
		"rules[0].burst":     ratelimit.ErrInvalidRule,
		"rules[1].name":      rules.ErrDuplicate,
		"rules[1].key":       rules.ErrKey,
		"rules[1].limit":     ratelimit.ErrInvalidRule,
		"rules[1].cost":      ratelimit.ErrInvalidRule,
	} {
		p := problemAt(t, err, path)
		assert.ErrorIs(t, p, kind, path)
		assert.ErrorIs(t, p, rules.ErrInvalidSpec, path)
		assert.Contains(t, err.Error(), p.Error())
	}
	var e *rules.Error
	require.ErrorAs(t, err, &e)
	assert.Len(t, e.Problems, 9)
	assert.Equal(t, "search", problemAt(t, err, "rules[1].cost").Rule, "the rule is named")
}

func TestNoCredentialInMessages(t *testing.T) {
	spec := rules.Spec{
		Plans: rules.PlansSpec{Names: rules.List{"p"}, From: "header:X-API-Key", Values: map[string]string{"hunter2": "q"}},
		Allow: rules.List{"header:X-API-Key=hunter2", "header:X-API-Key=hunter2", "route=hunter2"},
		Block: rules.List{"header:X-API-Key=hunter2"},
	}
	assert.NotContains(t, spec.Validate().Error(), "hunter2")
	_, err := rules.ParseJSON([]byte(`{"plans": {"values": {"hunter2": 7, "hunter2": 8}}}`))
	assert.NotContains(t, err.Error(), "hunter2")
	assert.ErrorIs(t, err, rules.ErrType)
}

func TestUnknownEnumsInGo(t *testing.T) {
	rule := perIP("1/s")
	rule.Mode, rule.Missing, rule.Algorithm = 9, 9, 9
	spec := rules.Spec{Headers: rules.HeadersSpec{When: 9}, Rules: []rules.RuleSpec{rule}}
	err := spec.Validate()
	for _, path := range []string{"headers.when", "rules[0].mode", "rules[0].missing", "rules[0].algorithm"} {
		assert.NotEmpty(t, problemAt(t, err, path).Text)
	}
	assert.True(t, errors.Is(err, ratelimit.ErrInvalidRule))
}
