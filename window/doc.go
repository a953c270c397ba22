// Package window limits by windows of time: three algorithms, integers in, one pure
// step each. [FixedParams] and [CounterParams] keep all they know of a client in one
// uint64 that any number of goroutines may change by compare-and-swap.
package window
