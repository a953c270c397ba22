package rules

import (
	"encoding/json"
	"maps"
	"slices"
)

// Compile checks a spec and makes it ready for matching. It makes no limiters: those are a Store's. The error is an
// *Error with every mistake.
func Compile(spec Spec) (*Set, error) {
	ps := &problems{}
	s := compile(&spec, ps)
	if err := ps.err(); err != nil {
		return nil, err
	}
	var err error
	if s.source, err = json.Marshal(spec); err != nil { // a valid spec has a text form
		return nil, err
	}
	return s, nil
}

// Validate returns nil, or an *Error with every mistake.
func (s Spec) Validate() error {
	_, err := Compile(s)
	return err
}

func compile(spec *Spec, ps *problems) *Set {
	s := &Set{plans: compilePlans(&spec.Plans, ps)}
	s.proxies = compileProxies(spec.Proxies, ps)
	s.headers = compileHeaders(spec.Headers, ps)
	s.allow = compileClients("allow", spec.Allow, ps)
	s.block = compileClients("block", spec.Block, ps)
	checkAllow(s.allow, spec, ps)
	if len(spec.Rules) == 0 && s.block.Empty() {
		ps.add("rules", ErrRequired, "there are none: nothing would be limited")
	}
	names := map[string]int{}
	c := &compiler{problems: ps, spec: spec, set: s, layers: map[string]int{}}
	for i := range spec.Rules {
		c.rule(i, names)
	}
	s.plans.checkUse(spec, ps)
	s.layers = len(c.layers)
	c.claims()
	return s
}

func compileHeaders(spec HeadersSpec, ps *problems) Headers {
	h := Headers{Styles: Draft8 | XDelta, When: spec.When}
	if int(spec.When) >= len(whenNames) {
		ps.add("headers.when", ErrValue, "%d: want %s", spec.When, oneOf(whenNames))
	}
	if len(spec.Styles) > 0 {
		h.Styles = 0
	}
	for i, name := range spec.Styles {
		path := index("headers.styles", i)
		at := slices.Index(styleNames, name)
		if at < 0 {
			ps.add(path, ErrValue, "%s: want %s", quote(name), oneOf(styleNames))
			continue
		}
		style := HeaderStyle(1) << at
		if h.Styles&style != 0 {
			ps.add(path, ErrDuplicate, "%s stands twice", quote(name))
		}
		h.Styles |= style
	}
	if h.Styles&(XDelta|XEpoch) == XDelta|XEpoch {
		ps.add("headers.styles", ErrConflict, "x-delta and x-epoch write the same headers: choose one")
	}
	return h
}

// claims puts the rules' patterns into the trie, and finds rules of a layer that claim the same request.
func (c *compiler) claims() {
	s := c.set
	layers := make([]trie, s.layers)
	general := true
	for i, r := range s.rules {
		if !r.sharesPlan(r) {
			continue // it has no limit, which has been said
		}
		c.of(r.Name)
		for j, p := range r.Patterns {
			e := entry{pattern: p, rule: r}
			if !c.conflicts(&layers[r.layer], e, patternPath(c.spec, i, j)) {
				layers[r.layer].insert(e)
				s.trie.insert(e)
			}
			general = general && p.general()
		}
	}
	c.of("")
	if general && len(c.problems.list) == 0 {
		s.catchAll = make([][]Match, len(s.plans.names))
		w := walk{target: target{path: "/"}, open: -1}
		for plan := range s.catchAll {
			w.plan = PlanID(plan)
			s.catchAll[plan] = s.trie.any.match(&w, "", []Match{})
			sortMatches(s.catchAll[plan])
		}
	}
}

// conflicts reports whether e conflicts with a rule before it, and adds the first such to the problems.
func (c *compiler) conflicts(layer *trie, e entry, path string) bool {
	var first entry
	layer.overlapping(e.pattern, func(other entry) {
		if first.rule != nil && first.rule.index <= other.rule.index {
			return
		}
		if e.rule.sharesPlan(other.rule) && e.pattern.conflict(other.pattern) {
			first = other
		}
	})
	switch {
	case first.rule == nil:
	case first.rule == e.rule:
		c.problems.add(path, ErrDuplicate,
			"%s and %s of the same rule match the same requests", quote(e.pattern.text), quote(first.pattern.text))
	default:
		c.problems.add(path, ErrConflict, "%s and %s of rule %s (%s) claim the same requests, and neither is more specific: "+
			"change a pattern, or give one rule a layer of its own if both should hold",
			quote(e.pattern.text), quote(first.pattern.text), first.rule.Name, index("rules", first.rule.index))
	}
	return first.rule != nil
}

// patternPath is where a rule's pattern stands; a rule without any has one all the same.
func patternPath(spec *Spec, rule, pattern int) string {
	path := index("rules", rule)
	if len(spec.Rules[rule].Match) == 0 {
		return path
	}
	return index(path+".match", pattern)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
