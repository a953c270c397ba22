package httplimit_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/rules"
)

// specOf reads rules in JSON.
func specOf(t testing.TB, text string) rules.Spec {
	t.Helper()
	var spec rules.Spec
	require.NoError(t, json.Unmarshal([]byte(text), &spec))
	return spec
}

// storeOf returns a store of rules in JSON, on a clock that stands still.
func storeOf(t testing.TB, text string) *rules.Store {
	t.Helper()
	store, err := rules.NewStore(specOf(t, text), rules.Config{Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}}})
	require.NoError(t, err)
	return store
}

// send sends "METHOD /path" through h, with headers given as "Name: value".
func send(h http.Handler, line string, headers ...string) *http.Response {
	method, target, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = "192.0.2.1:4711"
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

const planned = `{
	"plans": {"names": ["free", "premium", "staff"], "default": "free", "from": "header:X-API-Key", "values": {"k-paid": "premium", "k-boss": "staff"}},
	"rules": [
		{"name": "per-key", "key": "header:X-API-Key", "missing": "skip", "limit": "2/hour",
		 "plans": {"premium": {"limit": "4/hour"}, "staff": {"unlimited": true}}},
		{"name": "search", "match": "GET /search/{kind}", "key": "header:X-API-Key+path:kind", "missing": "skip", "limit": "1/hour",
		 "layer": "search"},
		{"name": "address", "key": "ip", "limit": "100/hour"}
	]}`

func TestPlansAndEndpoints(t *testing.T) {
	h := mustNew(t, httplimit.Config{Store: storeOf(t, planned)}).Wrap(&counting{})
	policies := func(line, key string) string { return send(h, line, "X-API-Key: "+key).Header.Get("RateLimit-Policy") }
	assert.Equal(t, `"per-key";q=2;w=3600, "address";q=100;w=3600`, policies("GET /items", "k-1"))
	assert.Equal(t, `"per-key";q=4;w=3600, "address";q=100;w=3600`, policies("GET /items", "k-paid"))
	assert.Equal(t, `"address";q=100;w=3600`, policies("GET /items", "k-boss"), "unlimited: no rule to tell of")
	assert.Equal(t, `"address";q=100;w=3600`, send(h, "GET /items").Header.Get("RateLimit-Policy"), "without a key: skipped")

	var got []int
	for _, c := range [][2]string{{"GET /search/a", "k-paid"}, {"GET /search/a", "k-paid"}, {"GET /search/b", "k-paid"}, {"POST /search/a", "k-paid"},
		{"GET /items", "k-paid"}} {
		got = append(got, send(h, c[0], "X-API-Key: "+c[1]).StatusCode)
	}
	assert.Equal(t, []int{200, 429, 200, 200, 429}, got, "each kind of search once an hour; 4 in all, the refused one uncounted")
}

func TestPlanOfTheProgram(t *testing.T) {
	for name, plan := range map[string]func(*http.Request) string{
		"PlanHeader": httplimit.PlanHeader("X-Plan"),
		"PlanTable": httplimit.PlanTable(func(r *http.Request) string { return r.Header.Get("X-User") },
			map[string]string{"ada": "premium"}),
	} {
		f := mustNew(t, httplimit.Config{Store: storeOf(t, planned), Plan: plan})
		got := send(f.Wrap(&counting{}), "GET /", "X-API-Key: k-1", "X-Plan: premium", "X-User: ada")
		assert.Contains(t, got.Header.Get("RateLimit-Policy"), `"per-key";q=4`, name)
		got = send(f.Wrap(&counting{}), "GET /", "X-API-Key: k-2", "X-Plan: none such")
		assert.Contains(t, got.Header.Get("RateLimit-Policy"), `"per-key";q=2`, name)
	}
}

func TestEveryKeyOfARuleFile(t *testing.T) {
	store := storeOf(t, `{"rules": [
		{"name": "all", "match": "GET /t/{tenant}/x", "limit": "1/hour", "missing": "refuse",
		 "key": ["header:X-K+cookie:sid+query:q+user+host+method+route+path:tenant+func:f+ip/24/56"]},
		{"name": "world", "key": "global", "limit": "100/hour"}]}`)
	f := mustNew(t, httplimit.Config{Store: store, Funcs: map[string]func(*http.Request) string{
		"f": func(r *http.Request) string { return r.Header.Get("X-F") },
	}})
	h := f.Wrap(&counting{})
	base := []string{"X-K: a", "Cookie: sid=b", "Authorization: Basic YWRhOnB3", "X-F: c"} // ada:pw
	assert.Equal(t, 200, send(h, "GET /t/acme/x?p=0&q=a%20b", base...).StatusCode)
	assert.Equal(t, 429, send(h, "GET /t/acme/x?q=a+b", base...).StatusCode, "the same client")
	for i, c := range []struct {
		line   string
		header []string
	}{
		{"GET /t/other/x?q=a+b", base},
		{"GET /t/acme/x?q=z", base},
		{"GET http://other.example.org/t/acme/x?q=a+b", base},
		{"HEAD /t/acme/x?q=a+b", base},
		{"GET /t/acme/x?q=a+b", []string{"X-K: z", base[1], base[2], base[3]}},
		{"GET /t/acme/x?q=a+b", []string{base[0], "Cookie: sid=z", base[2], base[3]}},
		{"GET /t/acme/x?q=a+b", []string{base[0], base[1], "Authorization: Basic Ym9iOnB3", base[3]}},
		{"GET /t/acme/x?q=a+b", []string{base[0], base[1], base[2], "X-F: z"}},
	} {
		assert.Equal(t, 200, send(h, c.line, c.header...).StatusCode, "another client, %d", i)
	}
	assert.Equal(t, 400, send(h, "GET /t/acme/x?q=a+b", base[:3]...).StatusCode, "a part is missing")

	e := f.Explain(httptest.NewRequest("GET", "/other", nil))
	require.Len(t, e, 1)
	assert.Equal(t, "all", e[0].Key, "one key for everybody")
	assert.EqualValues(t, 91, e[0].Limiter.Peek(e[0].RawKey, 0).Remaining, "9 were admitted by both rules")
}

func TestSettingsOfTheStore(t *testing.T) {
	text := `{"proxies": {"trusted": ["192.0.2.1", "unix"], "source": "header:X-Real-IP"},
		"headers": {"styles": ["draft6"], "when": "refused"},
		"allow": ["198.51.100.1", "header:X-API-Key=k-internal"], "block": ["203.0.113.0/24", "cookie:sid=stolen"],
		"rules": [{"name": "a", "key": "ip", "limit": "1/hour"}, {"name": "old", "match": "/old/", "mode": "block"}]}`
	f := mustNew(t, httplimit.Config{Store: storeOf(t, text)})
	h := f.Wrap(&counting{})
	got := func(lines ...string) int { return send(h, "GET /", lines...).StatusCode }
	assert.Equal(t, 200, got("X-Real-IP: 192.0.2.7"))
	assert.Equal(t, 429, got("X-Real-IP: 192.0.2.7"))
	refused := told(send(h, "GET /", "X-Real-IP: 192.0.2.7"))
	assert.Equal(t, map[string]string{"RateLimit-Limit": "1", "RateLimit-Remaining": "0", "RateLimit-Reset": "3600", "Retry-After": "3600"}, refused)
	for range 2 {
		assert.Equal(t, 200, got("X-Real-IP: 198.51.100.1"))
		assert.Equal(t, 200, got("X-Real-IP: 192.0.2.7", "X-API-Key: k-internal"))
		assert.Equal(t, 403, got("X-Real-IP: 203.0.113.9"))
		assert.Equal(t, 403, got("X-Real-IP: 192.0.2.8", "Cookie: sid=stolen"))
		assert.Equal(t, 403, send(h, "GET /old/x").StatusCode)
	}
	assert.True(t, f.FromProxy(from("192.0.2.1:1")))
	assert.True(t, f.FromProxy(from("@")))
	assert.False(t, f.FromProxy(from("192.0.2.2:1")))

	// What Config says goes before the store's word.
	f = mustNew(t, httplimit.Config{
		Store: storeOf(t, text), Proxies: trusting(t, "192.0.2.1"), Headers: httplimit.XEpoch, When: httplimit.NearLimit,
	})
	r := send(f.Wrap(&counting{}), "GET /", "X-Real-IP: 198.51.100.1", "X-Forwarded-For: 192.0.2.9")
	assert.Equal(t, map[string]string{"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "3600"}, told(r))
}

func TestRulesThatTheFilterCantServeAreRefused(t *testing.T) {
	const good = `{"rules": [{"name": "a", "key": "func:known", "missing": "skip", "limit": "1/hour"}]}`
	const bad = `{"rules": [{"name": "a", "key": "func:unknown", "missing": "skip", "limit": "1/hour"}]}`
	funcs := map[string]func(*http.Request) string{"known": func(*http.Request) string { return "x" }}
	_, err := httplimit.New(httplimit.Config{Store: storeOf(t, bad), Funcs: funcs})
	assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
	assert.ErrorContains(t, err, `"unknown"`)

	store := storeOf(t, good)
	f := mustNew(t, httplimit.Config{Store: store, Funcs: funcs})
	h := f.Wrap(&counting{})
	assert.Equal(t, 200, send(h, "GET /").StatusCode)
	assert.ErrorContains(t, store.Update(specOf(t, bad)), `"unknown"`)
	assert.Equal(t, 429, send(h, "GET /").StatusCode, "the old rules stand, and what was used")

	f.Close()
	assert.NoError(t, store.Update(specOf(t, bad)), "a closed filter isn't asked")
	assert.Equal(t, 429, send(h, "GET /").StatusCode, "and goes on with what it has")

	_, err = httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{{Limit: generous}}})
	assert.ErrorContains(t, err, "choose one")
	_, err = httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{Limit: generous}}, Funcs: funcs})
	assert.ErrorContains(t, err, "without a Store")
}

