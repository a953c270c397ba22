package httplimit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

// counting is a handler that counts its calls.
type counting struct{ calls atomic.Int64 }

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.calls.Add(1)
	io.WriteString(w, "hello\n")
}

// get sends a request through h and returns the response; headers are given as "Name: value".
func get(h http.Handler, addr string, headers ...string) *http.Response {
	r := httptest.NewRequest("GET", "/v1/items", nil)
	r.RemoteAddr = addr
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}

func TestPerIP(t *testing.T) {
	next := &counting{}
	h := httplimit.PerIP(ratelimit.PerMinute(3))(next)
	for range 3 {
		assert.Equal(t, 200, get(h, "192.0.2.1:1000").StatusCode)
	}
	refused := get(h, "192.0.2.1:1001")
	assert.Equal(t, 429, refused.StatusCode)
	assert.NotEmpty(t, refused.Header.Get("Retry-After"))
	assert.EqualValues(t, 3, next.calls.Load(), "the handler is not called on a refusal")
	assert.Equal(t, 200, get(h, "192.0.2.2:1000").StatusCode, "another client")
	assert.Equal(t, 429, get(h, "192.0.2.1:1002", "X-Forwarded-For: 198.51.100.7").StatusCode, "nobody is believed by default")
	assert.Panics(t, func() { httplimit.PerIP(ratelimit.PerMinute(0)) })
}

func TestConfigErrorsComeAllAtOnce(t *testing.T) {
	_, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{
			{Name: "a", Limit: ratelimit.PerSecond(0).Burst(1)},
			{Name: "a", Limit: ratelimit.PerSecond(1).Burst(1)},
			{Name: "1st", Limit: ratelimit.PerSecond(1).Burst(1), Mode: 9},
			{Name: `say "hi"`, Limit: ratelimit.PerSecond(1).Burst(1), Missing: 9},
			{Name: strings.Repeat("x", 65), Limiter: (*ratelimit.Composite)(nil)},
		},
		MaxKeyLen: -1, Headers: httplimit.XDelta | httplimit.XEpoch | 128, When: 9,
	})
	assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
	assert.ErrorIs(t, err, ratelimit.ErrInvalidRule)
	for _, part := range []string{`rule "a": `, "Refill.Tokens: 0", `Rules[1].Name: "a": another`, `Rules[2].Name: "1st"`, "Rules[2].Mode: 9",
		`Rules[3].Name: "say \"hi\""`, "Rules[3].Missing: 9", "Rules[4].Name", "a nil *ratelimit.Composite", "MaxKeyLen: -1", "Headers: 0x98",
		"XDelta and XEpoch", "When: 9"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{Limit: ratelimit.PerSecond(1).Burst(1)}}, Limiters: ratelimit.Config{MaxKeys: -1},
	})
	assert.ErrorContains(t, err, "MaxKeys: -1")
	_, err = httplimit.New(httplimit.Config{})
	assert.ErrorContains(t, err, "at least one")
}

func TestMissingKeys(t *testing.T) {
	for _, c := range []struct {
		name    string
		key     httplimit.Key
		missing httplimit.Missing
		want    []int // statuses of three requests without the header
	}{
		{"refuse", httplimit.Header("X-API-Key"), httplimit.MissingRefuse, []int{400, 400, 400}},
		{"skip", httplimit.Header("X-API-Key"), httplimit.MissingSkip, []int{200, 200, 200}},
		{"fall back", httplimit.First(httplimit.Header("X-API-Key"), httplimit.IP()), httplimit.MissingRefuse, []int{200, 429, 429}},
	} {
		next := &counting{}
		h := mustNew(t, httplimit.Config{
			Rules: []httplimit.Rule{{Limit: ratelimit.PerHour(1).Burst(1), Key: c.key, Missing: c.missing}},
		}).Wrap(next)
		passed := 0
		for i, want := range c.want {
			got := get(h, "192.0.2.1:1000")
			assert.Equal(t, want, got.StatusCode, "%s, request %d", c.name, i)
			if got.StatusCode == 200 {
				passed++
			}
		}
		assert.EqualValues(t, passed, next.calls.Load(), c.name)
		for _, key := range []string{"k-1", "k-2"} {
			assert.Equal(t, 200, get(h, "192.0.2.1:1000", "X-API-Key: "+key).StatusCode, "%s: each key is a client", c.name)
			assert.Equal(t, 429, get(h, "192.0.2.9:1000", "X-API-Key: "+key).StatusCode, "%s: from wherever it comes", c.name)
		}
	}
}

func TestLongKeysAreRefused(t *testing.T) {
	next := &counting{}
	f := mustNew(t, httplimit.Config{
		Rules:     []httplimit.Rule{{Limit: ratelimit.PerHour(9).Burst(9), Key: httplimit.Header("X-API-Key")}},
		MaxKeyLen: 100,
	})
	h := f.Wrap(next)
	assert.Equal(t, 200, get(h, "192.0.2.1:1000", "X-API-Key: "+strings.Repeat("k", 100)).StatusCode)
	long := get(h, "192.0.2.1:1000", "X-API-Key: "+strings.Repeat("k", 101))
	assert.Equal(t, 431, long.StatusCode)
	assert.Empty(t, long.Header.Get("Retry-After"))
	assert.EqualValues(t, 1, next.calls.Load())

	// A bound of its own for each part, however many there are.
	h = mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{
		Limit: ratelimit.PerHour(1).Burst(1), Key: httplimit.All(httplimit.Header("A"), httplimit.Header("B")),
	}}}).Wrap(next)
	long40k := strings.Repeat("k", 40<<10)
	for _, other := range []string{long40k, long40k + "k", "k"} {
		assert.Equal(t, 200, get(h, "192.0.2.1:1000", "A: "+long40k, "B: "+other).StatusCode)
		assert.Equal(t, 429, get(h, "192.0.2.1:1000", "A: "+long40k, "B: "+other).StatusCode)
	}
	assert.Equal(t, 431, get(h, "192.0.2.1:1000", "A: k", "B: "+strings.Repeat("k", 64<<10+1)).StatusCode)
}

