package rules_test

import (
	"net/netip"
	"testing"

	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
)

func TestAllowAndBlock(t *testing.T) {
	set := compiled(t, rules.Spec{
		Allow: rules.List{"192.0.2.7", "user=admin"},
		Block: rules.List{"192.0.2.0/24", "header:x-api-key=a=b", "header:X-API-Key=c", "cookie:s=d"},
	})
	allow, block := set.Allow(), set.Block()
	assert.True(t, allow.Addr(netip.MustParseAddr("::ffff:192.0.2.7")))
	assert.False(t, allow.Addr(netip.MustParseAddr("192.0.2.8")))
	assert.True(t, block.Addr(netip.MustParseAddr("192.0.2.8")))
	assert.Equal(t, []rules.Part{{Kind: rules.Header, Name: "X-Api-Key"}, {Kind: rules.Cookie, Name: "s"}}, block.Parts(), "each is read once")
	assert.True(t, block.Has(0, "a=b"))
	assert.True(t, block.Has(0, "c"))
	assert.False(t, block.Has(0, "d"))
	assert.True(t, block.Has(1, "d"))
	assert.False(t, allow.Empty() || block.Empty())

	none := compiled(t, rules.Spec{Rules: []rules.RuleSpec{perIP("1/s")}})
	assert.True(t, none.Allow().Empty() && none.Block().Empty())
	assert.False(t, none.Allow().Addr(netip.MustParseAddr("192.0.2.7")))
	assert.True(t, none.Proxies().Trusted.Empty(), "nobody is trusted unless the operator says so")
}

func TestProxies(t *testing.T) {
	for source, want := range map[string]rules.Proxies{
		"":                        {Source: rules.SourceXForwardedFor},
		"x-forwarded-for":         {Source: rules.SourceXForwardedFor},
		"X-Forwarded-For":         {Source: rules.SourceXForwardedFor},
		"header:X-Forwarded-For":  {Source: rules.SourceXForwardedFor},
		"Forwarded":               {Source: rules.SourceForwarded},
		"header:cf-connecting-ip": {Source: rules.SourceHeader, Header: "Cf-Connecting-Ip"},
	} {
		p := compiled(t, rules.Spec{
			Proxies: rules.ProxiesSpec{Trusted: rules.List{"10.0.0.0/8", "unix"}, Source: source},
			Rules:   []rules.RuleSpec{perIP("1/s")},
		}).Proxies()
		assert.Equal(t, want.Source, p.Source, source)
		assert.Equal(t, want.Header, p.Header, source)
		assert.True(t, p.Unix)
		assert.True(t, p.Trusted.Contains(netip.MustParseAddr("10.1.1.1")))
		assert.False(t, p.Trusted.Contains(netip.MustParseAddr("11.1.1.1")))
	}
}

func TestRefunds(t *testing.T) {
	rule := perIP("1/s")
	rule.Refund = rules.List{"5XX", "404", "201-203"}
	set := compiled(t, rules.Spec{Rules: []rules.RuleSpec{rule, matching(named("none", "1/s"), "/a")}})
	r, none := set.Rules()[0], set.Rules()[1]
	for status, want := range map[int]bool{200: false, 201: true, 203: true, 204: false, 404: true, 403: false, 500: true, 599: true, 600: false, 0: false, -1: false, 5000: false} {
		assert.Equal(t, want, r.Refunds(status), status)
		assert.False(t, none.Refunds(status))
	}
	assert.True(t, r.HasRefund())
	assert.False(t, none.HasRefund())
}

func TestHeadersAndPlans(t *testing.T) {
	set := compiled(t, rules.Spec{Rules: []rules.RuleSpec{perIP("1/s")}})
	assert.Equal(t, rules.Headers{Styles: rules.Draft8 | rules.XDelta, When: rules.Always}, set.Headers())
	assert.False(t, set.HasPlans())
	assert.Zero(t, set.Plan("any"))
	_, ok := set.PlanFrom()
	assert.False(t, ok)

	set = compiled(t, rules.Spec{
		Headers: rules.HeadersSpec{Styles: rules.List{"x-epoch", "draft6", "draft12"}, When: rules.Never},
		Rules:   []rules.RuleSpec{perIP("1/s")},
	})
	assert.Equal(t, "draft12+draft6+x-epoch", set.Headers().Styles.String())
	assert.Equal(t, "never", set.Headers().When.String())
}
