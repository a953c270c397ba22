package httplimit_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
)

// generous is a rule that a benchmark doesn't use up.
var generous = ratelimit.PerSecond(1e9).Burst(1e9)

// sink is a ResponseWriter whose header map is there already, as net/http's own isn't what is measured.
type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) Write(p []byte) (int, error) { return len(p), nil }
func (s sink) WriteHeader(int)             {}

type nothing struct{}

func (nothing) ServeHTTP(http.ResponseWriter, *http.Request) {}

func newSink() sink { return sink{http.Header{}} }

// from returns a request of the address, without the buffers of httptest.
func from(addr string) *http.Request {
	return &http.Request{Method: "GET", RemoteAddr: addr, Header: http.Header{"X-Api-Key": {"k-0123456789abcdef"}}}
}

func mustNew(t testing.TB, c httplimit.Config) *httplimit.Filter {
	t.Helper()
	f, err := httplimit.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What the filter may cost is told in units of limiter=tryacquire: 3 of them without headers, 10 with.
func BenchmarkFilter(b *testing.B) {
	b.Run("limiter=tryacquire", func(b *testing.B) {
		l, err := ratelimit.New(generous, ratelimit.Config{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			l.TryAcquire("k-0123456789abcdef")
		}
	})
	b.Run("handler=bare", func(b *testing.B) {
		var h http.Handler = nothing{}
		w, r := newSink(), from("192.0.2.1:4711")
		for b.Loop() {
			h.ServeHTTP(w, r)
		}
	})
	ip := httplimit.Rule{Limit: generous}
	key := httplimit.Rule{Name: "key", Limit: generous, Key: httplimit.Header("X-API-Key")}
	for _, c := range []struct {
		name   string
		config httplimit.Config
	}{
		{"rules=1/key=ip/headers=none", httplimit.Config{Rules: []httplimit.Rule{ip}, When: httplimit.Never}},
		{"rules=1/key=header/headers=none", httplimit.Config{Rules: []httplimit.Rule{key}, When: httplimit.Never}},
		{"rules=1/key=ip/headers=default", httplimit.Config{Rules: []httplimit.Rule{ip}}},
		{"rules=2/key=both/headers=none", httplimit.Config{Rules: []httplimit.Rule{ip, key}, When: httplimit.Never}},
		{"rules=2/key=both/headers=default", httplimit.Config{Rules: []httplimit.Rule{ip, key}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := mustNew(b, c.config).Wrap(nothing{})
			w, r := newSink(), from("192.0.2.1:4711")
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				h.ServeHTTP(w, r)
			}
		})
	}
}

// What an attacker costs: each request is refused, told so, and counted among the top keys.
func BenchmarkRefusal(b *testing.B) {
	for _, c := range []struct {
		name   string
		accept []string
	}{{"body=json", nil}, {"body=text", []string{"text/html"}}} {
		b.Run(c.name, func(b *testing.B) {
			h := mustNew(b, httplimit.Config{Rules: []httplimit.Rule{{Limit: ratelimit.PerDay(1).Burst(1)}}}).Wrap(nothing{})
			w, r := newSink(), from("192.0.2.1:4711")
			r.Header["Accept"] = c.accept
			h.ServeHTTP(w, r)
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				h.ServeHTTP(w, r)
			}
		})
	}
}

// What WrapProxy adds, at a writer like net/http's: one allocation.
func BenchmarkWrapProxy(b *testing.B) {
	f := mustNew(b, httplimit.Config{Rules: []httplimit.Rule{{Limit: generous}}})
	for name, h := range map[string]http.Handler{"wrap=handler": f.Wrap(nothing{}), "wrap=proxy": f.WrapProxy(nothing{})} {
		b.Run(name, func(b *testing.B) {
			w, r := newSink(), from("192.0.2.1:4711")
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				h.ServeHTTP(w, r)
			}
		})
	}
}

// With RunParallel and -cpu: the counters, the pool and the clients are each processor's own.
func BenchmarkFilterParallel(b *testing.B) {
	h := mustNew(b, httplimit.Config{Rules: []httplimit.Rule{{Limit: generous}}, When: httplimit.Never}).Wrap(nothing{})
	var client atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		w, r := newSink(), from(fmt.Sprintf("192.0.2.%d:4711", client.Add(1)%256))
		for pb.Next() {
			h.ServeHTTP(w, r)
		}
	})
}
