package suggest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// apart is by what factor clients must fall apart, and up to which share of them may then be refused: the more clients,
// the clearer it must be.
var apart = []struct{ share, factor float64 }{{0.01, 3}, {0.1, 6}, {0.5, 20}}

// Clients that stand apart are worth a limit only if they matter: if what they draw beyond the others is matters of all
// requests, or they stand farApart. An office behind one address is neither.
const (
	matters  = 0.05
	farApart = 50
)

// leastBurst is what a limit by itself lets pass at once, at least: a few clicks, or tabs that open again.
const leastBurst = 5

// gap is where clients fall apart at one rate: none of them needs a burst between spared and refused.
type gap struct {
	rate            int // in ladder
	spared, refused uint32
	clients         int // on the far side
	factor          float64
}

// widest returns the widest gap at rate i, if there is one that is clear enough.
func (g *Group) widest(i int) (best gap) {
	all := g.distribution(i)
	beyond, drawn := 0, 0.0
	for j := len(all) - 1; j > 0; j-- {
		beyond += all[j].count
		drawn += float64(all[j].count) * float64(all[j].burst)
		share := float64(beyond) / float64(g.Clients)
		factor := float64(all[j].burst) / float64(all[j-1].burst)
		if factor < farApart && drawn-float64(beyond)*float64(all[j-1].burst) < matters*float64(g.Requests) {
			continue
		}
		for _, a := range apart {
			if (share <= a.share || beyond == 1 && a.share < 0.5) && factor >= a.factor && factor > best.factor {
				best = gap{i, all[j-1].burst, all[j].burst, beyond, factor}
			}
		}
	}
	return best
}

// choose sets the rate and the bursts of the curve. What of them is suggested is for decide, which knows the requests.
func (g *Group) choose(c *Config, clock ratelimit.Clock) error {
	for _, client := range g.live {
		g.settle(client)
	}
	g.live = nil
	var best gap
	if c.Clients == Auto && c.Requests == Auto {
		for i := range ladder {
			if found := g.widest(i); found.factor > best.factor {
				best = found
			}
		}
		// Of rates that tell clients apart about as well, the highest is the kindest.
		for i := best.rate + 1; i < len(ladder); i++ {
			if found := g.widest(i); found.factor >= 0.8*best.factor && found.factor > 0 {
				best = found
			}
		}
	}
	rate, burst := best.rate, int64(0)
	switch {
	case best.factor > 0:
		// With headroom, but no nearer to those beyond than to those before.
		room := math.Sqrt(float64(best.spared) * float64(best.refused))
		burst = nice(min(max(float64(best.spared)*c.Headroom, leastBurst), room))
		burst = min(burst, int64(best.refused)-1)
		g.Why = fmt.Sprintf("%d of %d clients stand apart: bursts of %d and more they would need at this rate, the others %d at most",
			best.clients, g.Clients, best.refused, best.spared)
		if best.clients == 1 {
			g.Why = fmt.Sprintf("1 of %d clients stands apart: a burst of %d it would need at this rate, the others %d at most",
				g.Clients, best.refused, best.spared)
		}
	case c.Clients == Auto && c.Requests == Auto:
		rate, burst = g.rateFor(func(all []need) int64 { return nice(max(float64(all[len(all)-1].burst)*c.Headroom, leastBurst)) })
		g.Why = "No client stands apart: the limit refuses nobody of this log"
	case c.Clients != Auto:
		rate, burst = g.rateFor(func(all []need) int64 { return tightest(all, int(c.Clients*float64(g.Clients))) })
		g.Why = fmt.Sprintf("The tightest that refuses at most %g %% of the clients", 100*c.Clients)
	default:
		rate, burst = g.rateFor(func(all []need) int64 { return tightest(all, 0) })
		g.Why = fmt.Sprintf("The tightest of the curve that refuses at most %g %% of the requests", 100*c.Requests)
	}
	g.Rate = ratelimit.Rate{Tokens: ladder[rate], Per: time.Minute}
	return g.points(g.distribution(rate), burst, c.Requests != Auto, clock)
}

