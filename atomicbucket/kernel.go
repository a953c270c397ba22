package atomicbucket

// Capacity returns the tokens in a full bucket.
func (p *Params) Capacity() int64 { return p.capacity }

// CountsAt returns the instant that a call at now counts at, which is now: a late call finds the tokens of its own time.
func (p *Params) CountsAt(_ uint64, now int64) int64 { return now }
