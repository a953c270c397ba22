package bench

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"unsafe"
)

// KeyBytes is the length of a key where a benchmark's name doesn't say otherwise.
const KeyBytes = 20

// Key returns the i-th key of that many bytes. Keys differ in their tails only, as many real ones do.
func Key(i, bytes int) string {
	var digits [20]byte
	return string(appendKey(nil, strconv.AppendInt(digits[:0], int64(i), 10), bytes))
}

func appendKey(to, digits []byte, bytes int) []byte {
	const head = "client-"
	to = append(to, head...)
	for range bytes - len(head) - len(digits) {
		to = append(to, '0')
	}
	return append(to, digits...)
}

// Visits returns n keys in the order in which a benchmark asks for them: numbers below keys, each drawn anew, uniformly
// or by Zipf's law. The strings lie in memory in that order, for a server has just read its request's key and has it at
// hand: what misses the caches is the limiter, not the harness.
func Visits(n, keys, bytes int, dist string) []string {
	random := rand.New(rand.NewPCG(1, uint64(keys)))
	draw := func() int { return random.IntN(keys) }
	if dist == Zipf {
		zipf := rand.NewZipf(random, 1.1, 1, uint64(keys-1))
		scatter := random.Perm(keys) // so that popular keys aren't the ones that were made first
		draw = func() int { return scatter[zipf.Uint64()] }
	}
	var all strings.Builder
	all.Grow(n * bytes)
	var key, digits []byte
	for range n {
		digits = strconv.AppendInt(digits[:0], int64(draw()), 10)
		key = appendKey(key[:0], digits, bytes)
		all.Write(key)
	}
	text := all.String()
	visits := make([]string, n)
	for i := range visits {
		visits[i] = text[i*bytes : (i+1)*bytes]
	}
	return visits
}

// newKey returns the i-th key: in a buffer that is reused for those that keep a copy of their own, as a server has it,
// and as a string of its own for the others, which keep that.
func newKey(c Contender, buffer *[]byte, i, bytes int) string {
	if c.CopiesKeys {
		return scratchKey(buffer, i, bytes)
	}
	return Key(i, bytes)
}

// scratchKey returns the i-th key in buffer's memory: it is good until the next call.
func scratchKey(buffer *[]byte, i, bytes int) string {
	var digits [20]byte
	*buffer = appendKey((*buffer)[:0], strconv.AppendInt(digits[:0], int64(i), 10), bytes)
	return unsafe.String(unsafe.SliceData(*buffer), len(*buffer))
}

// Distributions of the keys that are asked for.
const (
	Uniform = "uniform"
	Zipf    = "zipf"
)
