package redislimit

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/casgate/ratelimit"
)

// dialTimeout bounds a connection attempt and a write: a server that swallows packets is noticed by then.
const dialTimeout = 500 * time.Millisecond

// Dial connects to the Redis that url names and returns a store on it. The forms are rueidis': redis://[user:password@]host:port[/db], rediss:// for
// TLS; more hosts by ?addr=host:port; ?master_set=name for Sentinel; Config.Cluster for a Cluster. Close closes
// the connection too. The server must answer now: an application that starts without it uses New and a client of its own.
func Dial(ctx context.Context, url string, c Config) (*Store, error) {
	options, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("%w: URL: %w", ratelimit.ErrInvalidConfig, err)
	}
	options.DisableCache = true
	options.DisableRetry = true
	options.Dialer = net.Dialer{Timeout: dialTimeout}
	options.ConnWriteTimeout = dialTimeout
	options.ForceSingleClient = !c.Cluster && options.Sentinel.MasterSet == ""
	client, err := rueidis.NewClient(options)
	if err != nil {
		return nil, fmt.Errorf("redislimit: %s: %w", address(options), err)
	}
	for node, one := range client.Nodes() {
		if err := one.Do(ctx, one.B().ScriptLoad().Script(takeScript.Source).Build()).Error(); err != nil && !strings.HasPrefix(err.Error(), "READONLY") {
			client.Close()
			return nil, fmt.Errorf("redislimit: %s: %w", node, err)
		}
	}
	s, err := New(Rueidis(client), c)
	if err != nil {
		client.Close()
		return nil, err
	}
	s.disconnect = client.Close
	return s, nil
}

func address(o rueidis.ClientOption) string { return strings.Join(o.InitAddress, ", ") }
