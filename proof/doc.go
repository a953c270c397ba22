// Package proof holds tests of the limiters that need libraries of their own: histories checked for linearizability
// (porcupine), and leaks (goleak). It has nothing to import.
package proof
