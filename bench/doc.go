// Package bench measures the limiters of this module against what most people write: a concurrent map of buckets with a
// mutex and a float64 each. BENCHMARKS.md has the results, and the command that makes them.
//
// The package holds what the benchmarks of this folder and of bench/compare share: the textbook limiters, the workloads,
// the loops. Names of benchmarks carry key=value pairs for benchstat -col.
package bench
