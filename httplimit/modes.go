package httplimit

import "github.com/casgate/ratelimit/rules"

// Mode says what a rule does to the requests that it applies to.
type Mode = rules.Mode

const (
	Enforce = rules.Enforce // refuses what goes beyond the limit; the default
	Shadow  = rules.Shadow  // counts what it would have refused, and refuses nothing
	Block   = rules.Block   // refuses every request (403)
)

// Missing says what becomes of a request that has none of a rule's keys.
type Missing = rules.Missing

const (
	MissingRefuse = rules.MissingRefuse // it is refused (400); the default
	MissingSkip   = rules.MissingSkip   // it passes this rule, uncounted: whoever leaves the key out isn't limited by it
)

// HeaderStyle is a set of ways to tell a client its limits.
type HeaderStyle = rules.HeaderStyle

const (
	Draft8  = rules.Draft8  // RateLimit and RateLimit-Policy, as the IETF draft's revisions 8 to 11 have them
	Draft12 = rules.Draft12 // the same, with the names of revision 12
	Draft6  = rules.Draft6  // RateLimit-Limit, -Remaining and -Reset
	XDelta  = rules.XDelta  // X-RateLimit-Limit, -Remaining and -Reset, Reset in seconds to go
	XEpoch  = rules.XEpoch  // the same, Reset in seconds since the Unix epoch; it and XDelta exclude each other
)

// When says on which responses the rate-limit fields stand.
type When = rules.HeaderWhen

const (
	Always    = rules.Always    // on each that a rule has decided; the default
	NearLimit = rules.NearLimit // when a tenth of the limit or less is left, and on refusals
	OnRefusal = rules.OnRefusal // on refusals
	Never     = rules.Never     // on none; Retry-After stands on refusals all the same
)
