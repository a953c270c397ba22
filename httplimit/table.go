package httplimit

import (
	"errors"
	"fmt"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// table is what a filter goes by, as of one version of the rules. It is immutable.
type table struct {
	rules   []*rule // those of Config, in order; or of the set, by the Limit's Index
	proxies *rules.Proxies
	headers HeaderStyle
	when    When
	allow   []*clients // nobody asks further of a client on one of these
	block   []*clients // and these are refused
	plain   bool       // see visit.passes

	set      *rules.Set // nil without a Store
	planPart *Key       // what of a request tells its plan, if the set says so
}

// newTable returns the table of the rules in c.
func newTable(c *Config) (*table, error) {
	t := &table{headers: c.Headers, when: c.When}
	errs := []error{t.configure(c)}
	limiters := ratelimit.NewFactory(c.Limiters)
	for _, r := range c.Rules {
		compiled, err := r.compile(limiters)
		if err != nil {
			errs = append(errs, fmt.Errorf("rule %q: %w", r.name(), err))
			continue
		}
		t.rules = append(t.rules, compiled)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	t.plain = len(t.rules) == 1 && t.rules[0].plain() && t.allow == nil && t.block == nil &&
		(t.when == Never || t.when == OnRefusal)
	return t, nil
}

// newSetTable returns the table of the rules of a Store. Its settings hold where c leaves them to it.
func newSetTable(c *Config, set *rules.Set, s *sources) (*table, error) {
	h := set.Headers()
	t := &table{set: set, headers: h.Styles, when: h.When}
	if c.Headers != 0 {
		t.headers = c.Headers
	}
	if c.When != Always {
		t.when = c.When
	}
	errs := []error{t.configure(c)}
	if c.Proxies.zero() {
		t.proxies = set.Proxies()
	}
	if l := set.Allow(); !l.Empty() {
		t.allow = append(t.allow, s.list(l, &errs))
	}
	if l := set.Block(); !l.Empty() {
		t.block = append(t.block, s.list(l, &errs))
	}
	if part, ok := set.PlanFrom(); ok {
		key, err := s.part(part)
		errs = append(errs, err)
		t.planPart = &key
	}
	for _, l := range set.Limits() {
		r, err := newSetRule(l, s)
		errs = append(errs, err)
		t.rules = append(t.rules, r)
	}
	return t, errors.Join(errs...)
}

// configure takes over what both kinds of rules leave to c.
func (t *table) configure(c *Config) error {
	if t.headers == 0 {
		t.headers = defaultHeaders
	}
	proxies, err1 := c.Proxies.compile()
	allow, err2 := c.Allow.compile("Allow", false)
	block, err3 := c.Block.compile("Block", true)
	t.proxies = proxies
	if allow != nil {
		t.allow = append(t.allow, allow)
	}
	if block != nil {
		t.block = append(t.block, block)
	}
	return errors.Join(err1, err2, err3)
}

// newSetRule returns the rule that stands for l.
func newSetRule(l *rules.Limit, s *sources) (*rule, error) {
	r := &rule{name: l.Rule.Name, plan: l.Plan, mode: l.Rule.Mode, missing: l.Rule.Missing, n: l.Rule.Cost,
		declared: l.Limit, unlimited: l.Unlimited}
	if r.mode == Block || l.Unlimited {
		return r, nil
	}
	if l.Rule.HasRefund() {
		r.refund = l.Rule.Refunds
	}
	r.setLimiter(l.Limiter)
	r.ruled = nil // a reload makes another table
	key, err := s.key(l.Rule.Key)
	if err != nil {
		return nil, fmt.Errorf("rule %q: %w", r.name, err)
	}
	r.key, err = key.check()
	return r, err
}

// list returns the clients of a list of a Store.
func (s *sources) list(l *rules.ClientList, errs *[]error) *clients {
	c := &clients{addrs: l.Addr, has: l.Has}
	for _, p := range l.Parts() {
		key, err := s.part(p)
		*errs = append(*errs, err)
		c.keys = append(c.keys, key)
	}
	return c
}

// plan returns the plan of v's request.
func (t *table) plan(v *visit) rules.PlanID {
	switch {
	case !t.set.HasPlans():
		return 0
	case v.f.plan != nil:
		return t.set.Plan(v.f.plan(v.r))
	case t.planPart != nil:
		return t.set.PlanOf(t.planPart.text(v))
	}
	return t.set.Plan("")
}

// match appends to dst the rules of the set that v's request meets.
func (t *table) match(dst []rules.Match, v *visit) []rules.Match {
	path, raw := "", ""
	if v.r.URL != nil {
		path, raw = v.r.URL.Path, v.r.URL.RawPath
	}
	return t.set.Match(dst, t.plan(v), v.r.Method, v.r.Host, path, raw)
}

// listed reports whether v's client is on one of the lists.
func listed(lists []*clients, v *visit) bool {
	for _, l := range lists {
		if l.includes(v) {
			return true
		}
	}
	return false
}
