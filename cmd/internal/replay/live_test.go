package replay

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/limits"
	"github.com/casgate/ratelimit/cmd/internal/settings"
	"github.com/casgate/ratelimit/limittest"
)

// allRules use whatever a decision can depend on.
const allRules = `
plans: {names: [free, premium, staff], default: free, from: header:X-Plan}
proxies: {trusted: [10.0.0.0/8]}
allow: [192.0.2.250, "header:X-Api-Key=internal"]
block: [192.0.2.251, "user=mallory"]
rules:
  - name: address
    key: ip
    limit: 40/minute
    burst: 15
  - name: net
    key: ip/24/48
    limit: 600/minute
    algorithm: sliding_window_counter
  - name: key
    match: /v1/
    key: [header:X-API-Key, ip+route]
    limit: 20/minute
    plans: {premium: {limit: 100/minute, burst: 10}, staff: {unlimited: true}}
  - name: search
    match: [GET /v1/search, POST /v1/search/]
    key: [header:X-API-Key, ip+route]
    limit: 5/10s
    algorithm: sliding_window_log
    cost: 2
  - name: item
    match: GET /v1/items/{id}
    key: path:id
    missing: skip
    limit: 10/minute
    algorithm: fixed_window
  - name: login
    match: POST /login
    key: [user, ip]
    limit: 3/minute
    refund: ["3xx", "101"]
    layer: login
  - name: agents
    match: shop.example/agents
    key: header:User-Agent
    missing: refuse
    limit: 9/minute
  - name: new-limit
    key: ip
    limit: 20/minute
    mode: shadow
  - name: closed
    match: /old/
    mode: block
`

// sent is one request, as its client sent it and as a log tells of it.
type sent struct {
	at      time.Duration
	method  string
	target  string
	host    string
	peer    string
	user    string
	headers map[string]string
	status  int
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// traffic makes n requests that meet all of allRules.
func traffic(r *rand.Rand, n int) []sent {
	all := make([]sent, n)
	at := time.Duration(0)
	for i := range all {
		at += time.Duration(r.Int64N(int64(120 * time.Millisecond)))
		s := sent{at: at, headers: map[string]string{}, status: pick(r, 101, 200, 200, 200, 303, 401, 404, 500)}
		s.peer = pick(r, "192.0.2.1", "192.0.2.2", "192.0.2.3", "198.51.100.4", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "192.0.2.250",
			"192.0.2.251", "::ffff:192.0.2.1", "10.0.0.7", "10.0.0.8")
		s.method = pick(r, "GET", "GET", "GET", "POST", "HEAD", "DELETE", "get")
		s.target = pick(r, "/", "/v1/search?q=x", "/v1/search/deep?", "/v1//search", "/v1/items/7", "/v1/items/8%2F9", "/v1/items/a%20b", "/v1/items/",
			"/login", "/login", "/agents", "/old/x", "/old", "/v1/x/../search", "/v1%2Fsearch", "/%2Fold/x", "/ä", "/a[b]", "/%zz", "http://shop.example/agents", "*", "//agents", "/(x)!")
		if s.target == "/login" {
			s.method = "POST"
		}
		s.host = pick(r, "shop.example", "shop.example:8080", "other.example", "Shop.Example")
		s.user = pick(r, "", "", "ann", "bob", "mallory")
		if r.IntN(2) == 0 {
			s.headers["X-Api-Key"] = pick(r, "k1", "k2", "k3", "internal")
		}
		if r.IntN(2) == 0 {
			s.headers["X-Plan"] = pick(r, "free", "premium", "staff", "gold")
		}
		if r.IntN(3) > 0 {
			s.headers["User-Agent"] = pick(r, "curl/8", "bot \"quoted\" ü")
		}
		if r.IntN(3) == 0 {
			s.headers["X-Forwarded-For"] = pick(r, "203.0.113.1", "203.0.113.2, 10.1.1.1", "garbage", "203.0.113.1, 192.0.2.2")
		}
		all[i] = s
	}
	return all
}

// caddy writes the request as a line of Caddy's log.
func (s *sent) caddy() string {
	headers := map[string][]string{}
	for name, value := range s.headers {
		headers[name] = []string{value}
	}
	line, err := json.Marshal(map[string]any{
		"ts":      json.Number(fmt.Sprintf("%d.%09d", int64(1_000_000+s.at/time.Second), s.at%time.Second)),
		"request": map[string]any{"remote_ip": s.peer, "method": s.method, "uri": s.target, "host": s.host, "headers": headers},
		"user_id": s.user, "status": s.status,
	})
	if err != nil {
		panic(err)
	}
	return string(line) + "\n"
}

// live sends the request to the filter as a server would, and returns the status that its client gets; 0 if the server
// itself doesn't take it.
func (s *sent) live(handler http.Handler) int {
	raw := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n", s.method, s.target, s.host)
	for name, value := range s.headers {
		raw += name + ": " + value + "\r\n"
	}
	if s.user != "" {
		raw += "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(s.user+":secret")) + "\r\n"
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw + "\r\n")))
	if err != nil {
		return 0
	}
	r.RemoteAddr = net.JoinHostPort(s.peer, "4711")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

