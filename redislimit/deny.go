package redislimit

import (
	"hash/maphash"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/casgate/ratelimit"
)

const (
	denialStripes   = 64
	denialPerStripe = 1024 // beyond these one is forgotten, and asks the server again
)

// denials remembers refusals, so that a client which is being refused doesn't cost a call each time. A request for at
// least as many tokens is refused again until the refusal's RetryAfter is over. Tokens that are given back in the meantime are
// found only then.
type denials struct {
	seed    maphash.Seed
	stripes [denialStripes]struct {
		sync.RWMutex
		keys map[string]denial
	}
}

type denial struct {
	n    int64
	from int64 // ns on the local clock
	said ratelimit.Decision
}

func newDenials() *denials { return &denials{seed: maphash.MakeSeed()} }

// again returns the refusal of n tokens of key that still holds at the instant now.
func (d *denials) again(key string, n, now int64) (ratelimit.Decision, bool) {
	stripe := &d.stripes[maphash.String(d.seed, key)%denialStripes]
	stripe.RLock()
	found, ok := stripe.keys[key]
	stripe.RUnlock()
	past := time.Duration(now - found.from)
	if !ok || n < found.n || past < 0 || past >= found.said.RetryAfter {
		return ratelimit.Decision{}, false
	}
	said := found.said
	said.RetryAfter -= past
	said.ResetAfter = max(said.ResetAfter-past, 0)
	said.At += int64(past)
	return said, true
}

// refused notes that n tokens of key were refused at the instant now.
func (d *denials) refused(key string, n, now int64, said ratelimit.Decision) {
	stripe := &d.stripes[maphash.String(d.seed, key)%denialStripes]
	stripe.Lock()
	defer stripe.Unlock()
	if stripe.keys == nil {
		stripe.keys = map[string]denial{}
	}
	if len(stripe.keys) >= denialPerStripe {
		maps.DeleteFunc(stripe.keys, func(_ string, old denial) bool { return time.Duration(now-old.from) >= old.said.RetryAfter })
	}
	for other := range stripe.keys {
		if len(stripe.keys) < denialPerStripe {
			break
		}
		delete(stripe.keys, other)
	}
	stripe.keys[strings.Clone(key)] = denial{n, now, said}
}

// forget drops what is known of key: it was given something back.
func (d *denials) forget(key string) {
	stripe := &d.stripes[maphash.String(d.seed, key)%denialStripes]
	stripe.Lock()
	delete(stripe.keys, key)
	stripe.Unlock()
}
