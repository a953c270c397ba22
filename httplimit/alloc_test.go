//go:build !race

package httplimit_test

// The race detector makes sync.Pool forget at random, so these pins hold without it.

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/rules"
)

func TestAllocationsPerAllowedRequest(t *testing.T) {
	trusted, err := rules.ParsePrefixes("192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	proxies := httplimit.Proxies{Trusted: trusted}
	ip := httplimit.Rule{Limit: generous}
	key := httplimit.Rule{Name: "key", Limit: generous, Key: httplimit.All(httplimit.Header("X-API-Key"), httplimit.Method())}
	for _, c := range []struct {
		name   string
		config httplimit.Config
		want   float64
	}{
		{"no headers", httplimit.Config{Rules: []httplimit.Rule{ip}, When: httplimit.Never}, 0},
		{"no headers, behind a proxy", httplimit.Config{Rules: []httplimit.Rule{ip}, When: httplimit.Never, Proxies: proxies}, 0},
		{"no headers, two rules", httplimit.Config{Rules: []httplimit.Rule{ip, key}, When: httplimit.Never}, 0},
		{"no headers far from the limit", httplimit.Config{Rules: []httplimit.Rule{key}, When: httplimit.NearLimit}, 0},
		{"default headers", httplimit.Config{Rules: []httplimit.Rule{ip}}, 2},
		{"default headers, two rules", httplimit.Config{Rules: []httplimit.Rule{ip, key}}, 2},
		{"every style", httplimit.Config{Rules: []httplimit.Rule{ip, key}, Headers: everyStyle}, 2},
	} {
		h := mustNew(t, c.config).Wrap(nothing{})
		w, r := newSink(), from("192.0.2.1:4711")
		r.Header["X-Forwarded-For"] = []string{"203.0.113.9, [2001:db8:1:2::5%eth0]:4711"}
		assert.Equal(t, c.want, testing.AllocsPerRun(1000, func() {
			clear(w.header)
			h.ServeHTTP(w, r)
		}), c.name)
	}
}

// Decide tells of one rule without allocating.
func TestAllocationsOfDecide(t *testing.T) {
	f := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Limit: generous}}})
	r := from("192.0.2.1:4711")
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		if !f.Decide(r).Allowed {
			t.Fatal("refused")
		}
	}))
}

// A proxy costs one more: the writer that keeps the fields.
func TestAllocationsOfWrapProxy(t *testing.T) {
	for when, want := range map[httplimit.When]float64{httplimit.Always: 3, httplimit.OnRefusal: 0} {
		h := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Limit: generous}}, When: when}).WrapProxy(nothing{})
		w, r := newSink(), from("192.0.2.1:4711")
		assert.Equal(t, want, testing.AllocsPerRun(1000, func() {
			clear(w.header)
			h.ServeHTTP(w, r)
		}), "%v", when)
	}
}
