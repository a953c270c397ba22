package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/samplelog"
	"github.com/casgate/ratelimit/cmd/internal/settings"
)

const (
	sample = "../../../testdata/logs/shop.log.gz"
	strict = "rules: [{name: address, key: ip, limit: 20/minute}, {name: shadowed, key: ip, limit: 5/minute, mode: shadow}]"
	kind   = "rules: [{name: login, match: POST /login, key: ip, limit: 5/minute}, {name: rest, key: ip, limit: 90/minute}]"
)

func parsed(t testing.TB, text string) *settings.File {
	t.Helper()
	file, err := settings.Parse([]byte(text))
	require.NoError(t, err)
	return file
}

// replayed replays the sample.
func replayed(t testing.TB, c Config) *Report {
	t.Helper()
	log, err := accesslog.Open([]string{sample}, accesslog.Config{})
	require.NoError(t, err)
	defer log.Close()
	report, err := Run(log, c)
	require.NoError(t, err)
	require.NoError(t, log.Err())
	return report
}

func TestNumbersAddUp(t *testing.T) {
	refused := map[samplelog.Kind]uint64{}
	clients := map[string]bool{}
	p := replayed(t, Config{File: parsed(t, strict), FileName: "strict.yaml", Against: parsed(t, kind), AgainstName: "kind.yaml",
		Decided: func(e *accesslog.Entry, by string) {
			if by != "" {
				refused[samplelog.KindOf(e.Client)]++
				clients[string(appendClient(nil, e.Client))] = true
			}
		}})
	addsUp(t, p)
	assert.EqualValues(t, 2, p.Log.Unreadable)
	assert.Equal(t, len(clients), p.Config.Clients)
	assert.NotZero(t, p.Requests.OnlyConfig)
	assert.NotZero(t, p.Requests.OnlyAgainst)
	assert.NotZero(t, p.Config.Shadow)
	sum := uint64(0)
	for _, n := range refused {
		sum += n
	}
	assert.Equal(t, sum, p.Config.Refused)
	top := p.Clients.Rows[0]
	assert.Equal(t, "203.0.113.7", top.Name)
	assert.Equal(t, refused[samplelog.Scraper], top.Refused)
	assert.Equal(t, "address", top.Rule)
	assert.Equal(t, "python-requests/2.32", top.Agent)

	var text bytes.Buffer
	require.NoError(t, p.Text(&text))
	for _, want := range []string{p.Verdict(&p.Config), p.Verdict(p.Against), p.Difference(), p.Lines(), "203.0.113.7, by address"} {
		assert.Contains(t, text.String(), want)
	}
	encoded, err := json.Marshal(p)
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(encoded, &back))
	assert.Equal(t, p.Requests, back.Requests)
}

// The page needs nothing from elsewhere, tells the numbers, and trusts no client's text.
func TestThePageStandsAlone(t *testing.T) {
	p := replayed(t, Config{File: parsed(t, strict), FileName: "<b>.yaml", Against: parsed(t, kind), AgainstName: "kind.yaml"})
	p.Clients.Rows[0].Agent = `"><script>alert(1)</script>`
	p.Log.Samples[0].Text = "<img src=x onerror=alert(1)>"
	var b bytes.Buffer
	require.NoError(t, p.HTML(&b))
	text := b.String()
	assert.NotRegexp(t, regexp.MustCompile(`(?i)<(script|link|img|iframe|b>)|<[^>]* (src|href|srcset|on\w+)=|url\(|@import`), text)
	for _, want := range []string{Number(p.Config.Refused) + " of " + Number(p.Log.Decided) + " requests", Number(p.Against.Refused), strings.ReplaceAll(p.Lines(), "+", "&#43;"), "203.0.113.7"} {
		assert.Contains(t, text, want)
	}
	assert.Equal(t, strings.Count(text, "<svg"), strings.Count(text, "</svg>"))
	assert.Less(t, len(text), 1<<20)
}

func TestNothingToTell(t *testing.T) {
	log, err := accesslog.Open([]string{"-"}, accesslog.Config{Stdin: strings.NewReader("junk\n")})
	require.NoError(t, err)
	p, err := Run(log, Config{File: parsed(t, strict), FileName: "strict.yaml"})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, p.Text(&b))
	assert.Contains(t, b.String(), "1 line = 0 decided + 1 unreadable")
	require.NoError(t, p.HTML(&b))
}

