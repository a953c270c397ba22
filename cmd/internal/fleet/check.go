package fleet

import (
	"context"
	"errors"
	"net/url"

	"github.com/casgate/ratelimit/redislimit"
	"github.com/casgate/ratelimit/rules"
)

// Check returns what is wrong with a rule whose store is a URL, as far as can be told without connecting: the URL, and
// whether the limit can be counted there.
func Check(b rules.Build) error {
	u, err := url.Parse(b.Store)
	if err != nil || u.Host == "" || u.Scheme != "redis" && u.Scheme != "rediss" {
		return errors.New("want local, redis://[user:password@]host:port[/db], or rediss:// for TLS")
	}
	store, err := redislimit.New(nowhere{}, redislimit.Config{Servers: 1})
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = store.Limiter("check", b.Limit, redislimit.Strict)
	return err
}

// nowhere is a server that is never asked.
type nowhere struct{}

func (nowhere) Eval(context.Context, *redislimit.Script, []string, []string) ([]int64, error) {
	return nil, errors.New("never asked")
}
