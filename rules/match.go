package rules

// PlanID is a plan of one Set; another Set may number them otherwise. 0 is no plan: the rules' own limits.
type PlanID int

// Match is a rule that a request meets, with the limit of the request's plan.
type Match struct {
	Limit   *Limit
	Pattern *Pattern // the one of the rule's patterns that matched
	// settled: nothing that the walk still meets can take this layer. If not, the pattern matched as its path with a
	// slash added, and one that matches without takes precedence.
	settled bool
}

// Match appends to dst the rules that a request meets, at most one of each layer, in the order of the spec. method,
// host, path and rawPath are the Method, Host, URL.Path and URL.RawPath of its http.Request.
//
// In a layer it is the rule that http.ServeMux would choose by their patterns, after the redirects that it would answer
// with: an unclean path is cleaned, and /tree is /tree/ where only that is known. Rules without a limit for the plan
// don't take part. HEAD is GET where there is no rule for it. Hosts are matched without port and case.
//
// It allocates nothing if dst has room, the path is clean and has no encoded slash, and the host has no capitals.
func (s *Set) Match(dst []Match, plan PlanID, method, host, path, rawPath string) []Match {
	if s.catchAll != nil {
		return append(dst, s.catchAll[plan]...)
	}
	w := walk{target: newTarget(path, rawPath), plan: plan, first: len(dst), open: s.layers}
	if len(s.trie.hosts) > 0 {
		dst = s.trie.hosts[canonicalHost(host)].match(&w, method, dst)
	}
	dst = s.trie.any.match(&w, method, dst)
	sortMatches(dst[w.first:])
	return dst
}

// walk is one request's way through the trie.
type walk struct {
	target  target
	plan    PlanID
	first   int // where this walk's matches begin
	open    int // layers that aren't settled; at 0 the walk ends
	visited int // nodes, for tests
}

func (m methods) match(w *walk, method string, found []Match) []Match {
	if method != "" {
		found = m[method].match(w, w.target.path, found)
	}
	if method == "HEAD" {
		found = m["GET"].match(w, w.target.path, found)
	}
	return m[""].match(w, w.target.path, found)
}

// match goes on at n with the rest of the path: empty, or a slash and what follows it.
func (n *node) match(w *walk, rest string, found []Match) []Match {
	if n == nil || w.open == 0 {
		return found
	}
	w.visited++
	switch rest {
	case "":
		found = w.take(n.tails[tailNone], true, true, found)
		found = w.take(n.tails[tailSlash], false, false, found)
		return w.take(n.tails[tailRest], false, false, found)
	case "/":
		found = w.take(n.tails[tailSlash], true, false, found)
		return w.take(n.tails[tailRest], true, false, found)
	}
	segment, tail := w.target.cutSegment(rest)
	if n.literal != nil {
		found = n.literal[segment].match(w, tail, found)
	}
	if n.wild != nil {
		found = n.wild.match(w, tail, found)
	}
	return w.take(n.tails[tailRest], true, false, found)
}

// take gives each entry its layer, if that is free or, for an exact match, if it is held by one that isn't settled. A
// settled match that comes too late settles what was there before.
func (w *walk) take(entries []entry, settled, exact bool, found []Match) []Match {
	for i := range entries {
		limit := entries[i].rule.limits[w.plan]
		if limit == nil {
			continue
		}
		at := w.first
		for at < len(found) && found[at].Limit.Rule.layer != limit.Rule.layer {
			at++
		}
		switch {
		case at == len(found):
			found = append(found, Match{limit, entries[i].pattern, settled})
		case found[at].settled || !settled:
			continue
		case exact:
			found[at] = Match{limit, entries[i].pattern, true}
		default:
			found[at].settled = true
		}
		if settled {
			w.open--
		}
	}
	return found
}

// sortMatches puts the few matches in the order of the spec.
func sortMatches(m []Match) {
	for i := 1; i < len(m); i++ {
		for j := i; j > 0 && m[j].Limit.Index < m[j-1].Limit.Index; j-- {
			m[j], m[j-1] = m[j-1], m[j]
		}
	}
}
