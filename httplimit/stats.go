package httplimit

import (
	"cmp"
	"slices"

	"github.com/casgate/ratelimit"
)

// Stats is what a Filter has counted since it was made.
type Stats struct {
	// Rules are the rules in force, in their order. A rule with several plans is one.
	Rules []RuleStats
	// Allowed and Blocked count the requests of clients on the allow and block lists. No rule was asked about them.
	Allowed, Blocked uint64
}

// RuleStats is what one rule has counted. A request that another rule has refused counts for neither side here.
type RuleStats struct {
	Rule string
	Mode Mode
	// Allowed requests have passed. For a rule in shadow mode: would have.
	Allowed uint64
	// Refused requests were over this rule's limit, or blocked by it.
	Refused uint64
	// Shadow requests would have been refused, had the rule been enforced.
	Shadow uint64
	// ErrorAllowed and ErrorDenied requests couldn't be decided by a remote limiter: its outage policy has.
	ErrorAllowed, ErrorDenied uint64
	// Unkeyed requests had no key for this rule, or too long a one: they were skipped or refused, as it says.
	Unkeyed uint64
	// Stricter and Looser tell where a rule in shadow mode and the enforced ones differ: requests that passed and that
	// it would have refused, and requests that were refused and that it would have let pass.
	Stricter, Looser uint64
	// Keys tells of the rule's clients; zero for a limiter that keeps no such count.
	Keys ratelimit.Stats
}

// Stats returns the counts. Those of a rule stay over reloads while its name does.
func (f *Filter) Stats() Stats {
	s := Stats{Allowed: f.listed.sum(eventAllowed), Blocked: f.listed.sum(eventRefused)}
	at := map[string]int{}
	for _, r := range f.table.Load().rules {
		i, ok := at[r.name]
		if !ok {
			i = len(s.Rules)
			at[r.name] = i
			c := r.counts
			s.Rules = append(s.Rules, RuleStats{
				Rule: r.name, Mode: r.mode,
				Allowed: c.sum(eventAllowed), Refused: c.sum(eventRefused), Shadow: c.sum(eventShadow),
				ErrorAllowed: c.sum(eventErrorAllowed), ErrorDenied: c.sum(eventErrorDenied),
				Unkeyed: c.sum(eventUnkeyed), Stricter: c.sum(eventStricter), Looser: c.sum(eventLooser),
			})
		}
		if l, ok := r.limiter.(interface{ Stats() ratelimit.Stats }); ok {
			addKeys(&s.Rules[i].Keys, l.Stats())
		}
	}
	return s
}

func addKeys(sum *ratelimit.Stats, s ratelimit.Stats) {
	sum.Keys += s.Keys
	sum.Bytes += s.Bytes
	sum.Created += s.Created
	sum.Evicted += s.Evicted
	sum.EvictedLimited += s.EvictedLimited
	sum.DeniedNew += s.DeniedNew
	sum.AllowedUntracked += s.AllowedUntracked
}

// TopKey is a client that was refused often.
type TopKey struct {
	Rule string
	// Key is the client in words: addresses as they are, values that may be credentials or persons as a keyed hash that
	// is the same for equal values, while the Filter lives.
	Key string
	// Refused is about how often; too high by at most Slack.
	Refused, Slack uint64
}

// Top returns the n clients that were refused most often, over all rules, the most first. It finds them among the
// Config.TopKeys that each rule remembers.
func (f *Filter) Top(n int) []TopKey {
	var all []TopKey
	seen := map[string]bool{}
	for _, r := range f.table.Load().rules {
		if seen[r.name] {
			continue
		}
		seen[r.name] = true
		for _, e := range r.counts.top.list() {
			all = append(all, TopKey{Rule: r.name, Key: f.mask(e.key, e.cut), Refused: e.count, Slack: e.slack})
		}
	}
	slices.SortStableFunc(all, func(a, b TopKey) int { return cmp.Compare(b.Refused, a.Refused) })
	return all[:min(max(n, 0), len(all))]
}
