package service

import "os"

// heapFloor is memory that is never touched, so that it is address space only, but that the garbage collector counts:
// it runs when the heap has doubled. A proxy's live heap is a megabyte or two, so that under load it doubles a hundred
// times a second, and collecting took a fifth of the processor time of a request (BenchmarkProxy: 42 µs without the
// floor, 34 with it). In exchange the process holds up to some 35 MB of garbage.
//
// Whoever sets GOGC or GOMEMLIMIT has a better idea, and gets none.
func heapFloor() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, 32<<20)
}
