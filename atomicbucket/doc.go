// Package atomicbucket is one token bucket in one atomic uint64.
package atomicbucket
