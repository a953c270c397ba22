package rules

import (
	"fmt"

	"github.com/casgate/ratelimit"
)

// compiler turns the rules of a spec into those of a set.
type compiler struct {
	*problems
	spec   *Spec
	set    *Set
	layers map[string]int
}

// rule compiles spec.Rules[i]; names holds the index of each name so far.
func (c *compiler) rule(i int, names map[string]int) {
	spec, path := &c.spec.Rules[i], index("rules", i)
	r := &Rule{Name: spec.Name, Mode: spec.Mode, Missing: spec.Missing, Cost: 1, index: i}
	c.of(spec.Name)
	defer c.of("")

	if first, ok := names[spec.Name]; ok {
		c.add(path+".name", ErrDuplicate, "%s is the name of %s too", quote(spec.Name), index("rules", first))
	} else if names[spec.Name] = i; spec.Name == "" {
		c.add(path+".name", ErrRequired, "a rule needs a name")
	} else if !isName(spec.Name) {
		c.add(path+".name", ErrValue, "%s: a rule's name is %s", quote(spec.Name), nameForm)
	}
	if int(spec.Mode) >= len(modeNames) {
		c.add(path+".mode", ErrValue, "%d: want %s", spec.Mode, oneOf(modeNames))
	}
	c.match(r, spec, path)
	c.key(r, spec, path)
	c.cost(r, spec, path)
	r.refund = compileRefund(path+".refund", spec.Refund, c.problems)
	c.store(r, spec, path)
	c.limits(r, spec, path)
	c.layer(r, spec, path)
	c.set.rules = append(c.set.rules, r)
}

func (c *compiler) match(r *Rule, spec *RuleSpec, path string) {
	for i, text := range spec.Match {
		p, err := ParsePattern(text)
		if err != nil {
			c.add(index(path+".match", i), ErrPattern, "%s", detail(err, ErrPattern))
			continue
		}
		r.Patterns = append(r.Patterns, p)
	}
	if len(spec.Match) == 0 {
		r.Patterns = []*Pattern{everything}
	}
}

func (c *compiler) key(r *Rule, spec *RuleSpec, path string) {
	if int(spec.Missing) >= len(missingNames) {
		c.add(path+".missing", ErrValue, "%d: want %s", spec.Missing, oneOf(missingNames))
	}
	if len(spec.Key) == 0 {
		if spec.Mode != Block {
			c.add(path+".key", ErrRequired, "what are requests counted by? Often ip; global counts them all together")
		}
		return
	}
	key, err := ParseKey(spec.Key...)
	if err != nil {
		c.add(path+".key", ErrKey, "%s", detail(err, ErrKey))
		return
	}
	r.Key = key
	maybe := key.canBeMissing()
	for _, parts := range key.Alternatives {
		for _, part := range parts {
			if part.Kind != Path {
				continue
			}
			for _, p := range r.Patterns {
				ok, empty := p.hasWildcard(part.Name)
				if !ok {
					c.add(path+".key", ErrKey, "%s: the pattern %s has no wildcard {%s}", part, quote(p.text), part.Name)
				}
				maybe = maybe || ok && empty && len(key.Alternatives) == 1
			}
		}
	}
	if maybe && spec.Missing == MissingUnset && spec.Mode != Block {
		c.add(path+".missing", ErrRequired, "a request can lack %s: say skip or refuse, or add ip as the last key", key)
	}
}

func (c *compiler) cost(r *Rule, spec *RuleSpec, path string) {
	if spec.Cost == nil {
		return
	}
	r.Cost = *spec.Cost
	if r.Cost < 1 {
		c.add(path+".cost", ratelimit.ErrInvalidRule,
			"%d: must be at least 1 (leave requests out by match, or a plan by unlimited)", r.Cost)
		r.Cost = 1
	}
}

// store checks which store and share a rule has. The path names a Spec's store as such.
func (c *compiler) store(r *Rule, spec *RuleSpec, path string) {
	r.store = spec.Store
	if r.store == "" {
		r.store = c.spec.Store
	}
	if r.store == "local" {
		r.store = ""
	}
	r.share = 1
	if spec.Share == nil {
		return
	}
	r.share = *spec.Share
	if r.share < 1 {
		c.add(path+".share", ratelimit.ErrInvalidRule, "%d: the number of servers must be at least 1", r.share)
		r.share = 1
	} else if r.store != "" {
		c.add(path+".share", ErrConflict,
			"%d: the store is shared by the servers already, each would enforce a part of a part", r.share)
	}
}