func TestSkipRefuseAndOnLimit(t *testing.T) {
	next := &counting{}
	var seen []httplimit.Verdict
	h := mustNew(t, httplimit.Config{
		Rules: []httplimit.Rule{{Name: "api", Limit: ratelimit.PerHour(1).Burst(1)}},
		Skip:  func(r *http.Request) bool { return r.Header.Get("X-Health") != "" },
		Refuse: func(w http.ResponseWriter, r *http.Request, v httplimit.Verdict) {
			w.WriteHeader(v.Status())
			fmt.Fprintf(w, "%v by %s, %d left", v.Reason, v.Rule, v.Decision.Remaining)
		},
		OnLimit: func(r *http.Request, v httplimit.Verdict) { seen = append(seen, v) },
	}).Wrap(next)
	assert.Equal(t, 200, get(h, "192.0.2.1:1000").StatusCode)
	refused := get(h, "192.0.2.1:1000")
	assert.Equal(t, 429, refused.StatusCode)
	assert.Equal(t, "limited by api, 0 left", body(t, refused))
	assert.Equal(t, "3600", refused.Header.Get("Retry-After"), "in the header before Refuse")
	skipped := get(h, "192.0.2.1:1000", "X-Health: 1")
	assert.Equal(t, 200, skipped.StatusCode)
	assert.Empty(t, skipped.Header.Get("RateLimit"))
	assert.EqualValues(t, 2, next.calls.Load())
	require.Len(t, seen, 1)
	assert.Equal(t, "api", seen[0].Rule)
	assert.False(t, seen[0].Allowed)
}

// The whole way: 50 clients of 200 requests each, over TCP, at a time that stands still.
func TestEachClientGetsExactlyItsRule(t *testing.T) {
	next := &counting{}
	const clients, limit = 50, 30
	requests := 200
	if testing.Short() {
		requests = 40
	}
	f := mustNew(t, httplimit.Config{
		Rules:    []httplimit.Rule{{Limit: ratelimit.PerMinute(limit).Burst(limit), Key: httplimit.Header("X-API-Key")}},
		Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}},
	})
	server := httptest.NewServer(f.Wrap(next))
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 8

	var passed [clients]atomic.Int64
	work := make(chan int)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range work {
				r, _ := http.NewRequest("GET", server.URL, nil)
				r.Header.Set("X-API-Key", fmt.Sprintf("k-%d", i))
				resp, err := client.Do(r)
				if err != nil {
					t.Error(err)
					continue
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				switch resp.StatusCode {
				case 200:
					passed[i].Add(1)
				case 429:
				default:
					t.Errorf("client %d: status %d", i, resp.StatusCode)
				}
			}
		})
	}
	for range requests {
		for i := range clients {
			work <- i
		}
	}
	close(work)
	wg.Wait()
	for i := range passed {
		assert.EqualValues(t, limit, passed[i].Load(), "client %d", i)
	}
	assert.EqualValues(t, clients*limit, next.calls.Load())
}

func TestDecideWritesNothing(t *testing.T) {
	clock := &limittest.ManualClock{}
	f := mustNew(t, httplimit.Config{
		Rules:    []httplimit.Rule{{Name: "api", Limit: ratelimit.PerMinute(1).Burst(1)}},
		Limiters: ratelimit.Config{Clock: clock},
	})
	r := from("192.0.2.1:4711")
	v := f.Decide(r)
	assert.True(t, v.Allowed)
	assert.Equal(t, 200, v.Status())
	h := http.Header{}
	v.SetHeaders(h)
	assert.Equal(t, `"api";r=0;t=60`, h.Get("RateLimit"))

	clock.Advance(15 * time.Second)
	v = f.Decide(r)
	assert.Equal(t, httplimit.Limited, v.Reason)
	assert.Equal(t, 429, v.Status())
	assert.Equal(t, 45*time.Second, v.Decision.RetryAfter)
	assert.Equal(t, []httplimit.Result{{Rule: "api", Decision: v.Decision}}, v.Results())
	w := httptest.NewRecorder()
	f.Refuse(w, r, v)
	assert.Equal(t, 429, w.Code)
	assert.Equal(t, "45", w.Header().Get("Retry-After"))
	assert.Equal(t, `"api";r=0;t=45`, w.Header().Get("RateLimit"))

	httplimit.Verdict{}.SetHeaders(h) // of no filter: nothing
	assert.Empty(t, httplimit.Verdict{}.Results())
}

func TestDecideSkipsAndTells(t *testing.T) {
	told := 0
	c := still(httplimit.Rule{Limit: ratelimit.PerHour(1).Burst(1)})
	c.Skip = func(r *http.Request) bool { return r.Method == "OPTIONS" }
	c.OnLimit = func(*http.Request, httplimit.Verdict) { told++ }
	f := mustNew(t, c)
	preflight := from("192.0.2.1:1")
	preflight.Method = "OPTIONS"
	for range 3 {
		v := f.Decide(preflight)
		assert.True(t, v.Allowed)
		h := http.Header{}
		v.SetHeaders(h)
		assert.Empty(t, h)
	}
	assert.True(t, f.Decide(from("192.0.2.1:1")).Allowed)
	assert.Zero(t, told)
	assert.False(t, f.Decide(from("192.0.2.1:1")).Allowed)
	assert.Equal(t, 1, told)
}