// rateFor returns the rate at which the burst that is wanted comes nearest to a minute's worth, and that burst.
func (g *Group) rateFor(want func([]need) int64) (rate int, burst int64) {
	best := math.Inf(1)
	for i, r := range ladder {
		b := want(g.distribution(i))
		if off := math.Abs(math.Log(float64(b) / float64(r))); off < best {
			best, rate, burst = off, i, b
		}
	}
	return rate, burst
}

// tightest returns the smallest burst that refuses at most so many clients.
func tightest(all []need, clients int) int64 {
	refused := 0
	for j := len(all) - 1; j >= 0; j-- {
		if refused+all[j].count > clients {
			return int64(all[j].burst)
		}
		refused += all[j].count
	}
	return 1
}

// nice rounds a burst up to a number that people would choose.
func nice(x float64) int64 {
	for unit := 1.0; ; unit *= 10 {
		for _, step := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8} {
			if n := step * unit; n >= x && n == math.Trunc(n) {
				return int64(n)
			}
		}
	}
}

// shares are those of clients whose bursts stand on the curve.
var shares = []float64{0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5}

// points makes the curve: the bursts that refuse certain shares of the clients, the one that is to be chosen, and some
// between: many, if the choice is to be among them.
func (g *Group) points(all []need, chosen int64, many bool, clock ratelimit.Clock) error {
	bursts := []int64{chosen}
	for _, share := range shares {
		bursts = append(bursts, tightest(all, int(share*float64(g.Clients))))
	}
	g.coarse = slices.Clone(bursts)
	step := 3.0
	if many {
		step = 1.1
	}
	least, most := max(slices.Min(bursts), 1), slices.Max(bursts)
	for x := float64(most) / step; x > float64(least); x /= step {
		bursts = append(bursts, int64(x))
	}
	slices.Sort(bursts)
	bursts = slices.Compact(bursts)
	slices.Reverse(bursts)
	for _, burst := range bursts {
		limiter, err := ratelimit.New(g.Rate.Burst(burst), ratelimit.Config{Clock: clock, MaxKeys: 4 * maxClients})
		if err != nil {
			return fmt.Errorf("%s: %w", g.words(), err)
		}
		g.Curve = append(g.Curve, Point{Burst: burst, Clients: above(all, burst), limiter: limiter})
	}
	g.Chosen = slices.Index(bursts, chosen)
	return nil
}

// decide settles what is suggested, when the curve's requests are known.
func (g *Group) decide(c *Config) {
	for i := range g.Curve {
		g.Curve[i].limiter = nil
		if c.Requests != Auto && float64(g.Curve[i].Requests) <= c.Requests*float64(g.Requests) {
			g.Chosen = i
		}
	}
	if c.Requests == Auto {
		return
	}
	chosen := g.Curve[g.Chosen].Burst
	g.Curve = slices.DeleteFunc(g.Curve, func(p Point) bool { return p.Burst != chosen && !slices.Contains(g.coarse, p.Burst) })
	g.Chosen = slices.IndexFunc(g.Curve, func(p Point) bool { return p.Burst == chosen })
}

// apply writes the suggestion into spec.
func (g *Group) apply(spec *rules.Spec) {
	burst := g.Curve[g.Chosen].Burst
	for i := range spec.Rules {
		r := &spec.Rules[i]
		if r.Name != g.Rule {
			continue
		}
		if g.Plan == "" {
			r.Limit, r.Burst, r.Algorithm = g.Rate, &burst, rules.AlgorithmUnset
			continue
		}
		plans := make(map[string]rules.PlanLimit, len(r.Plans))
		for name, limit := range r.Plans {
			plans[name] = limit
		}
		plans[g.Plan] = rules.PlanLimit{Limit: g.Rate, Burst: &burst, Algorithm: rules.TokenBucket}
		r.Plans = plans
	}
}
