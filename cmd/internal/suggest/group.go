package suggest

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// ladder are the rates that a limit may have, in tokens a minute.
var ladder = [...]int64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3000, 6000, 30000}

// Group is the requests that share one limit: those of a rule, on one plan.
type Group struct {
	Rule     string `json:"rule"`
	Plan     string `json:"plan,omitempty"`
	Key      string `json:"key"`
	Match    string `json:"match,omitempty"`
	Requests uint64 `json:"requests"`
	Clients  int    `json:"clients"`
	// Curve is the trade-off at the rate that was chosen: from the largest burst to the smallest.
	Rate  ratelimit.Rate `json:"rate"`
	Curve []Point        `json:"curve"`
	// Chosen is the index in Curve of what is suggested, Why says why.
	Chosen int    `json:"chosen"`
	Why    string `json:"why"`

	live   map[string]*client
	coarse []int64                     // bursts of the curve that stay on it
	needs  [len(ladder)]map[uint32]int // how many of the clients that were forgotten needed which burst
}

// Point is a limit, and whom it would have refused.
type Point struct {
	Burst    int64  `json:"burst"`
	Clients  int    `json:"clients_refused"`
	Requests uint64 `json:"requests_refused"`

	limiter ratelimit.Local
}

// client is what one client has drawn: at each rate, the tokens that are missing from an unbounded bucket, and the most
// that ever were.
type client struct {
	at    int64 // ns
	drawn [len(ladder)]float32
	most  [len(ladder)]float32
}

// maxClients bounds the clients that are followed at once in each group.
const maxClients = 1 << 15

func newGroup(l *rules.Limit) *Group {
	g := &Group{Rule: l.Rule.Name, Plan: l.Plan, Key: l.Rule.Key.String(), live: map[string]*client{}}
	for i, p := range l.Rule.Patterns {
		if p.String() == "/" {
			continue
		}
		if i > 0 {
			g.Match += ", "
		}
		g.Match += p.String()
	}
	for i := range g.needs {
		g.needs[i] = map[uint32]int{}
	}
	return g
}

// measure draws cost tokens for a client.
func (g *Group) measure(key string, cost, now int64) {
	g.Requests++
	c := g.live[key]
	if c == nil {
		if len(g.live) == maxClients {
			g.forget()
		}
		c = &client{at: now}
		g.live[key] = c
		g.Clients++
	}
	minutes := float64(now-c.at) / float64(time.Minute)
	c.at = now
	for i, rate := range ladder {
		c.drawn[i] = max(0, c.drawn[i]-float32(float64(rate)*minutes)) + float32(cost)
		c.most[i] = max(c.most[i], c.drawn[i])
	}
}

// forget lets go of the half of the clients that have been silent for longest; what they needed is kept. One that comes
// back is counted as another.
func (g *Group) forget() {
	keys := make([]string, 0, len(g.live))
	for key := range g.live {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(g.live[a].at, g.live[b].at) })
	for _, key := range keys[:len(keys)/2] {
		g.settle(g.live[key])
		delete(g.live, key)
	}
}

// settle notes what a client needed.
func (g *Group) settle(c *client) {
	for i, most := range c.most {
		g.needs[i][roundUp(most)]++
	}
}

// roundUp rounds a burst up to a whole one; above a thousand, to three digits, so that there are few.
func roundUp(x float32) uint32 {
	// A hair less, because float32 may say 3.0000002 where it is 3.
	n := math.Ceil(float64(x) * (1 - 1e-6))
	for unit := 10.0; ; unit *= 10 {
		if n < 100*unit {
			return uint32(min(n, math.MaxInt32))
		}
		n = math.Ceil(n/unit) * unit
	}
}

// need is how many clients needed a burst.
type need struct {
	burst uint32
	count int
}

// distribution returns what the clients needed at rate i, the least first.
func (g *Group) distribution(i int) []need {
	all := make([]need, 0, len(g.needs[i]))
	for burst, count := range g.needs[i] {
		all = append(all, need{burst, count})
	}
	slices.SortFunc(all, func(a, b need) int { return cmp.Compare(a.burst, b.burst) })
	return all
}

// above returns how many clients needed more than burst.
func above(all []need, burst int64) (n int) {
	for _, x := range all {
		if int64(x.burst) > burst {
			n += x.count
		}
	}
	return n
}
