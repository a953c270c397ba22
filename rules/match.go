package rules

import (
	"slices"
	"strings"
)

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
// don't take part. HEAD is GET where there is no rule for it. Hosts are matched without port and case, methods without
// case, as some servers take post for POST.
//
// An encoded slash (%2F) is part of a segment to http.ServeMux, and ends one to servers that decode a path before they
// look at it. Which it is, only the handler knows, so a request with one meets the rules of both readings: there can be
// two of a layer then.
//
// It allocates nothing if dst has room, the path is clean and has no encoded slash, and method and host are written in
// the usual case.
func (s *Set) Match(dst []Match, plan PlanID, method, host, path, rawPath string) []Match {
	if s.catchAll != nil {
		return append(dst, s.catchAll[plan]...)
	}
	method = strings.ToUpper(method)
	first, t := len(dst), newTarget(path, rawPath)
	dst = s.walk(dst, t, plan, method, host)
	if t.encoded {
		for _, m := range s.walk(nil, separated(path), plan, method, host) {
			if !slices.ContainsFunc(dst[first:], func(have Match) bool { return have.Limit == m.Limit }) {
				dst = append(dst, m)
			}
		}
	}
	sortMatches(dst[first:])
	return dst
}

// walk appends to dst what a request meets whose path is read as t.
func (s *Set) walk(dst []Match, t target, plan PlanID, method, host string) []Match {
	w := walk{target: t, plan: plan, first: len(dst), open: s.layers}
	if len(s.trie.hosts) > 0 {
		dst = s.trie.hosts[canonicalHost(host)].match(&w, method, dst)
	}
	return s.trie.any.match(&w, method, dst)
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
