package redislimit

import (
	"fmt"
	"strings"
	"time"

	"github.com/casgate/ratelimit"
)

// Config is what the limiters of a Store have in common. The zero value is ready to use.
type Config struct {
	// Prefix begins every key on the server. Default "rl". It must not contain braces, which mark hash tags.
	Prefix string
	// Secret keys the hash (HMAC-SHA-256, cut to 128 bits) that clients' keys become on the server. All servers of the
	// fleet must have the same. Without one, whoever reads the server's keys can find guessable ones, such as addresses, by trying.
	Secret []byte
	// Budget is the time that a decision waits for the server at most. Default 5 ms.
	Budget time.Duration
}

const defaultBudget = 5 * time.Millisecond

// complete checks c and fills in defaults.
func (c *Config) complete() error {
	if c.Prefix == "" {
		c.Prefix = "rl"
	}
	if strings.ContainsAny(c.Prefix, "{}") {
		return fmt.Errorf("%w: Prefix: %q: must not contain braces", ratelimit.ErrInvalidConfig, c.Prefix)
	}
	if c.Budget < 0 {
		return fmt.Errorf("%w: Budget: %v: must not be negative", ratelimit.ErrInvalidConfig, c.Budget)
	}
	if c.Budget == 0 {
		c.Budget = defaultBudget
	}
	return nil
}
