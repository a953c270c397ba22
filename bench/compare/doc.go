// Package compare measures the limiters of this module beside others of the field, in one process, one after the other,
// under the workloads of package bench. It is a module of its own, so that nobody else needs what it requires.
package compare