// A rule that counts in Redis, or a share of a fleet's limit, is tried in this process.
func TestRemoteRulesAreTriedHere(t *testing.T) {
	p := replayed(t, Config{FileName: "fleet.yaml", File: parsed(t, "store: redis://127.0.0.1:1\n"+strict)})
	local := replayed(t, Config{FileName: "fleet.yaml", File: parsed(t, strict)})
	assert.Equal(t, local.Config.Rules, p.Config.Rules)
}

func TestAFunctionThatOnlyTheProgramKnowsIsAnError(t *testing.T) {
	log, err := accesslog.Open([]string{sample}, accesslog.Config{})
	require.NoError(t, err)
	defer log.Close()
	_, err = Run(log, Config{FileName: "f.yaml", File: parsed(t, "rules: [{name: f, key: func:tenant, missing: skip, limit: 1/s}]")})
	assert.ErrorContains(t, err, "f.yaml")
	assert.ErrorContains(t, err, "tenant")
}

func TestAxisKeepsItsSums(t *testing.T) {
	var a axis
	s, late := a.newSeries(), (*series)(nil)
	n := 0
	for at := int64(-50_000); at < 5e9; at += 1 + at/3*at%977 + max(at, 0)/500 {
		i := a.at(at * 1e9)
		s.add(i)
		if n > 100 {
			if late == nil {
				late = a.newSeries()
			}
			late.add(i)
		}
		n++
		require.LessOrEqual(t, a.start+int64(i)*widths[a.width], at)
		require.Greater(t, a.start+int64(i+1)*widths[a.width], at)
	}
	sum, lateSum := 0, 0
	for i := range maxBuckets {
		sum += int(s.full(maxBuckets)[i])
		lateSum += int(late.full(maxBuckets)[i])
	}
	assert.Equal(t, n, sum)
	assert.Equal(t, n-101, lateSum)
	assert.Greater(t, a.used, maxBuckets/8)
}

// A table that is full forgets who wasn't refused, and its sums still add up.
func TestTablesForgetTheLeastNoteworthy(t *testing.T) {
	c := newTable(100)
	for i := range 1000 {
		r := c.at(fmt.Appendf(nil, "client%d", i))
		r.seen = int64(i)
		out := outcome{rule: -1}
		if i%40 == 7 {
			out.rule = 0
		}
		r.add(out, nil)
	}
	assert.LessOrEqual(t, len(c.rows), 100)
	assert.Contains(t, c.rows, "client7", "the first that was refused")
	assert.Contains(t, c.rows, "client999", "the last")
	sum := c.others
	for _, r := range c.rows {
		sum.plus(r.Counts)
	}
	assert.Equal(t, Counts{Requests: 1000, Refused: 25}, sum)
	assert.Equal(t, 1000, len(c.rows)+c.forgot)
}

// A client's name is bounded, and stays in its line and its comment.
func TestClientsNames(t *testing.T) {
	for client, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::/64", "": "(unknown)", "host.example": "host.example",
		"1.1.1.1\rallow: x\x1b[31m": `"1.1.1.1\rallow: x\x1b[31m"`, "a\u2028b": `"a\u2028b"`, strings.Repeat("x", 1e5): `"` + strings.Repeat("x", maxClient) + `"`,
	} {
		assert.Equal(t, want, string(appendClient(nil, client)))
	}
}

func TestEndpoints(t *testing.T) {
	for request, want := range map[[2]string]string{
		{"GET", "/"}: "GET /{$}", {"GET", "/users/17"}: "GET /users/{id}", {"POST", "/users/17/orders/4711"}: "POST /users/{id}/orders/{id2}",
		{"GET", "/files/3f2a9c81d0"}: "GET /files/{id}", {"GET", "/f/123e4567-e89b-12d3-a456-426614174000/"}: "GET /f/{id}/{$}",
		{"GET", "/cafe"}: "GET /cafe", {"GET", "/v1/search"}: "GET /v1/search", {"GET", "/a/b/c/d/e/f/g/h"}: "GET /a/b/c/d/e/f/{rest...}",
		{"OPTIONS", "*"}: "OPTIONS *", {strings.Repeat("M", 1e5), "/"}: strings.Repeat("M", 32) + " /{$}", {"GET", "/a\nb"}: "GET /{id}", {"GET", "/{x}"}: "GET /{id}", {"GET", "/2015/05"}: "GET /{id}/{id2}",
	} {
		assert.Equal(t, want, string(AppendEndpoint(nil, request[0], request[1])))
	}
}
