package rules

// relation is how the requests of two patterns lie to each other.
type relation uint8

const (
	same     relation = iota // both match the same requests
	narrower                 // the first matches fewer
	wider                    // the first matches more
	crossing                 // both match some, and each matches others
	disjoint                 // no request matches both
)

// conflict reports whether some request matches both patterns while neither is the more specific one. A pattern with a
// host is more specific than any without; otherwise method and path decide together, as in http.ServeMux.
func (p *Pattern) conflict(q *Pattern) bool {
	if p.host != q.host {
		return false
	}
	r := combine(p.compareMethods(q), p.comparePaths(q))
	return r == same || r == crossing
}

func (p *Pattern) compareMethods(q *Pattern) relation {
	switch {
	case p.method == q.method:
		return same
	case q.method == "" || q.method == "GET" && p.method == "HEAD":
		return narrower
	case p.method == "" || p.method == "GET" && q.method == "HEAD":
		return wider
	}
	return disjoint
}

func (p *Pattern) comparePaths(q *Pattern) relation {
	common := min(len(p.segments), len(q.segments))
	r := compareTails(p, q, common)
	for i := range common {
		r = combine(r, compareSegments(p.segments[i], q.segments[i]))
	}
	return r
}

func compareSegments(s, t segment) relation {
	switch {
	case s.wild && t.wild:
		return same
	case t.wild:
		return narrower
	case s.wild:
		return wider
	case s.text == t.text:
		return same
	}
	return disjoint
}

// compareTails compares what is left of the patterns after common segments, of which one has no more.
func compareTails(p, q *Pattern, common int) relation {
	switch {
	case len(p.segments) > common:
		return tailAgainstMore(q.tail, narrower)
	case len(q.segments) > common:
		return tailAgainstMore(p.tail, wider)
	case p.tail == q.tail:
		return same
	case p.tail == tailSlash && q.tail == tailRest:
		return narrower
	case p.tail == tailRest && q.tail == tailSlash:
		return wider
	}
	return disjoint
}

// tailAgainstMore is r if the tail takes in what the other pattern goes on with.
func tailAgainstMore(t tail, r relation) relation {
	if t == tailRest {
		return r
	}
	return disjoint
}

// combine joins what is known of two independent halves of two patterns.
func combine(r, s relation) relation {
	switch {
	case r == disjoint || s == disjoint:
		return disjoint
	case r == same:
		return s
	case s == same || r == s:
		return r
	}
	return crossing
}
