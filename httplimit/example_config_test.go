package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/rules"
)

// ask decides a GET of the path by a client with an API key, and prints what the filter says.
func ask(f *httplimit.Filter, path, apiKey string) {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("X-API-Key", apiKey)
	v := f.Decide(r)
	fmt.Printf("%s %s: %d %v\n", path, apiKey, v.Status(), v.Reason)
}

// Rules that change while they run, by plan and path.
func ExampleConfig() {
	spec, err := rules.ParseJSON([]byte(`{
		"plans": {"names": ["premium"], "from": "header:X-API-Key", "values": {"k-paid": "premium"}},
		"rules": [
			{"name": "per-key", "key": "header:X-API-Key", "missing": "refuse", "limit": "1/hour", "plans": {"premium": {"limit": "9/hour"}}},
			{"name": "search", "match": "GET /search", "key": "ip", "limit": "2/hour"}
		]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := rules.NewStore(spec, rules.Config{Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	filter, err := httplimit.New(httplimit.Config{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(filter, "/items", "k-1")
	ask(filter, "/items", "k-1")
	ask(filter, "/items", "k-paid")
	ask(filter, "/search", "k-paid")
	ask(filter, "/search", "k-paid")
	ask(filter, "/search", "k-paid")
	// Output:
	// /items k-1: 200 passed
	// /items k-1: 429 limited
	// /items k-paid: 200 passed
	// /search k-paid: 200 passed
	// /search k-paid: 200 passed
	// /search k-paid: 429 limited
}

// Logins: failures count, successes don't, and the address is limited beside the account.
func ExampleRule() {
	account := httplimit.KeyFunc(func(r *http.Request) string { return r.FormValue("email") }).Normalize(strings.ToLower)
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{
			{Name: "account", Limit: ratelimit.PerHour(2).Burst(2), Key: account, Refund: httplimit.OnSuccess},
			{Name: "address", Limit: ratelimit.PerHour(100).Burst(100), Refund: httplimit.OnSuccess},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	login := filter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("password") != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	for _, query := range []string{
		"email=ada@example.org&password=right", "email=ada@example.org&password=right", "email=ada@example.org&password=right",
		"email=bob@example.org&password=wrong", "email=Bob@example.org&password=wrong", "email=BOB@example.org&password=right",
	} {
		w := httptest.NewRecorder()
		login.ServeHTTP(w, httptest.NewRequest("GET", "/login?"+query, nil))
		fmt.Print(w.Code, " ")
	}
	// Output: 200 200 200 401 401 429
}

func ExampleKey() {
	for _, key := range []httplimit.Key{
		httplimit.IP(),
		httplimit.IPPrefix(24, 48),
		httplimit.First(httplimit.Header("X-API-Key"), httplimit.IP()),
		httplimit.All(httplimit.IP(), httplimit.Route()),
		httplimit.Global(),
	} {
		fmt.Println(key)
	}
	// Output:
	// ip
	// ip/24/48
	// header:X-Api-Key, ip
	// ip+route
	// global
}

func ExampleList() {
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{Limit: ratelimit.PerHour(1).Burst(1)}},
		Allow: httplimit.List{Key: httplimit.Header("X-API-Key"), Values: []string{"k-monitoring"}},
		Block: httplimit.List{Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		ask(filter, "/", "k-monitoring")
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "203.0.113.7:4711"
	fmt.Println(filter.Decide(r).Reason)
	// Output:
	// / k-monitoring: 200 passed
	// / k-monitoring: 200 passed
	// blocked
}

// A candidate beside the rule in force: how often would it have refused?
func ExampleStats() {
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{
			{Name: "now", Limit: ratelimit.PerHour(5).Burst(5)},
			{Name: "candidate", Limit: ratelimit.PerHour(2).Burst(2), Mode: httplimit.Shadow},
		},
		Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 7 {
		filter.Decide(httptest.NewRequest("GET", "/", nil))
	}
	for _, r := range filter.Stats().Rules {
		fmt.Println(r.Rule, "allowed", r.Allowed, "refused", r.Refused, "would refuse", r.Shadow, "of which passed", r.Stricter)
	}
	for _, k := range filter.Top(1) {
		fmt.Println(k.Rule, k.Key, k.Refused)
	}
	// Output:
	// now allowed 5 refused 2 would refuse 0 of which passed 0
	// candidate allowed 2 refused 0 would refuse 5 of which passed 3
	// now ip=192.0.2.1 2
}

// An operator looks at one client, and sets it free.
func ExampleExplanation() {
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{Name: "api", Limit: ratelimit.PerHour(1).Burst(1)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest("GET", "/", nil)
	filter.Decide(r)
	for _, e := range filter.Explain(r) {
		fmt.Println(e.Rule, e.KeyOf, e.Key, e.Limiter.Peek(e.RawKey, 0).Remaining)
		e.Limiter.(ratelimit.Local).Reset(e.RawKey)
	}
	fmt.Println(filter.Decide(r).Allowed)
	// Output:
	// api ip ip=192.0.2.1 0
	// true
}

func ExampleReason() {
	for r := httplimit.Passed; r <= httplimit.Unavailable; r++ {
		fmt.Println(r.Status(), r)
	}
	// Output:
	// 200 passed
	// 429 limited
	// 403 blocked
	// 400 key missing
	// 431 key too long
	// 503 unavailable
}