// limits compiles the rule's own limit and those of the plans, one for each plan of the set.
func (c *compiler) limits(r *Rule, spec *RuleSpec, path string) {
	own := PlanLimit{Limit: spec.Limit, Burst: spec.Burst, Algorithm: spec.Algorithm}
	r.limits = make([]*Limit, len(c.set.plans.names))
	general := c.general(r, own, spec, path)
	for id := range r.limits {
		r.limits[id] = general
	}
	for _, name := range sortedKeys(spec.Plans) {
		path := join(path+".plans", name)
		id, ok := c.set.plans.ids[name]
		if !ok {
			c.add(path, ErrPlan, "plan %s isn't declared in plans.names", quote(name))
			id = 0
		}
		limit := spec.Plans[name]
		if limit.Algorithm == AlgorithmUnset {
			limit.Algorithm = spec.Algorithm
		}
		compiled := c.limit(r, limit, path)
		compiled.Plan = name
		if ok {
			r.limits[id] = compiled
		}
	}
}

// general compiles what holds for plans without a limit of their own; nil: the rule doesn't claim their requests.
func (c *compiler) general(r *Rule, own PlanLimit, spec *RuleSpec, path string) *Limit {
	if own.Limit != (ratelimit.Rate{}) {
		return c.limit(r, own, path)
	}
	if own.Burst != nil {
		c.add(path+".limit", ErrRequired, "the rule has a burst, %d, but no limit", *own.Burst)
	} else if spec.Mode == Block {
		return c.newLimit(r)
	} else if len(spec.Plans) == 0 {
		c.add(path+".limit", ErrRequired, "how many requests may pass? For instance 100/minute")
	}
	return nil
}

// newLimit numbers a limit within the set.
func (c *compiler) newLimit(r *Rule) *Limit {
	l := &Limit{Rule: r, Index: len(c.set.limits)}
	c.set.limits = append(c.set.limits, l)
	return l
}

// limit compiles one limit. It always returns one; it is of no use if there are problems.
func (c *compiler) limit(r *Rule, spec PlanLimit, path string) *Limit {
	l := c.newLimit(r)
	l.path = path
	if spec.Unlimited {
		l.Unlimited = true
		if spec.Limit != (ratelimit.Rate{}) || spec.Burst != nil {
			c.add(path+".unlimited", ErrConflict, "unlimited, and has a limit or burst")
		}
		return l
	}
	if spec.Limit == (ratelimit.Rate{}) {
		c.add(path+".limit", ErrRequired, "how many requests may pass? For instance 100/minute, or unlimited: true")
		return l
	}
	if int(spec.Algorithm) >= len(algorithmNames) {
		c.add(path+".algorithm", ratelimit.ErrInvalidRule, "%d: want %s", spec.Algorithm, oneOf(algorithmNames))
		return l
	}
	rule := ratelimit.Rule{Capacity: spec.Limit.Tokens, Refill: spec.Limit}
	if spec.Algorithm != AlgorithmUnset {
		rule.Algorithm = spec.Algorithm.algorithm()
	}
	switch {
	case spec.Burst == nil:
	case rule.Algorithm != ratelimit.TokenBucket:
		c.add(path+".burst", ratelimit.ErrInvalidRule,
			"%d: a %s has no burst, it admits its limit at any time", *spec.Burst, spec.Algorithm)
	case *spec.Burst < 1:
		c.add(path+".burst", ratelimit.ErrInvalidRule, "%d: must be at least 1; 0 would let nothing pass", *spec.Burst)
		return l
	default:
		rule.Capacity = *spec.Burst
	}
	field := path + ".limit"
	if err := rule.Validate(); err != nil {
		if spec.Burst != nil && rule.Refill.Burst(1).Validate() == nil {
			field = path + ".burst"
		}
		c.add(field, ratelimit.ErrInvalidRule, "%s", detail(err, ratelimit.ErrInvalidRule))
		return l
	}
	share, err := rule.Split(r.share)
	if err != nil {
		c.add(path+".share", ratelimit.ErrInvalidRule, "%s", detail(err, ratelimit.ErrInvalidRule))
		return l
	}
	if r.Cost > share.Capacity {
		c.add(path, ratelimit.ErrInvalidRule,
			"a request costs %d, more than the %d that can ever be there: none would pass", r.Cost, share.Capacity)
	}
	l.Limit = share
	return l
}

// layer finds the layer that the rule is in: the one it names, or that of its key.
func (c *compiler) layer(r *Rule, spec *RuleSpec, path string) {
	r.Layer = spec.Layer
	switch {
	case spec.Layer != "":
		if !isName(spec.Layer) {
			c.add(path+".layer", ErrValue, "%s: a layer's name is %s", quote(spec.Layer), nameForm)
		}
	case r.Key.text == "":
		r.Layer = "(block)"
	case r.Mode == Shadow:
		r.Layer = fmt.Sprintf("(shadow %s)", r.Key)
	default:
		r.Layer = fmt.Sprintf("(%s)", r.Key)
	}
	layer, ok := c.layers[r.Layer]
	if !ok {
		layer = len(c.layers)
		c.layers[r.Layer] = layer
	}
	r.layer = layer
}
