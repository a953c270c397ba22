package httplimit_test

// One test for each way in which filters of this kind have been reported to fail, where the tests beside the code don't
// show it already. The report is named.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/rules"
)

// still is a config of rules whose time stands still.
func still(rs ...httplimit.Rule) httplimit.Config {
	return httplimit.Config{Rules: rs, Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}}}
}

func statuses(h http.Handler, requests ...*http.Request) (got []int) {
	for _, r := range requests {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got = append(got, w.Code)
	}
	return got
}

func trusting(t testing.TB, texts ...string) httplimit.Proxies {
	t.Helper()
	trusted, err := rules.ParsePrefixes(texts...)
	require.NoError(t, err)
	return httplimit.Proxies{Trusted: trusted}
}

// traefik/traefik#9721, express-rate-limit#502: one customer turns through its /64.
func TestTurningThroughAPrefixIsOneClient(t *testing.T) {
	c := still(httplimit.Rule{Limit: ratelimit.PerMinute(1).Burst(1)})
	c.Proxies = trusting(t, "192.0.2.1")
	h := mustNew(t, c).Wrap(&counting{})
	var got []int
	for _, client := range []string{"2001:db8:1:2::a", "2001:db8:1:2::b", "2001:db8:1:3::a"} {
		got = append(got, get(h, "192.0.2.1:80", "X-Forwarded-For: "+client).StatusCode)
	}
	assert.Equal(t, []int{200, 429, 200}, got)
}

// GrottoCenter/grottocenter-api#1787: each connection has its own source port.
func TestEachConnectionIsNotAClient(t *testing.T) {
	h := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerMinute(10).Burst(10)})).Wrap(&counting{})
	refused := 0
	for i := range 12 {
		if get(h, fmt.Sprintf("192.0.2.10:%d", 50001+i)).StatusCode == 429 {
			refused++
		}
	}
	assert.Equal(t, 2, refused)
}

// rack/rack-attack#493: the login code folds what the limit tells apart.
func TestLoginSpellings(t *testing.T) {
	email := httplimit.KeyFunc(func(r *http.Request) string { return r.FormValue("email") })
	login := func(email string) *http.Request {
		r := httptest.NewRequest("POST", "/login", strings.NewReader("email="+strings.ReplaceAll(email, " ", "+")))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return r
	}
	two := ratelimit.PerMinute(2).Burst(2)
	fold := func(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
	spellings := func() []*http.Request {
		return []*http.Request{login("u@example.org"), login("U@Example.org"), login(" u@example.org ")}
	}
	h := mustNew(t, still(httplimit.Rule{Limit: two, Key: email.Normalize(fold)})).Wrap(&counting{})
	assert.Equal(t, []int{200, 200, 429}, statuses(h, spellings()...))
	h = mustNew(t, still(httplimit.Rule{Limit: two, Key: email})).Wrap(&counting{})
	assert.Equal(t, []int{200, 200, 200}, statuses(h, spellings()...), "never by itself")
}

// cloudflare-docs#33122: spellings of a path that the router takes for one.
func TestSpellingsOfAPathAreOneEndpoint(t *testing.T) {
	paths := []string{"/login", "/login/", "//login", "/./login", "/%6Cogin", "/a/../login"}
	spec := rules.Spec{Rules: []rules.RuleSpec{{
		Name: "login", Match: rules.List{"/login", "/login/"}, Key: rules.List{"ip+route"}, Limit: ratelimit.PerHour(100),
	}}}
	store, err := rules.NewStore(spec, rules.Config{})
	require.NoError(t, err)
	before := mustNew(t, httplimit.Config{Store: store})

	// In front of the router, all of them meet the rule, whatever the router will redirect.
	for _, path := range paths {
		got := get2(before.Wrap(&counting{}), path)
		assert.Equal(t, `"login";q=100;w=3600`, got.Header.Get("RateLimit-Policy"), path)
	}

	// Behind the router, by the pattern that it matched.
	mux := http.NewServeMux()
	behind := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(2).Burst(2), Key: httplimit.All(httplimit.IP(), httplimit.Route())}))
	mux.Handle("GET /login/{name}", behind.Wrap(&counting{}))
	mux.Handle("GET /other", behind.Wrap(&counting{}))
	var got []int
	for _, path := range []string{"/login/a", "/login/%61", "/login/b", "/other"} {
		got = append(got, get2(mux, path).StatusCode)
	}
	assert.Equal(t, []int{200, 200, 429, 200}, got)
}

