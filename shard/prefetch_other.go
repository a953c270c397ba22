//go:build !amd64 && !arm64

package shard

import "unsafe"

// prefetch does nothing where there is no instruction for it.
func prefetch(unsafe.Pointer) {}
