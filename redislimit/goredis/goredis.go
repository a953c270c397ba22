// Package goredis lets redislimit talk to Redis through a go-redis client, for applications that have one.
package goredis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/casgate/ratelimit/redislimit"
)

// Server returns the server that client talks to. The client should be made with MaxRetries -1, since a decision that
// is late is no use and one that is repeated counts twice, and with ContextTimeoutEnabled, without which go-redis
// waits for its own time-outs whatever the store's budget says. Its ReadOnly and RouteBy options must be off.
func Server(client redis.Scripter) redislimit.Server { return server{client} }

type server struct{ client redis.Scripter }

// Eval runs script by its SHA-1, or by its source where the server doesn't know it.
func (s server) Eval(ctx context.Context, script *redislimit.Script, keys, args []string) ([]int64, error) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	reply := s.client.EvalSha(ctx, script.SHA1, keys, values...)
	if redis.HasErrorPrefix(reply.Err(), "NOSCRIPT") {
		reply = s.client.Eval(ctx, script.Source, keys, values...)
	}
	integers, err := reply.Int64Slice()
	if redis.HasErrorPrefix(err, "TRYAGAIN") {
		return nil, fmt.Errorf("goredis: %w: %w", redislimit.ErrMoving, err)
	}
	if err != nil {
		return nil, fmt.Errorf("goredis: %w", err)
	}
	return integers, nil
}
