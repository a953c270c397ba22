package limittest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/casgate/ratelimit"
)

const (
	ruleIsolation = "each key has its own state: two keys never share one"
	ruleAnyBytes  = "any bytes are a key, empty included"
	ruleTooLong   = "a key of more than 64 KiB is refused with Never, and not stored"
)

func keyIsolation(e *env) {
	p := e.limiter(e.rule(2, time.Hour))
	const clients = 2000
	key := func(i int) string { return fmt.Sprintf("client-%d", i) }
	for i := range clients {
		p.freshKey(ruleIsolation, key(i), 1+int64(i%2))
	}
	for i := range clients {
		if d, want := p.take(key(i), 0), int64(1-i%2); d.Remaining != want {
			p.broken(ruleIsolation, "%s: %s; want %d left", p.call(key(i), 0), show(d), want)
			return
		}
	}
}

// freshKey takes n for a key that is full, and says so if it wasn't.
func (p *probe) freshKey(rule, key string, n int64) {
	p.Helper()
	if d := p.take(key, n); !d.Allowed || d.Remaining != d.Limit-n {
		p.broken(rule, "a key never seen before, %s: %s; want allowed, %d left", p.call(key, n), show(d), d.Limit-n)
	}
}

func keyAnyBytes(e *env) {
	p := e.limiter(e.rule(1, time.Hour))
	keys := []string{"", "\x00", "\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00", "a", "a\x00", "\x00a", "a\x00b", "\xff", "\xff\xfe\xfd",
		"k\xc3\x28", "{a}:b", "{a:b}", "a b\r\nc", "é", "e\u0301", " ", "%00", "-1"}
	for _, key := range keys {
		p.freshKey(ruleAnyBytes, key, 1)
	}
	for _, key := range keys {
		if d := p.take(key, 1); d.Allowed {
			p.broken(ruleAnyBytes, "it was drained; %s: %s", p.call(key, 1), show(d))
		}
	}
}

func keyTails(e *env) {
	p := e.limiter(e.rule(1, time.Hour))
	lengths := []int{127, 128, 255, 256, 257, 1000, 4096, 65_535, 65_536}
	for n := 2; n <= 80; n++ {
		lengths = append(lengths, n)
	}
	for _, fill := range []string{"k", "\x00"} {
		for _, n := range lengths {
			head := strings.Repeat(fill, n-1)
			for _, tail := range []string{"0", "1", "\xff"} {
				p.freshKey(ruleIsolation+" (they differ in their last byte only)", head+tail, 1)
			}
		}
	}
}

func keyTooLong(e *env) {
	p := e.limiter(e.rule(5, time.Hour))
	longest := strings.Repeat("x", ratelimit.MaxKeyLen)
	p.freshKey("a key of 64 KiB is a key", longest, 5)
	if d := p.take(longest, 1); d.Allowed {
		p.broken("a key of 64 KiB is a key", "it was drained; %s: %s", p.call(longest, 1), show(d))
	}
	local, isLocal := p.Limiter.(ratelimit.Local)
	for _, key := range []string{longest + "x", longest + longest} {
		for _, n := range []int64{1, 0, 5, 6} {
			d := p.Take(key, n)
			if d.Allowed || d.RetryAfter != ratelimit.Never {
				p.broken(ruleTooLong, "%s: %s", p.call(key, n), show(d))
			}
		}
		if p.TryAcquire(key) {
			p.broken(ruleTooLong, "TryAcquire of %d bytes: allowed", len(key))
		}
		if isLocal {
			if d := local.TakeBytes(bytes.Repeat([]byte("x"), len(key)), 1); d.Allowed || d.RetryAfter != ratelimit.Never {
				p.broken(ruleTooLong, "TakeBytes of %d bytes: %s", len(key), show(d))
			}
		}
	}
	if isLocal && local.Len() != 1 {
		p.broken(ruleTooLong, "Len() = %d, want 1: the key of 64 KiB", local.Len())
	}
}
