// Package suggest finds limits for the traffic in an access log: it reads the log a few times, and never keeps it.
//
//	1  which endpoints there are                             (without a rule file, which says so itself)
//	2  for each client and each of a ladder of rates, the burst that it would have needed never to be refused
//	3  for the bursts in question, how many requests real limiters would have refused
//	4  a replay of the rule file that comes out of it
//
// The burst that a client needs at a rate is the deepest that an unbounded bucket would have been drawn: a client is
// refused at least once if, and only if, the burst is less. So the second pass tells for any limit how many clients it
// would have refused. A limit by itself is chosen where clients fall apart: most need little, and some, that scrape or
// guess passwords, many times that. It lies between, nearer to the many.
package suggest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/replay"
	"github.com/casgate/ratelimit/cmd/internal/settings"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/rules"
)

// Config says what is wanted.
type Config struct {
	// Open opens the log; it is called once for each pass.
	Open func() (*accesslog.Log, error)
	// File is a rule file whose limits are to be found: its rules, keys and plans stay. Nil: rules by Key for the busiest
	// endpoints and one for the rest.
	File *settings.File
	Key  rules.List
	// Endpoints is how many endpoints get a rule of their own, without a File.
	Endpoints int
	// Clients is the share of clients that may be refused, Requests that of requests; only one of them is set. Auto: where
	// clients fall apart.
	Clients, Requests float64
	// Headroom is how many times the burst that the clients needed, whom the limit by itself spares, is given; at least 1.
	Headroom float64
	Host     string
}

// Auto as a share means: unset.
const Auto = -1

// Result is what was found.
type Result struct {
	Spec   rules.Spec     `json:"rules"`
	Groups []*Group       `json:"limits"`
	Report *replay.Report `json:"replay"`
	// LogErr is what cut the log short.
	LogErr error           `json:"-"`
	Stats  accesslog.Stats `json:"-"`
}

// ErrNothing means that no rule meets any request of the log.
var ErrNothing = errors.New("no request of the log meets a rule that counts")

// Run finds limits. With ErrNothing, the result tells what was read.
func Run(c Config) (*Result, error) {
	result := &Result{}
	if c.File != nil {
		result.Spec = c.File.Spec
	} else {
		spec, err := c.endpointRules(result)
		if err != nil {
			return nil, err
		}
		if len(spec.Rules) == 0 {
			return result, ErrNothing
		}
		result.Spec = spec
	}
	result.Spec.Rules = slices.Clone(result.Spec.Rules)
	w, err := c.newWalk(result.Spec)
	if err != nil {
		return nil, err
	}
	if err := c.pass(result, w.measure); err != nil {
		return nil, err
	}
	result.Groups = w.groups
	result.Groups = slices.DeleteFunc(result.Groups, func(g *Group) bool { return g.Requests == 0 })
	if len(result.Groups) == 0 {
		return result, ErrNothing
	}
	for _, g := range result.Groups {
		if err := g.choose(&c, w.clock); err != nil {
			return nil, err
		}
	}
	if err := c.pass(result, w.try); err != nil {
		return nil, err
	}
	for _, g := range result.Groups {
		g.decide(&c)
		g.apply(&result.Spec)
	}
	return result, c.confirm(result)
}

// pass reads the log once.
func (c *Config) pass(result *Result, visit func(*accesslog.Entry)) error {
	log, err := c.Open()
	if err != nil {
		return err
	}
	defer log.Close()
	var e accesslog.Entry
	for log.Next(&e) {
		visit(&e)
	}
	result.LogErr, result.Stats = log.Err(), log.Stats()
	return nil
}

// confirm replays the log with the rules that were found.
func (c *Config) confirm(result *Result) error {
	log, err := c.Open()
	if err != nil {
		return err
	}
	defer log.Close()
	file := &settings.File{Spec: result.Spec}
	if c.File != nil {
		file.Server = c.File.Server
	}
	result.Report, err = replay.Run(log, replay.Config{FileName: "the suggestion", File: file, Host: c.Host})
	return err
}

// walk leads each request to the groups that it counts in.
type walk struct {
	request *replay.Request
	clock   *limittest.ManualClock
	filter  *httplimit.Filter
	groups  []*Group
	index   map[groupKey]*Group
	user    string
}

type groupKey struct{ rule, plan string }

// newWalk returns a walk by the matching and the keys of spec.
func (c *Config) newWalk(spec rules.Spec) (*walk, error) {
	w := &walk{request: replay.NewRequest(c.Host), clock: new(limittest.ManualClock), index: map[groupKey]*Group{}}
	store, err := rules.NewStore(spec, rules.Config{
		NewLimiter: func(b rules.Build) (ratelimit.Reversible, error) { // asked for nothing, but a rule needs one
			return ratelimit.New(b.Limit, ratelimit.Config{Clock: w.clock, MaxKeys: 1})
		},
	})
	if err != nil {
		return nil, err
	}
	w.filter, err = httplimit.New(httplimit.Config{Store: store, When: httplimit.Never, User: func(*http.Request) string { return w.user }})
	if err != nil {
		return nil, err
	}
	for _, l := range store.Current().Limits() {
		if l.Limiter == nil || l.Rule.Mode == rules.Block {
			continue
		}
		g := newGroup(l)
		w.groups = append(w.groups, g)
		w.index[groupKey{g.Rule, g.Plan}] = g
	}
	return w, nil
}

// visit calls f for each group that e counts in, with its key there.
func (w *walk) visit(e *accesslog.Entry, f func(g *Group, key string, cost, now int64)) {
	if !w.request.Set(e) {
		return
	}
	w.user = e.User
	for _, x := range w.filter.Explain(&w.request.HTTP) {
		if g := w.index[groupKey{x.Rule, x.Plan}]; g != nil && x.RawKey != "" {
			f(g, x.RawKey, x.Cost, e.Time)
		}
	}
}

// measure is the second pass.
func (w *walk) measure(e *accesslog.Entry) {
	w.visit(e, func(g *Group, key string, cost, now int64) { g.measure(key, cost, now) })
}

// try is the third pass.
func (w *walk) try(e *accesslog.Entry) {
	w.visit(e, func(g *Group, key string, cost, now int64) {
		for i := range g.Curve {
			p := &g.Curve[i]
			if cost > p.Burst || !p.limiter.TakeAt(key, cost, now).Allowed {
				p.Requests++
			}
		}
	})
}

// words names a group.
func (g *Group) words() string {
	if g.Plan != "" {
		return fmt.Sprintf("%s, plan %s", g.Rule, g.Plan)
	}
	return g.Rule
}
