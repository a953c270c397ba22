package ratelimit

import "errors"

// Errors come from constructors and from SetRule, never from a decision. Each is wrapped by an error that names the
// field, the value and the bound; test for it with errors.Is.
var (
	// ErrInvalidRule marks a rule, rate or algorithm outside the supported range.
	ErrInvalidRule = errors.New("ratelimit: invalid rule")
	// ErrInvalidConfig marks a Config that no limiter can be built from.
	ErrInvalidConfig = errors.New("ratelimit: invalid config")
	// ErrAlgorithm marks a SetRule that would change the algorithm, whose state another can't read.
	ErrAlgorithm = errors.New("ratelimit: algorithm differs")
)
