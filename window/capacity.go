package window

// Capacity returns the most requests that a window admits.
func (p *FixedParams) Capacity() int64 { return int64(p.capacity) }

// Capacity returns the limit that the estimate is held to.
func (p *CounterParams) Capacity() int64 { return int64(p.capacity) }
