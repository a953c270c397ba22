package redislimit

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/casgate/ratelimit"
)

// Config is what the limiters of a Store have in common. The zero value is ready to use.
type Config struct {
	// Prefix begins every key on the server. Default "rl". It must not contain braces, which mark hash tags.
	Prefix string
	// Secret keys the hash (HMAC-SHA-256, cut to 128 bits) that clients' keys become on the server. All servers of the
	// fleet must have the same. Without one, whoever reads the server's keys can find guessable ones, such as addresses,
	// by trying.
	Secret []byte
	// Budget is the time that a call to the server is waited for at most, and so a decision: one is one call, but for a transaction of
	// several clients on a Cluster, and for giving back what a refused one took. Default 5 ms.
	Budget time.Duration
	// OnError says how decisions are made without the server. Default Local.
	OnError Policy
	// Servers is how many servers share the limits: what Local divides by, and leases are sized for. 0, the default: it
	// is learnt from the others' heartbeats, one small call a second; AssumedServers until then.
	Servers int
	// LocalKeys bounds the keys held in an outage. Default 1,048,576.
	LocalKeys int
	// Clock is what outages, leases and refused keys are timed by in this process; nil is ratelimit.SystemClock. Decisions of the
	// server are on the server's clock.
	Clock ratelimit.Clock
	// Cluster says that the server is a Redis Cluster, where keys of different clients are on different nodes. Dial finds out by
	// itself, unless the server does not answer then; clients of Rueidis and goredis know.
	Cluster bool
	// Log gets a warning when the server doesn't answer, at most one a second. Default slog.Default().
	Log *slog.Logger
	// Observe, if set, is told of each call to the server: how long it took and its error. It must be quick.
	Observe func(took time.Duration, err error)
}

const (
	defaultBudget    = 5 * time.Millisecond
	defaultLocalKeys = 1 << 20
	// MaxServers is the largest Servers.
	MaxServers = 1 << 20
)

// isNil reports whether v is nil, or a nil pointer, on which its methods would panic.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}

// complete checks c and fills in defaults.
func (c *Config) complete() error {
	if strings.ContainsAny(c.Prefix, "{}") {
		return fmt.Errorf("%w: Prefix: %q: must not contain braces", ratelimit.ErrInvalidConfig, c.Prefix)
	}
	if c.Budget < 0 {
		return fmt.Errorf("%w: Budget: %v: must be at least 0", ratelimit.ErrInvalidConfig, c.Budget)
	}
	if c.OnError > Closed {
		return fmt.Errorf("%w: OnError: %d: must be Local, Open or Closed", ratelimit.ErrInvalidConfig, c.OnError)
	}
	if c.Servers < 0 || c.Servers > MaxServers {
		return fmt.Errorf("%w: Servers: %d: must be 0 to %d", ratelimit.ErrInvalidConfig, c.Servers, MaxServers)
	}
	if c.LocalKeys < 0 {
		return fmt.Errorf("%w: LocalKeys: %d: must be at least 0", ratelimit.ErrInvalidConfig, c.LocalKeys)
	}
	if c.Clock != nil && isNil(c.Clock) {
		return fmt.Errorf("%w: Clock: a nil %T: leave the field out for ratelimit.SystemClock", ratelimit.ErrInvalidConfig, c.Clock)
	}
	if c.Prefix == "" {
		c.Prefix = "rl"
	}
	if c.Budget == 0 {
		c.Budget = defaultBudget
	}
	if c.LocalKeys == 0 {
		c.LocalKeys = defaultLocalKeys
	}
	if c.Clock == nil {
		c.Clock = ratelimit.SystemClock()
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return nil
}