// get2 sends a request for the path, which is not cleaned.
func get2(h http.Handler, path string) *http.Response {
	r := httptest.NewRequest("GET", "http://api.example.org"+path, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// traefik/traefik#6687: the key that was asked for is ignored, and the address used.
func TestTheKeyThatWasAskedForIsUsed(t *testing.T) {
	h := mustNew(t, still(httplimit.Rule{
		Limit: ratelimit.PerMinute(1).Burst(1), Key: httplimit.First(httplimit.Header("X-Api-Key"), httplimit.IP()),
	})).Wrap(&counting{})
	var got []int
	for _, lines := range [][]string{{"X-Api-Key: k-1"}, {"X-Api-Key: k-2"}, {"X-Api-Key: k-1"}, nil, nil} {
		got = append(got, get(h, "192.0.2.1:1", lines...).StatusCode)
	}
	assert.Equal(t, []int{200, 200, 429, 200, 429}, got)
}

// ravangen/graphql-rate-limit#129, milvus-io/milvus#25597, mholt/caddy-ratelimit#10: a request that one rule refuses uses
// up another, or the order of the rules matters.
func TestARefusedRequestChargesNoRule(t *testing.T) {
	short := httplimit.Rule{Name: "short", Limit: ratelimit.PerMinute(10).Burst(10)}
	long := httplimit.Rule{Name: "long", Limit: ratelimit.PerHour(30).Burst(30)}
	var outcomes [2][]int
	for i, order := range [][]httplimit.Rule{{short, long}, {long, short}} {
		clock := &limittest.ManualClock{}
		f := mustNew(t, httplimit.Config{Rules: order, Limiters: ratelimit.Config{Clock: clock}})
		admitted := 0
		for range 31 { // in two minutes
			v := f.Decide(from("192.0.2.1:1"))
			outcomes[i] = append(outcomes[i], v.Status())
			if v.Allowed {
				admitted++
			} else {
				assert.Equal(t, "short", v.Rule)
			}
			clock.Advance(4 * time.Second)
		}
		assert.LessOrEqual(t, admitted, 10+20)
		for _, e := range f.Explain(from("192.0.2.1:1")) {
			if e.Rule == "long" {
				refilled := 31 * 4 / 120 // whole tokens of 30 an hour
				assert.EqualValues(t, 30-admitted+refilled, e.Limiter.Peek(e.RawKey, 0).Remaining, "the long rule paid for the admitted ones")
			}
		}
	}
	assert.Equal(t, outcomes[0], outcomes[1])
}

// bedis of several reports: an unverified key lets its sender mint buckets. MaxKeys bounds them, and those who are limited
// are not the ones forgotten.
func TestMintedKeysAreBounded(t *testing.T) {
	c := still(httplimit.Rule{Limit: ratelimit.PerHour(2).Burst(2), Key: httplimit.Header("X-API-Key")})
	c.Limiters.MaxKeys = 100
	f := mustNew(t, c)
	h := f.Wrap(&counting{})
	for range 3 {
		get(h, "192.0.2.1:1", "X-API-Key: k-limited")
	}
	for i := range 1000 {
		get(h, "192.0.2.1:1", fmt.Sprintf("X-API-Key: minted-%d", i))
	}
	assert.LessOrEqual(t, f.Stats().Rules[0].Keys.Keys, 100)
	assert.Equal(t, 429, get(h, "192.0.2.1:1", "X-API-Key: k-limited").StatusCode)
}
