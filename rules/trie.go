package rules

// trie holds the patterns of a set, by host, method and path. A walk meets all that match a request, of each layer the
// most specific one first: a host before none, a method before none, a literal before a wildcard, a wildcard before the
// rest. Patterns that this order can't rank don't come in (conflict).
type trie struct {
	hosts map[string]methods
	any   methods // patterns without a host
}

// methods holds the paths for each method; those of patterns without one are under "".
type methods map[string]*node

// node is one step of the patterns' paths.
type node struct {
	literal map[string]*node // the next segment, as it is
	wild    *node            // the next segment, whatever it is
	tails   [tailRest + 1][]entry
}

// entry is a pattern of a rule, where it ends.
type entry struct {
	pattern *Pattern
	rule    *Rule
}

func (t *trie) insert(e entry) {
	paths := &t.any
	if e.pattern.host != "" {
		if t.hosts == nil {
			t.hosts = map[string]methods{}
		}
		ofHost := t.hosts[e.pattern.host]
		if ofHost == nil {
			ofHost = methods{}
			t.hosts[e.pattern.host] = ofHost
		}
		paths = &ofHost
	}
	if *paths == nil {
		*paths = methods{}
	}
	n := child(*paths, e.pattern.method)
	for _, s := range e.pattern.segments {
		switch {
		case !s.wild && n.literal == nil:
			n.literal = map[string]*node{}
			n = child(n.literal, s.text)
		case !s.wild:
			n = child(n.literal, s.text)
		case n.wild == nil:
			n.wild = &node{}
			n = n.wild
		default:
			n = n.wild
		}
	}
	n.tails[e.pattern.tail] = append(n.tails[e.pattern.tail], e)
}

func child(of map[string]*node, text string) *node {
	n := of[text]
	if n == nil {
		n = &node{}
		of[text] = n
	}
	return n
}

// overlapping calls visit with each entry whose pattern may match a request that p matches too, and that no host sets
// apart. The order is random.
func (t *trie) overlapping(p *Pattern, visit func(entry)) {
	paths := t.any
	if p.host != "" {
		paths = t.hosts[p.host]
	}
	for _, n := range paths {
		n.overlapping(p.segments, p.tail, visit)
	}
}

func (n *node) overlapping(segments []segment, tail tail, visit func(entry)) {
	if len(segments) == 0 {
		if tail == tailRest {
			n.below(visit)
			return
		}
		visitAll(n.tails[tail], visit)
		if tail == tailSlash {
			visitAll(n.tails[tailRest], visit)
		}
		return
	}
	visitAll(n.tails[tailRest], visit)
	if n.wild != nil {
		n.wild.overlapping(segments[1:], tail, visit)
	}
	if !segments[0].wild {
		if next := n.literal[segments[0].text]; next != nil {
			next.overlapping(segments[1:], tail, visit)
		}
		return
	}
	for _, next := range n.literal {
		next.overlapping(segments[1:], tail, visit)
	}
}

// below visits the entries whose paths go on after n.
func (n *node) below(visit func(entry)) {
	visitAll(n.tails[tailSlash], visit)
	visitAll(n.tails[tailRest], visit)
	if n.wild != nil {
		visitAll(n.wild.tails[tailNone], visit)
		n.wild.below(visit)
	}
	for _, next := range n.literal {
		visitAll(next.tails[tailNone], visit)
		next.below(visit)
	}
}

func visitAll(entries []entry, visit func(entry)) {
	for _, e := range entries {
		visit(e)
	}
}
