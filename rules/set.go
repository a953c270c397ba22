package rules

import "github.com/casgate/ratelimit"

// Set is a compiled Spec: what a request is asked against. It is immutable, and safe for concurrent use; only its
// limiters change, as they count.
type Set struct {
	version uint64
	plans   plans
	proxies *Proxies
	headers Headers
	allow   *ClientList
	block   *ClientList

	rules    []*Rule
	limits   []*Limit
	layers   int
	trie     trie
	catchAll [][]Match // by plan, if every rule claims every request; otherwise nil
	source   []byte    // the spec, as JSON
}

// Rule is a compiled rule.
type Rule struct {
	Name     string
	Mode     Mode
	Layer    string // rules of one layer compete; see Set.Match. One that no RuleSpec named is in parentheses.
	Patterns []*Pattern
	Key      Key // without alternatives for a Block rule that has none
	Missing  Missing
	Cost     int64 // at least 1

	refund *statusSet
	limits []*Limit // by PlanID; nil: the rule doesn't claim that plan's requests
	index  int      // in the spec
	layer  int
	store  string // "": in this process
	share  int
}

// Refunds reports whether a response with this status gives its tokens back.
func (r *Rule) Refunds(status int) bool { return r.refund != nil && r.refund.has(status) }

// HasRefund reports whether Refunds is ever true.
func (r *Rule) HasRefund() bool { return r.refund != nil }

// Limit is what a rule grants one plan, or all plans without a limit of their own.
type Limit struct {
	Rule *Rule
	// Index is dense in the set: 0 to len(Set.Limits()) - 1. It is for tables beside the set.
	Index int
	// Plan is the plan's name; empty for the rule's own limit.
	Plan string
	// Unlimited exempts the plan: Limiter is nil, nothing is counted.
	Unlimited bool
	// Limit is what is enforced here: the share of it, if it is shared. Zero for an unlimited plan, and for a Block rule
	// without a limit.
	Limit ratelimit.Rule
	// Limiter counts. It is nil where Limit is zero, and in a set that comes from Compile.
	Limiter ratelimit.Reversible

	path string // in the spec, for messages
}

// Headers says what responses tell about limits.
type Headers struct {
	Styles HeaderStyle
	When   HeaderWhen
}

// Version counts the sets of a Store, from 1; 0 for one that comes from Compile.
func (s *Set) Version() uint64 { return s.version }

// Rules returns the rules in the order of the spec. The caller must not change the slice.
func (s *Set) Rules() []*Rule { return s.rules }

// Limits returns the limits of all rules, each at its Index. The caller must not change the slice.
func (s *Set) Limits() []*Limit { return s.limits }

// Proxies says whose word about a client's address is taken.
func (s *Set) Proxies() *Proxies { return s.proxies }

// Headers says what responses tell.
func (s *Set) Headers() Headers { return s.headers }

// Allow lists the clients that no rule is asked about. It is looked at before Block.
func (s *Set) Allow() *ClientList { return s.allow }

// Block lists the clients that are always refused.
func (s *Set) Block() *ClientList { return s.block }

// HasPlans reports whether any plan is declared; if not, there is no need to look a request's plan up.
func (s *Set) HasPlans() bool { return len(s.plans.names) > 1 }

// Plan returns the plan of that name; for a name that isn't declared, the default plan.
func (s *Set) Plan(name string) PlanID { return s.plans.id(name) }

// PlanName returns the name of a plan of this set; empty for none.
func (s *Set) PlanName(id PlanID) string { return s.plans.names[id] }

// PlanFrom returns the part of a request that tells its plan, if the spec names one. PlanOf knows its values.
func (s *Set) PlanFrom() (Part, bool) { return s.plans.from, s.plans.from.Kind != 0 }

// PlanOf returns the plan that a value of PlanFrom's part stands for; for an unknown or empty one, the default plan.
func (s *Set) PlanOf(value string) PlanID { return s.plans.ofValue(value) }

// sharesPlan reports whether there is a plan whose requests both rules claim.
func (r *Rule) sharesPlan(other *Rule) bool {
	for id, limit := range r.limits {
		if limit != nil && other.limits[id] != nil {
			return true
		}
	}
	return false
}