// The replay of a log decides each line as the live filter decided its request: the same requests are sent to a filter as
// its proxy has it, over net/http's own parser, and read back from a log.
func TestDecisionsAreTheLiveFilters(t *testing.T) {
	const n = 5_000
	seed := rand.Uint64()
	t.Log("seed", seed)
	all := traffic(rand.New(rand.NewPCG(seed, 0)), n)
	file, err := settings.Parse([]byte(allRules))
	require.NoError(t, err)

	clock := new(limittest.ManualClock)
	l, err := limits.New(limits.Config{Spec: file.Spec, Log: slog.New(slog.DiscardHandler), Clock: clock})
	require.NoError(t, err)
	var status int
	handler := l.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	var text strings.Builder
	var live []bool // whether each request that the server took was let through
	for _, s := range all {
		text.WriteString(s.caddy())
		clock.Set(int64(1_000_000*time.Second + s.at))
		status = s.status
		if code := s.live(handler); code != 0 {
			live = append(live, code == s.status)
		}
	}
	refused := 0
	for _, passed := range live {
		if !passed {
			refused++
		}
	}
	require.Greater(t, refused, len(live)/10)
	require.Greater(t, len(live)-refused, len(live)/10)

	log, err := accesslog.Open([]string{"-"}, accesslog.Config{Stdin: strings.NewReader(text.String())})
	require.NoError(t, err)
	i, differ := 0, 0
	report, err := Run(log, Config{FileName: "all.yaml", File: file, Decided: func(e *accesslog.Entry, by string) {
		if i < len(live) && live[i] != (by == "") && differ < 10 {
			differ++
			t.Errorf("request %d, %s %s of %s: live passed %v, replay refused by %q", i, e.Method, e.Target, e.Client, live[i], by)
		}
		i++
	}})
	require.NoError(t, err)
	assert.Equal(t, len(live), i)
	assert.EqualValues(t, refused, report.Config.Refused)

	// By rule, too.
	stats := l.Filter.Stats()
	for j, want := range stats.Rules {
		got := report.Config.Rules[j]
		assert.Equal(t, want.Rule, got.Name)
		assert.Equal(t, want.Allowed+want.Refused+want.Shadow, got.Asked, want.Rule)
		assert.Equal(t, want.Shadow, got.Shadow, want.Rule)
		assert.Equal(t, want.Unkeyed, got.Unkeyed, want.Rule)
		assert.NotZero(t, got.Asked, "the traffic doesn't meet %s", want.Rule)
	}
	addsUp(t, report)
}

// addsUp checks that a report's numbers do.
func addsUp(t *testing.T, p *Report) {
	t.Helper()
	assert.Equal(t, p.Log.Lines, p.Log.Decided+p.Log.Malformed+p.Log.Unreadable+p.Log.OutOfTime, "lines")
	assert.Equal(t, p.Log.Decided, p.Requests.Requests)
	assert.Equal(t, p.Log.Decided, p.Config.Passed+p.Config.Refused)
	for what, list := range map[string]List{"clients": p.Clients, "endpoints": p.Endpoints} {
		sum := list.Others
		for _, r := range list.Rows {
			sum.plus(r.Counts)
		}
		assert.Equal(t, p.Requests, sum, what)
	}
	total := func(counts []uint32) (n uint64) {
		for _, c := range counts {
			n += uint64(c)
		}
		return n
	}
	assert.Equal(t, p.Log.Decided, total(p.Over.Requests))
	assert.Equal(t, p.Config.Refused, total(p.Over.Refused))
	assert.LessOrEqual(t, len(p.Over.Requests), maxBuckets)
	sides := []*Side{&p.Config}
	if p.Against != nil {
		sides = append(sides, p.Against)
		assert.Equal(t, p.Against.Refused, total(p.Over.Against))
		assert.Equal(t, p.Requests.Against, p.Against.Refused)
		assert.Equal(t, p.Requests.Refused-p.Requests.OnlyConfig, p.Requests.Against-p.Requests.OnlyAgainst, "refused by both")
	}
	for _, side := range sides {
		by := uint64(0)
		for _, r := range side.Rules {
			by += r.Refused
			if r.Over != nil {
				assert.Equal(t, r.Refused, total(r.Over), r.Name)
			}
		}
		assert.Equal(t, side.Refused, by, "rules of %s", side.File)
	}
}
