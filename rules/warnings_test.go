package rules_test

import (
	"testing"

	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
)

func TestWarnings(t *testing.T) {
	keyed := func(missing rules.Missing, key ...string) rules.RuleSpec {
		r := named("keyed", "1/s")
		r.Key, r.Missing = key, missing
		return r
	}
	shadow, part := named("address", "1/s"), matching(named("address", "1/s"), "/v1/")
	shadow.Mode = rules.Shadow
	for _, c := range []struct {
		name  string
		rules []rules.RuleSpec
		paths []string
	}{
		{"by address", []rules.RuleSpec{perIP("1/s")}, nil},
		{"made-up keys", []rules.RuleSpec{keyed(rules.MissingRefuse, "header:X-API-Key")}, []string{"rules[0].key"}},
		{"made-up keys of a route", []rules.RuleSpec{keyed(rules.MissingRefuse, "query:k+route")}, []string{"rules[0].key"}},
		{"made-up methods and hosts", []rules.RuleSpec{keyed(rules.MissingUnset, "ip+method"), apartFrom(keyed(rules.MissingUnset, "ip+host"))},
			[]string{"rules[0].key", "rules[1].key"}},
		{"made-up keys that may be left out", []rules.RuleSpec{keyed(rules.MissingSkip, "cookie:sid")}, []string{"rules[0].key", "rules[0].missing"}},
		{"with a fall-back, each address has many", []rules.RuleSpec{keyed(rules.MissingUnset, "header:X-API-Key", "ip")}, []string{"rules[0].key"}},
		{"beside a rule for addresses", []rules.RuleSpec{keyed(rules.MissingSkip, "header:X-API-Key"), named("address", "1/s")}, nil},
		{"beside one that isn't enforced", []rules.RuleSpec{keyed(rules.MissingRefuse, "header:X-API-Key"), shadow}, []string{"rules[0].key"}},
		{"beside one for some requests", []rules.RuleSpec{keyed(rules.MissingRefuse, "header:X-API-Key"), part}, []string{"rules[0].key"}},
		{"with the address in it", []rules.RuleSpec{keyed(rules.MissingRefuse, "header:X-API-Key+ip")}, []string{"rules[0].key"}},
		{"users that the program knows", []rules.RuleSpec{keyed(rules.MissingRefuse, "user", "func:f")}, nil},
		{"users that may be nobody", []rules.RuleSpec{keyed(rules.MissingSkip, "user")}, []string{"rules[0].missing"}},
	} {
		var paths []string
		for _, w := range compiled(t, rules.Spec{Rules: c.rules}).Warnings() {
			assert.ErrorIs(t, w, rules.ErrTrust)
			assert.Contains(t, w.Rule, "keyed")
			paths = append(paths, w.Path)
		}
		assert.Equal(t, c.paths, paths, c.name)
	}
}

// apartFrom returns r under another name.
func apartFrom(r rules.RuleSpec) rules.RuleSpec {
	r.Name += ".2"
	return r
}

func TestWarningsOfPlans(t *testing.T) {
	rule := perIP("1/s")
	rule.Plans = map[string]rules.PlanLimit{"gold": {Unlimited: true}}
	spec := rules.Spec{Plans: rules.PlansSpec{Names: rules.List{"gold"}, From: "header:X-Plan"}, Rules: []rules.RuleSpec{rule}}
	warnings := compiled(t, spec).Warnings()
	if assert.Len(t, warnings, 1) {
		assert.Equal(t, "plans.from", warnings[0].Path)
	}
	spec.Plans.Values = map[string]string{"k-1": "gold"}
	assert.Empty(t, compiled(t, spec).Warnings())
}
