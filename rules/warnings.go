package rules

import "slices"

// Warnings returns what a valid set allows and its author probably doesn't mean: limits that a client gets around by
// what it sends. Their kind is ErrTrust.
//
// A key with a part that the sender can make up (a header, cookie or query that nobody has verified, a host or method that
// need not exist) gives each made-up value a limit of its own, whatever other parts it has; a key that may be left out and
// is then skipped limits only those who send it. Neither matters if a rule counts every request by its address, too.
func (s *Set) Warnings() []Problem {
	ps := &problems{}
	if from := s.plans.from; from.unverified() && from.Kind != Host && s.plans.values == nil {
		ps.add("plans.from", ErrTrust,
			"whoever can write %s chooses a plan: have a proxy remove it from what clients send, or list its values", from)
	}
	for _, r := range s.rules {
		if r.Mode == Enforce && r.countsAllByAddress() {
			return ps.list
		}
	}
	for _, r := range s.rules {
		if r.Mode != Enforce {
			continue
		}
		ps.of(r.Name)
		path := index("rules", r.index)
		for _, parts := range r.Key.Alternatives {
			if slices.ContainsFunc(parts, Part.unverified) {
				ps.add(path+".key", ErrTrust,
					"%s is what the sender says, and each made-up value has a limit of its own: add a rule for every request with the key ip", joinParts(parts))
			}
		}
		if r.Missing == MissingSkip && r.Key.canBeMissing() {
			ps.add(path+".missing", ErrTrust,
				"whoever leaves %s out isn't limited: add a rule for every request with the key ip, or say refuse", r.Key)
		}
	}
	return ps.list
}

// unverified reports whether a sender can make the part up. Users and functions are the program's affair.
func (p Part) unverified() bool {
	switch p.Kind {
	case Header, Cookie, Query, Host, Method:
		return true
	}
	return false
}

// countsAllByAddress reports whether r claims every request, of whatever plan that is limited at all, and counts it by
// its address alone.
func (r *Rule) countsAllByAddress() bool {
	claimsAll := slices.ContainsFunc(r.Patterns, (*Pattern).general)
	for _, limit := range r.limits {
		claimsAll = claimsAll && limit != nil
	}
	return claimsAll && len(r.Key.Alternatives) == 1 && len(r.Key.Alternatives[0]) == 1 && r.Key.Alternatives[0][0].Kind == IP
}
