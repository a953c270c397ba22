package ratelimit

import "errors"

// SlidingWindowLogLimiter is being built.
type SlidingWindowLogLimiter struct{}

func newSlidingLog(Rule, Config) (Local, error) { return nil, errors.New("ratelimit: not yet") }
