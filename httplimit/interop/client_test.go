package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

// serve starts a server of h that speaks HTTP/1.1 or, over TLS, HTTP/2; and a client that does, too.
func serve(t *testing.T, h http.Handler, http2 bool) (url string, client *http.Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	t.Cleanup(server.Close)
	if server.EnableHTTP2 = http2; http2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	return server.URL, server.Client()
}

func protocols(t *testing.T, test func(t *testing.T, http2 bool)) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%v", http2), func(t *testing.T) { test(t, http2) })
	}
}

func fetch(t *testing.T, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	resp, err := client.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

// params returns the parameters of each item of a list, by its name, as a strict parser reads them.
func params(t *testing.T, lines []string) map[string]map[string]int64 {
	t.Helper()
	list, err := httpsfv.UnmarshalList(lines)
	require.NoError(t, err, "%q", lines)
	got := map[string]map[string]int64{}
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		require.True(t, ok, "%q", lines)
		name, ok := item.Value.(string)
		require.True(t, ok, "%q: a rule's name is a string", lines)
		got[name] = map[string]int64{}
		for _, p := range item.Params.Names() {
			value, _ := item.Params.Get(p)
			n, ok := value.(int64)
			require.True(t, ok, "%q: %s is an integer", lines, p)
			got[name][p] = n
		}
	}
	return got
}

func TestFieldsAsAClientReadsThem(t *testing.T) {
	protocols(t, func(t *testing.T, http2 bool) {
		f, err := httplimit.New(httplimit.Config{
			Rules: []httplimit.Rule{
				{Name: "per-address_1.x", Limit: ratelimit.PerMinute(60).Burst(3)},
				{Name: "all", Limit: ratelimit.PerHour(1e9).Burst(1e9), Key: httplimit.Global()},
			},
			Headers:  httplimit.Draft8 | httplimit.Draft12 | httplimit.XDelta,
			Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}},
		})
		require.NoError(t, err)
		url, client := serve(t, f.Wrap(http.HandlerFunc(item)), http2)
		for i := range 4 {
			resp, body := fetch(t, client, url)
			assert.Equal(t, http2, resp.ProtoMajor == 2)
			assert.Equal(t, map[string]map[string]int64{
				"per-address_1.x": {"q": 3, "w": 3}, "all": {"q": 1e9, "w": 3600},
			}, params(t, resp.Header.Values("RateLimit-Policy")))
			left := params(t, resp.Header.Values("RateLimit"))["per-address_1.x"]
			if i < 3 {
				spent := int64(i + 1)
				assert.Equal(t, map[string]int64{"r": 3 - spent, "t": spent, "a": 3 - spent, "w": spent}, left)
				assert.Equal(t, "item\n", body)
				assert.Empty(t, resp.Header.Values("Retry-After"))
				continue
			}
			assert.Equal(t, 429, resp.StatusCode)
			assert.Equal(t, map[string]int64{"r": 0, "t": 1, "a": 0, "w": 1}, left)
			assert.Equal(t, "1", resp.Header.Get("Retry-After"))
			assert.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
			var problem map[string]any
			require.NoError(t, json.Unmarshal([]byte(body), &problem))
			assert.Equal(t, []any{"per-address_1.x"}, problem["violated-policies"])
		}
	})
}

// Numbers at the ends of their range are still numbers to a parser.
func TestFieldsAtTheEndsOfTheRange(t *testing.T) {
	for _, limit := range []ratelimit.Rule{
		ratelimit.PerSecond(1).Burst(1), ratelimit.PerDay(30_000).Burst(1e9), ratelimit.PerSecond(1e9).Burst(1e9),
		{Algorithm: ratelimit.FixedWindow, Capacity: 1, Refill: ratelimit.Rate{Tokens: 1, Per: 1}},
		{Algorithm: ratelimit.SlidingWindowCounter, Capacity: 1e6, Refill: ratelimit.PerDay(1e6)},
	} {
		f := newFilter(t, httplimit.Rule{Name: "x", Limit: limit})
		for range 2 {
			h := http.Header{}
			f.Decide(httptest.NewRequest("GET", "/", nil)).SetHeaders(h)
			p := params(t, h.Values("RateLimit-Policy"))["x"]
			assert.GreaterOrEqual(t, p["w"], int64(1), "%v", limit)
			assert.GreaterOrEqual(t, p["q"], int64(1), "%v", limit)
			params(t, h.Values("RateLimit"))
		}
	}
}

// A client that waits as long as Retry-After says, to the second, is never refused twice in a row.
func TestObeyingRetryAfterIsEnough(t *testing.T) {
	algorithms := []ratelimit.Algorithm{ratelimit.TokenBucket, ratelimit.FixedWindow, ratelimit.SlidingWindowCounter, ratelimit.SlidingWindowLog}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	protocols(t, func(t *testing.T, http2 bool) {
		for _, algorithm := range algorithms {
			clock := &limittest.ManualClock{}
			clock.Set(1_700_000_000e9)
			f, err := httplimit.New(httplimit.Config{
				Rules: []httplimit.Rule{
					{Name: "a", Limit: ratelimit.Rule{Algorithm: algorithm, Capacity: 7, Refill: ratelimit.Rate{Tokens: 7, Per: 10 * time.Second}}},
					{Name: "b", Limit: ratelimit.Rule{Algorithm: algorithm, Capacity: 30, Refill: ratelimit.PerMinute(30)}},
				},
				Limiters: ratelimit.Config{Clock: clock},
			})
			require.NoError(t, err)
			url, client := serve(t, f.Wrap(http.HandlerFunc(item)), http2)
			refusals := 0
			for range 200 {
				clock.Advance(time.Duration(random.Int64N(int64(time.Second))))
				resp, _ := fetch(t, client, url)
				if resp.StatusCode == 200 {
					continue
				}
				refusals++
				wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
				require.NoError(t, err)
				clock.Advance(time.Duration(wait) * time.Second)
				resp, _ = fetch(t, client, url)
				require.Equal(t, 200, resp.StatusCode, "%v, seed %d: refused again after waiting %d s", algorithm, seed, wait)
			}
			assert.Positive(t, refusals, "%v: nothing was shown", algorithm)
		}
	})
}

// A HEAD's refusal has no body, and the connection stays in order.
func TestHead(t *testing.T) {
	protocols(t, func(t *testing.T, http2 bool) {
		f := newFilter(t, httplimit.Rule{Limit: ratelimit.PerMinute(1).Burst(1)})
		url, client := serve(t, f.Wrap(http.HandlerFunc(item)), http2)
		for _, want := range []int{200, 429, 429} {
			resp, err := client.Head(url)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, want, resp.StatusCode)
		}
		resp, body := fetch(t, client, url)
		assert.Equal(t, 429, resp.StatusCode)
		assert.NotEmpty(t, body)
	})
}
