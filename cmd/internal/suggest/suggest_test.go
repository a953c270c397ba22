package suggest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/replay"
	"github.com/casgate/ratelimit/cmd/internal/samplelog"
	"github.com/casgate/ratelimit/cmd/internal/settings"
	"github.com/casgate/ratelimit/cmd/internal/suggest"
	"github.com/casgate/ratelimit/rules"
)

const sample = "../../../testdata/logs/shop.log.gz"

// automatic is a Config that says nothing.
func automatic(names ...string) suggest.Config {
	return suggest.Config{
		Open:      func() (*accesslog.Log, error) { return accesslog.Open(names, accesslog.Config{}) },
		Key:       rules.List{"ip"},
		Endpoints: 8, Clients: suggest.Auto, Requests: suggest.Auto, Headroom: 2,
	}
}

// suggestion runs c, and reads what it prints as a rule file.
func suggestion(t *testing.T, c suggest.Config) (*suggest.Result, *settings.File) {
	t.Helper()
	result, err := suggest.Run(c)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, result.YAML(&text))
	t.Log("\n" + text.String())
	file, err := settings.Parse(text.Bytes())
	require.NoError(t, err, "what is printed is no valid rule file")
	return result, file
}

// replayed returns, by who they are, how many requests there were and how many of them file refuses, and the report.
func replayed(t *testing.T, c suggest.Config, file *settings.File) (all, refused map[samplelog.Kind]int, hurt map[string]int, report *replay.Report) {
	t.Helper()
	all, refused, hurt = map[samplelog.Kind]int{}, map[samplelog.Kind]int{}, map[string]int{}
	log, err := c.Open()
	require.NoError(t, err)
	defer log.Close()
	report, err = replay.Run(log, replay.Config{FileName: "suggested", File: file, Decided: func(e *accesslog.Entry, by string) {
		kind := samplelog.KindOf(e.Client)
		all[kind]++
		if by != "" {
			refused[kind]++
			hurt[strings.Clone(e.Client)]++
		}
	}})
	require.NoError(t, err)
	return all, refused, hurt, report
}

// finds checks that a suggestion finds the scraper and the attack, and spares the others.
func finds(t *testing.T, c suggest.Config) {
	t.Helper()
	result, file := suggestion(t, c)
	all, refused, hurt, report := replayed(t, c, file)
	honest, honestRefused, attackers := 0, 0, 0
	for kind, n := range all {
		require.Positive(t, n)
		if kind.Honest() {
			honest += n
			honestRefused += refused[kind]
		}
	}
	for client := range hurt {
		if samplelog.KindOf(client) == samplelog.Attack {
			attackers++
		}
	}
	assert.Less(t, float64(honestRefused), 0.001*float64(honest), "honest requests refused: %v", refused)
	assert.Greater(t, refused[samplelog.Scraper], all[samplelog.Scraper]/3)
	assert.Greater(t, refused[samplelog.Attack], all[samplelog.Attack]/3)
	assert.Equal(t, 40, attackers, "all who take part in the attack")
	assert.Equal(t, report.Config.Rules, result.Report.Config.Rules, "the replay that is printed is that of the file")
	for _, g := range result.Groups {
		assert.Equal(t, g.Curve[g.Chosen].Requests, ruleOf(report, g.Rule).Refused, "the curve tells what the replay finds: %s", g.Rule)
		for i := 1; i < len(g.Curve); i++ {
			assert.Less(t, g.Curve[i].Burst, g.Curve[i-1].Burst)
			assert.GreaterOrEqual(t, g.Curve[i].Clients, g.Curve[i-1].Clients)
			assert.GreaterOrEqual(t, g.Curve[i].Requests, g.Curve[i-1].Requests)
		}
	}
}

func ruleOf(p *replay.Report, name string) replay.Rule {
	for _, r := range p.Config.Rules {
		if r.Name == name {
			return r
		}
	}
	return replay.Rule{}
}

func TestFindsTheScraperAndTheAttack(t *testing.T) { finds(t, automatic(sample)) }