// A client at full rate through 1,000 changes of its limit: no request fails, no bucket is refilled, and the counts go on.
func TestReloadsUnderLoad(t *testing.T) {
	spec := func(n int) string {
		return fmt.Sprintf(`{"rules": [{"name": "api", "key": "header:X-API-Key", "missing": "refuse", "limit": "%d/hour"}]}`, n)
	}
	const least, most = 50, 60
	reloads := 1000
	if testing.Short() {
		reloads = 100
	}
	store := storeOf(t, spec(most))
	f := mustNew(t, httplimit.Config{Store: store})
	next := &counting{}
	h := f.Wrap(next)
	for range most - least + 5 { // then it is never full, at any of the limits, and gains nothing when one is raised
		send(h, "GET /", "X-API-Key: k-1")
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	sent := atomic.Uint64{}
	sent.Store(most - least + 5)
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				r := send(h, "GET /", "X-API-Key: k-1")
				sent.Add(1)
				if r.StatusCode != 200 && r.StatusCode != 429 {
					t.Errorf("status %d", r.StatusCode)
				}
				if left, err := strconv.Atoi(r.Header.Get("X-RateLimit-Remaining")); err != nil || left > most {
					t.Errorf("%v left, %v", left, err)
				}
			}
		})
	}
	for i := range reloads {
		require.NoError(t, store.Update(specOf(t, spec(least+(i*7)%(most-least+1)))))
	}
	stop.Store(true)
	wg.Wait()
	for range most { // whatever is left
		send(h, "GET /", "X-API-Key: k-1")
		sent.Add(1)
	}
	assert.EqualValues(t, most, next.calls.Load())
	s := f.Stats().Rules[0]
	assert.EqualValues(t, next.calls.Load(), s.Allowed)
	assert.Equal(t, sent.Load(), s.Allowed+s.Refused, "every request is counted once")
}
