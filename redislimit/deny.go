package redislimit

import (
	"hash/maphash"
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
// least as many tokens is refused again until the refusal's RetryAfter is over, or the rule changes. Tokens that another
// server gives back in the meantime are found only then.
type denials struct {
	seed    maphash.Seed
	stripes [denialStripes]struct {
		sync.RWMutex
		keys map[string]denial
	}
}

type denial struct {
	rule *compiled
	n    int64
	from int64 // ns on the local clock
	said ratelimit.Decision
}

// over reports whether the wait is over at the instant now.
func (d *denial) over(now int64) bool {
	past := time.Duration(now - d.from)
	return past < 0 || past >= d.said.RetryAfter
}

func newDenials() *denials { return &denials{seed: maphash.MakeSeed()} }

// again returns the refusal of n tokens of key that still holds under rule at the instant now.
func (d *denials) again(rule *compiled, key string, n, now int64) (ratelimit.Decision, bool) {
	stripe := &d.stripes[maphash.String(d.seed, key)%denialStripes]
	stripe.RLock()
	found, ok := stripe.keys[key]
	stripe.RUnlock()
	if !ok || found.rule != rule || n < found.n || found.over(now) {
		return ratelimit.Decision{}, false
	}
	said, past := found.said, time.Duration(now-found.from)
	said.RetryAfter -= past
	said.ResetAfter = max(said.ResetAfter-past, 0)
	said.At += int64(past)
	return said, true
}

// refused notes that n tokens of key were refused under rule at the instant now.
func (d *denials) refused(rule *compiled, key string, n, now int64, said ratelimit.Decision) {
	stripe := &d.stripes[maphash.String(d.seed, key)%denialStripes]
	stripe.Lock()
	defer stripe.Unlock()
	if stripe.keys == nil {
		stripe.keys = map[string]denial{}
	}
	looked := 0
	for other, old := range stripe.keys { // in a random order
		if looked++; looked > 8 || len(stripe.keys) < denialPerStripe {
			break
		}
		if old.over(now) || looked == 8 {
			delete(stripe.keys, other)
		}
	}
	stripe.keys[strings.Clone(key)] = denial{rule, n, now, said}
}

// forget drops what is known of key: it was given something back.
func (d *denials) forget(key string) {
	stripe := &d.stripes[maphash.String(d.seed, key)%denialStripes]
	stripe.Lock()
	delete(stripe.keys, key)
	stripe.Unlock()
}
