package rules

import (
	"fmt"
	"strings"

	"github.com/casgate/ratelimit"
)

// Mode says what a rule does to the requests that it claims.
type Mode uint8

const (
	// Enforce refuses what goes beyond the limit. It is the default.
	Enforce Mode = iota
	// Shadow counts what would have been refused, and refuses nothing.
	Shadow
	// Block refuses every request. A limit may stand beside it, unused: it keeps what clients have used for when the
	// mode changes back.
	Block
)

var modeNames = []string{Enforce: "enforce", Shadow: "shadow", Block: "block"}

// String returns the name used in rule files.
func (m Mode) String() string { return nameOf(m, modeNames) }

// MarshalText returns String's name.
func (m Mode) MarshalText() ([]byte, error) { return marshalName(m, "mode", modeNames) }

// UnmarshalText accepts enforce, shadow and block.
func (m *Mode) UnmarshalText(text []byte) error { return parseName(m, text, "mode", modeNames) }

// Missing says what becomes of a request that has none of a rule's keys.
type Missing uint8

const (
	// MissingUnset is for keys that are always there. A rule whose key can be missing must say more.
	MissingUnset Missing = iota
	// MissingSkip lets the request pass this rule, uncounted. Whoever leaves the key out isn't limited by it.
	MissingSkip
	// MissingRefuse refuses the request.
	MissingRefuse
)

var missingNames = []string{MissingUnset: "", MissingSkip: "skip", MissingRefuse: "refuse"}

// String returns the name used in rule files; empty if unset.
func (m Missing) String() string { return nameOf(m, missingNames) }

// MarshalText returns String's name.
func (m Missing) MarshalText() ([]byte, error) { return marshalName(m, "missing", missingNames) }

// UnmarshalText accepts skip and refuse.
func (m *Missing) UnmarshalText(text []byte) error {
	return parseName(m, text, "missing", missingNames)
}

// Algorithm is a ratelimit.Algorithm, or none: a plan that names none has its rule's, a rule that names none is a token
// bucket.
type Algorithm uint8

const (
	AlgorithmUnset Algorithm = iota
	TokenBucket
	FixedWindow
	SlidingWindowLog
	SlidingWindowCounter
)

var algorithmNames = []string{AlgorithmUnset: "", TokenBucket: "token_bucket", FixedWindow: "fixed_window",
	SlidingWindowLog: "sliding_window_log", SlidingWindowCounter: "sliding_window_counter"}

// String returns the name used in rule files; empty if unset.
func (a Algorithm) String() string { return nameOf(a, algorithmNames) }

// MarshalText returns String's name.
func (a Algorithm) MarshalText() ([]byte, error) { return marshalName(a, "algorithm", algorithmNames) }

// UnmarshalText accepts token_bucket, fixed_window, sliding_window_log and sliding_window_counter, in capitals too, as
// ratelimit.Algorithm writes them.
func (a *Algorithm) UnmarshalText(text []byte) error {
	lower := strings.ToLower(string(text))
	return parseName(a, []byte(lower), "algorithm", algorithmNames)
}

// algorithm is meaningful for a known value that isn't unset.
func (a Algorithm) algorithm() ratelimit.Algorithm { return ratelimit.Algorithm(a - TokenBucket) }

// HeaderStyle is a set of ways to tell a client its limits; see the httplimit package for each.
type HeaderStyle uint8

const (
	Draft8  HeaderStyle = 1 << iota // RateLimit and RateLimit-Policy, as the IETF draft's revisions 8 to 11 have them
	Draft12                         // the same with the names of revision 12
	Draft6                          // RateLimit-Limit, -Remaining and -Reset
	XDelta                          // X-RateLimit-Limit, -Remaining and -Reset, Reset in seconds to go
	XEpoch                          // the same, Reset in seconds since the Unix epoch
)

var styleNames = []string{"draft8", "draft12", "draft6", "x-delta", "x-epoch"}

// String returns the styles' names as rule files have them, with + between.
func (s HeaderStyle) String() string {
	var names []string
	for i, name := range styleNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}

// HeaderWhen says on which responses the headers are sent.
type HeaderWhen uint8

const (
	Always    HeaderWhen = iota // on each response to a limited request; the default
	NearLimit                   // when little is left, and on refusals
	OnRefusal                   // on refusals only
	Never                       // not even then; Retry-After is sent all the same
)

var whenNames = []string{Always: "always", NearLimit: "near", OnRefusal: "refused", Never: "never"}

// String returns the name used in rule files.
func (w HeaderWhen) String() string { return nameOf(w, whenNames) }

// MarshalText returns String's name.
func (w HeaderWhen) MarshalText() ([]byte, error) { return marshalName(w, "when", whenNames) }

// UnmarshalText accepts always, near, refused and never.
func (w *HeaderWhen) UnmarshalText(text []byte) error { return parseName(w, text, "when", whenNames) }

func nameOf[E ~uint8](e E, names []string) string {
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("%T(%d)", e, uint8(e))
}

func marshalName[E ~uint8](e E, what string, names []string) ([]byte, error) {
	if int(e) < len(names) {
		return []byte(names[e]), nil
	}
	return nil, fmt.Errorf("%w: %s %d: want %s", ErrValue, what, uint8(e), oneOf(names))
}

// parseName sets e to the value that text names; on an error e stays as it was.
func parseName[E ~uint8](e *E, text []byte, what string, names []string) error {
	for i, name := range names {
		if name != "" && string(text) == name {
			*e = E(i)
			return nil
		}
	}
	return fmt.Errorf("%w: %s %s: want %s", ErrValue, what, quote(string(text)), oneOf(names))
}

// oneOf lists the names that may be written.
func oneOf(names []string) string {
	if names[0] == "" {
		names = names[1:]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
