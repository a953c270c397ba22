package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") })

func ExamplePerIP() {
	handler := httplimit.PerIP(ratelimit.PerMinute(2))(hello)
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 "ip";q=2;w=60
	// 200 "ip";q=2;w=60
	// 429 "ip";q=2;w=60
}

func ExampleFilter_Wrap() {
	clock := &limittest.ManualClock{} // stands still, for this page
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{
			Name:  "api",
			Limit: ratelimit.PerMinute(60).Burst(1),
			Key:   httplimit.First(httplimit.Header("X-API-Key"), httplimit.IP()),
		}},
		Limiters: ratelimit.Config{Clock: clock, MaxKeys: 1_000_000},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := filter.Wrap(hello)

	for range 2 {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-API-Key", "k-1")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Printf("%d %s %q\n", w.Code, w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
		fmt.Print(w.Body)
	}
	// Output:
	// 200 "api";r=0;t=1 ""
	// hello
	// 429 "api";r=0;t=1 "1"
	// {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests","status":429,"violated-policies":["api"]}
}

// A forward-auth endpoint answers for the filter, and leaves the request itself to the proxy that asks.
func ExampleFilter_Decide() {
	filter, err := httplimit.New(httplimit.Config{
		Rules:    []httplimit.Rule{{Limit: ratelimit.PerHour(1).Burst(1)}},
		Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	auth := func(w http.ResponseWriter, r *http.Request) {
		if v := filter.Decide(r); v.Allowed {
			v.SetHeaders(w.Header())
			w.WriteHeader(v.Status())
		} else {
			filter.Refuse(w, r, v)
		}
	}
	for range 2 {
		w := httptest.NewRecorder()
		auth(w, httptest.NewRequest("GET", "/auth", nil))
		fmt.Printf("%d %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 ""
	// 429 "3600"
}

type userKey struct{}

func ExampleUser() {
	user := httplimit.User(func(r *http.Request) string {
		name, _ := r.Context().Value(userKey{}).(string)
		return name
	})
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{Limit: ratelimit.PerHour(1).Burst(1), Key: user}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"ada", "ada", "bob", ""} {
		r := httptest.NewRequest("GET", "/", nil)
		v := filter.Decide(r.WithContext(context.WithValue(r.Context(), userKey{}, name)))
		fmt.Printf("%q: %v\n", name, v.Reason)
	}
	// Output:
	// "ada": passed
	// "ada": limited
	// "bob": passed
	// "": key missing
}

func ExampleProxies() {
	filter, err := httplimit.New(httplimit.Config{
		Rules:   []httplimit.Rule{{Limit: ratelimit.PerHour(1).Burst(1)}},
		Proxies: httplimit.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, header := range []string{
		"203.0.113.5",               // the proxy says so
		"203.0.113.6",               // another client
		"198.51.100.1, 203.0.113.5", // the first one lies; the proxy adds who he is
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.7:43210"
		r.Header.Set("X-Forwarded-For", header)
		fmt.Println(filter.Decide(r).Reason)
	}
	// Output:
	// passed
	// passed
	// limited
}

func ExampleVerdict() {
	clock := &limittest.ManualClock{}
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{
			{Name: "second", Limit: ratelimit.PerSecond(5).Burst(5)},
			{Name: "day", Limit: ratelimit.PerDay(100).Burst(100)},
		},
		Limiters: ratelimit.Config{Clock: clock},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := filter.Decide(httptest.NewRequest("GET", "/", nil))
	fmt.Println(v.Status(), v.Rule, v.Decision.Remaining)
	for _, r := range v.Results() {
		fmt.Println(r.Rule, r.Decision.Remaining, r.Decision.ResetAfter.Round(time.Second))
	}
	// Output:
	// 200 second 4
	// second 4 0s
	// day 99 14m24s
}
