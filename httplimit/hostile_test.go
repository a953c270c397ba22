package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

const maxKeys = 64

// hostile is a filter with everything that a request's text can reach, on little memory.
func hostile(t testing.TB) *httplimit.Filter {
	once := ratelimit.PerHour(3).Burst(3)
	return mustNew(t, httplimit.Config{
		Rules: []httplimit.Rule{
			{Name: "address", Limit: once},
			{Name: "site", Limit: once, Key: httplimit.IPPrefix(24, 48)},
			{Name: "key", Limit: once, Missing: httplimit.MissingSkip, Key: httplimit.First(
				httplimit.All(httplimit.Header("X-API-Key"), httplimit.Query("q")), httplimit.Cookie("sid"), httplimit.Host())},
			{Name: "agent", Limit: once, Mode: httplimit.Shadow, Key: httplimit.Header("User-Agent").Normalize(strings.ToLower), Refund: httplimit.OnFailure},
		},
		Proxies:   trusting(t, "10.0.0.0/8", "::1"),
		Allow:     httplimit.List{Key: httplimit.Header("X-API-Key"), Values: []string{"k-internal"}},
		Limiters:  ratelimit.Config{Clock: &limittest.ManualClock{}, MaxKeys: maxKeys},
		MaxKeyLen: 1 << 10,
		Headers:   everyStyle,
	})
}

// expectedClient is clientAddr done the long way round: split everything, then walk.
func expectedClient(peer string, lines []string) (netip.Addr, bool) {
	trusted := func(a netip.Addr) bool {
		return netip.MustParsePrefix("10.0.0.0/8").Contains(a) || a == netip.IPv6Loopback()
	}
	parse := func(s string) (netip.Addr, bool) {
		s = strings.Trim(s, " \t")
		if ap, err := netip.ParseAddrPort(s); err == nil {
			return ap.Addr().Unmap().WithZone(""), true
		}
		a, err := netip.ParseAddr(s)
		return a.Unmap().WithZone(""), err == nil
	}
	client, ok := parse(peer)
	if !ok || !trusted(client) {
		return client, ok
	}
	hops := strings.Split(strings.Join(lines, ","), ",")
	for _, hop := range slices.Backward(hops) {
		if strings.Trim(hop, " \t") == "" {
			continue
		}
		a, ok := parse(hop)
		if !ok {
			break
		}
		client = a
		if !trusted(a) {
			break
		}
	}
	return client, true
}

func FuzzHostileRequests(f *testing.F) {
	f.Add("192.0.2.1:1", "", "", "", "/", "")
	f.Add("10.0.0.1:1", "198.51.100.7, garbage, 10.0.0.2", "k-1", "sid=1", "/a?q=1&q=%zz", "*/*;q=0")
	f.Add("[::1]:1", "::ffff:192.0.2.1\n[2001:db8::1%eth0]:80,,", "k-internal", "sid", "//x/../y", "application/json")
	f.Add("@", ",", strings.Repeat("k", 2000), "=;sid=\"", "*", "text/html, , ;q")
	f.Add("garbage", "for=x", "\x00\xff", "sid=\xff", "/%", "application/*;Q=0.0")
	f.Fuzz(func(t *testing.T, peer, forwarded, key, cookie, target, accept string) {
		filter := hostile(t)
		next := &counting{}
		h := filter.Wrap(next)
		u, err := url.ParseRequestURI(target)
		if err != nil {
			u = nil
		}
		r := &http.Request{Method: "GET", URL: u, RemoteAddr: peer, Host: key, Header: http.Header{
			"X-Forwarded-For": strings.Split(forwarded, "\n"), "X-Api-Key": {key}, "Cookie": {cookie}, "Accept": {accept}, "User-Agent": {key}}}
		passed := int64(0)
		for range 4 {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			switch w.Code {
			case 200:
				passed++
			case 429:
				if w.Header().Get("Retry-After") != "1200" {
					t.Errorf("Retry-After: %q", w.Header().Get("Retry-After"))
				}
			case 400, 431:
			default:
				t.Errorf("status %d", w.Code)
			}
		}
		if next.calls.Load() != passed {
			t.Errorf("%d passed, the handler was called %d times", passed, next.calls.Load())
		}
		if passed > 3 && key != "k-internal" {
			t.Errorf("%d passed", passed)
		}
		for i, e := range filter.Explain(r) {
			addr, ok := expectedClient(peer, r.Header["X-Forwarded-For"])
			// Ports that netip doesn't know, and transition addresses, are for other tests.
			if i == 0 && ok && addr.Is4() && !strings.Contains(peer+forwarded, ":_") && e.Key != "ip="+addr.String() {
				t.Errorf("%q, %q: %s, not %s", peer, forwarded, e.Key, addr)
			}
		}
	})
}

// 10,000 variants of a header, forged and mapped and zoned addresses, floods of lines: each has its client or a clean
// refusal, in bounded memory.
func TestFloodOfVariants(t *testing.T) {
	f := hostile(t)
	next := &counting{}
	h := f.Wrap(next)
	seen := map[int]int{}
	n := 10_000
	if testing.Short() {
		n = 800
	}
	for i := range n {
		r := &http.Request{Method: "GET", URL: &url.URL{Path: "/"}, RemoteAddr: "192.0.2.1:1", Header: http.Header{"X-Api-Key": {fmt.Sprint("k-", i)}}}
		switch i % 8 {
		case 1:
			r.Header["X-Forwarded-For"] = []string{fmt.Sprintf("203.0.113.%d", i%256)}
		case 2:
			r.RemoteAddr = fmt.Sprintf("[::ffff:192.0.2.1%%eth%d]:%d", i, i)
		case 3:
			r.Header["X-Api-Key"] = []string{strings.Repeat("k", 1<<20)}
		case 4:
			r.RemoteAddr = "10.0.0.1:1"
			r.Header["X-Forwarded-For"] = slices.Repeat([]string{"garbage, 10.0.0.2"}, 100)
			r.Header["X-Forwarded-For"] = append(r.Header["X-Forwarded-For"], "192.0.2.1")
		case 5:
			r.Header["Cookie"] = slices.Repeat([]string{"a=b"}, 100)
		case 6:
			r.RemoteAddr = fmt.Sprintf("garbage-%d", i)
		case 7:
			r.RemoteAddr = ""
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		seen[w.Code]++
	}
	// Of the garbage peers, which have no address, each is a client of its own by its name.
	assert.Equal(t, map[int]int{200: 3 + n/8, 400: n / 8, 429: n/8*5 - 3, 431: n / 8}, seen)
	assert.EqualValues(t, seen[200], next.calls.Load())
	for _, r := range f.Stats().Rules {
		assert.LessOrEqual(t, r.Keys.Keys, maxKeys, r.Rule)
	}
}
