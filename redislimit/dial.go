package redislimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/casgate/ratelimit"
)

// dialTimeout bounds a connection attempt and a write: a server that swallows packets is noticed by then.
const dialTimeout = 500 * time.Millisecond

// flushDelay is how long concurrent calls wait for each other, so that one write and one read serve several. It saves the
// server and the client a quarter of their time; a call on its own doesn't wait.
const flushDelay = 50 * time.Microsecond

// Dial returns a store on the Redis that url names. The forms are rueidis': redis://[user:password@]host:port[/db],
// rediss:// for TLS; more hosts by ?addr=host:port; ?master_set=name for Sentinel. A Cluster is recognized, or told by
// Config.Cluster. Close closes the connection too.
//
// A server that can't be reached is not an error, for an application must be able to start in an outage: decisions are
// the outage policy's until it can be. Ping tells. A server that answers with an error, such as a wrong password, is one.
func Dial(ctx context.Context, url string, c Config) (*Store, error) {
	options, err := rueidis.ParseURL(url)
	if err == nil && !strings.Contains(url, "://") {
		err = errors.New("must have ://")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: URL: %w", ratelimit.ErrInvalidConfig, err)
	}
	options.DisableCache = true
	options.DisableRetry = true
	options.Dialer = net.Dialer{Timeout: dialTimeout}
	options.ConnWriteTimeout = dialTimeout
	options.MaxFlushDelay = flushDelay
	options.PipelineMultiplex = -1 // one connection: larger batches
	d := &dialed{options: options, cluster: c.Cluster}
	err = d.connect(ctx)
	var answer *rueidis.RedisError
	if errors.As(err, &answer) {
		return nil, fmt.Errorf("redislimit: %s: %w", strings.Join(options.InitAddress, ", "), err)
	}
	c.Cluster = d.settled()
	s, invalid := New(d, c)
	if invalid != nil {
		d.close()
		return nil, invalid
	}
	if err != nil {
		s.warn("the server can't be reached yet", err)
	}
	s.disconnect = d.close
	return s, nil
}

// Ping asks the server to answer, whatever the budget and the breaker say.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.server.Eval(ctx, takeScripts[probeRule.kind], []string{s.config.Prefix + ":{ping}"}, []string{"peek", probeRule.one})
	return err
}

var (
	errConnecting = errors.New("redislimit: not connected yet")
	errClosed     = errors.New("redislimit: closed")
	errCluster    = errors.New("redislimit: the server is a Cluster, and Config.Cluster is false")
)

// dialed is the server that Dial was told of. Until it is connected, each call that finds no attempt under way starts one.
type dialed struct {
	options rueidis.ClientOption
	client  atomic.Pointer[rueidis.Client]
	trying  atomic.Bool

	mu      sync.Mutex
	cluster bool // that it is one
	known   bool // cluster can't change any more: the store has been told
	closed  bool
}

// settled tells whether the server is a Cluster, from now on for good.
func (d *dialed) settled() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = true
	return d.cluster
}

// connect connects, waiting for it as long as ctx lasts.
func (d *dialed) connect(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- d.try() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try makes a client.
func (d *dialed) try() error {
	if d.trying.Swap(true) {
		return errConnecting
	}
	defer d.trying.Store(false)
	client, err := rueidis.NewClient(d.options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	for _, one := range client.Nodes() { // one that doesn't know the script is sent it with its first call
		for _, script := range takeScripts {
			_ = one.Do(ctx, one.B().ScriptLoad().Script(script.Source).Build()).Error()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	is := client.Mode() == rueidis.ClientModeCluster
	switch {
	case d.closed:
		client.Close()
		return errClosed
	case d.known && is && !d.cluster:
		client.Close()
		return errCluster
	}
	d.cluster = is
	d.client.Store(&client)
	return nil
}

// Eval runs the script if there is a connection.
func (d *dialed) Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error) {
	if client := d.client.Load(); client != nil {
		return rueidisServer{*client}.Eval(ctx, script, keys, args)
	}
	done := make(chan error, 1)
	go func() { done <- d.try() }()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return d.Eval(ctx, script, keys, args)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errConnecting, ctx.Err())
	}
}

func (d *dialed) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if client := d.client.Load(); client != nil {
		(*client).Close()
	}
}