func TestThePageDrawsEachTradeOff(t *testing.T) {
	result, err := suggest.Run(automatic(sample))
	require.NoError(t, err)
	result.Groups[0].Match = "<script>"
	var b bytes.Buffer
	require.NoError(t, result.HTML(&b))
	assert.Equal(t, len(result.Groups), strings.Count(b.String(), "<svg"))
	assert.NotRegexp(t, `<(script|link|img)|<[^>]* (src|href)=|url\(|@import|NaN|Inf`, b.String())
	for _, g := range result.Groups {
		assert.Contains(t, b.String(), fmt.Sprintf("<title>burst %d: %d requests and %d clients refused</title>", g.Suggested().Burst,
			g.Suggested().Requests, g.Suggested().Clients))
	}
}

func TestFindsThemInOtherLogsToo(t *testing.T) {
	for range 2 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			var text bytes.Buffer
			require.NoError(t, samplelog.Write(&text, samplelog.Config{Seed: seed, Junk: true}))
			c := automatic()
			c.Open = func() (*accesslog.Log, error) {
				return accesslog.Open([]string{"-"}, accesslog.Config{Stdin: bytes.NewReader(text.Bytes())})
			}
			finds(t, c)
		})
	}
}

func TestAShareOfClients(t *testing.T) {
	for _, share := range []float64{0, 0.01, 0.1} {
		c := automatic(sample)
		c.Clients, c.Endpoints = share, 0
		result, file := suggestion(t, c)
		require.Len(t, result.Groups, 1)
		g := result.Groups[0]
		most := int(share * float64(g.Clients))
		_, _, hurt, report := replayed(t, c, file)
		assert.LessOrEqual(t, len(hurt), most)
		assert.Equal(t, g.Curve[g.Chosen].Clients, report.Config.Clients)
		if i := g.Chosen + 1; i < len(g.Curve) && share > 0 {
			assert.Greater(t, g.Curve[i].Clients, most, "a tighter limit would refuse more")
		}
	}
}

func TestAShareOfRequests(t *testing.T) {
	c := automatic(sample)
	c.Requests, c.Endpoints = 0.02, 0
	result, file := suggestion(t, c)
	_, _, hurt, report := replayed(t, c, file)
	assert.LessOrEqual(t, float64(report.Config.Refused), 0.02*float64(report.Log.Decided))
	assert.NotZero(t, report.Config.Refused)
	assert.Equal(t, result.Report.Config.Refused, report.Config.Refused)
	assert.Contains(t, hurt, "203.0.113.7")
}

// The rules of a file keep all but their limits, and each plan gets one of its own.
func TestLimitsForARuleFile(t *testing.T) {
	file, err := settings.Parse([]byte(`
plans: {names: [free, premium], default: free, from: header:X-Plan}
rules:
  - {name: login, match: POST /login, key: ip, limit: 1/minute, mode: shadow}
  - name: rest
    key: [header:X-Api-Key, ip]
    limit: 1/hour
    algorithm: fixed_window
    plans: {premium: {limit: 2/hour}}
  - {name: old, match: /old/, mode: block}
`))
	require.NoError(t, err)
	var log strings.Builder
	for i := range 6000 {
		plan, key := "free", fmt.Sprint("f", i%40)
		if i%3 == 0 {
			plan, key = "premium", fmt.Sprint("p", i%9)
		}
		fmt.Fprintf(&log, `{"ts":%d.5,"request":{"remote_ip":"192.0.2.1","method":"GET","uri":"/","headers":{"X-Plan":[%q],"X-Api-Key":[%q]}},"status":200}`+"\n",
			1_700_000_000+i, plan, key)
	}
	c := automatic()
	c.File = file
	c.Open = func() (*accesslog.Log, error) {
		return accesslog.Open([]string{"-"}, accesslog.Config{Stdin: strings.NewReader(log.String())})
	}
	result, suggested := suggestion(t, c)
	require.Len(t, result.Groups, 2, "one for each plan that the log has requests of")
	assert.Equal(t, 40, result.Groups[0].Clients)
	assert.Equal(t, 3, result.Groups[1].Clients)
	assert.Zero(t, result.Report.Config.Refused)
	login, rest := suggested.Rules[0], suggested.Rules[1]
	assert.Equal(t, file.Rules[0], login, "no request: as it was")
	assert.NotEqual(t, file.Rules[1].Limit, rest.Limit)
	assert.NotEqual(t, file.Rules[1].Plans["premium"].Limit, rest.Plans["premium"].Limit)
	assert.Equal(t, file.Rules[1].Key, rest.Key)
	assert.Equal(t, file.Rules[2], suggested.Rules[2])
	assert.EqualValues(t, 1, file.Rules[1].Limit.Tokens, "the file that was given is left alone")
}
