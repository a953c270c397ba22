// Package goredis lets redislimit talk to Redis through a go-redis client, for applications that have one.
package goredis

import (
	"context"
	"fmt"
	"reflect"

	"github.com/redis/go-redis/v9"

	"github.com/casgate/ratelimit/redislimit"
)

// Server returns the server that client talks to; nil if client is. The client should be made with ContextTimeoutEnabled, without
// which go-redis waits for its own time-outs whatever the store's budget says. Its ReadOnly and RouteBy options must be off.
// One of go-redis' own clients is kept from retrying, whatever its options say, since a decision that is late is no use and
// one that is repeated counts twice; where a Cluster's node names another, it follows. One of another type must not retry.
func Server(client redis.Scripter) redislimit.Server {
	if r := reflect.ValueOf(client); !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil() {
		return nil
	}
	return server{client}
}

// processor is what go-redis' clients are.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// once is a command that is sent at most once to a node.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

type server struct{ client redis.Scripter }

// Cluster reports whether the client is a Cluster's.
func (s server) Cluster() bool {
	_, is := s.client.(*redis.ClusterClient)
	return is
}

// Eval runs script by its SHA-1, or by its source where the server doesn't know it.
func (s server) Eval(ctx context.Context, script *redislimit.Script, keys, args []string) ([]int64, error) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	reply := s.eval(ctx, "evalsha", script.SHA1, keys, values)
	if redis.HasErrorPrefix(reply.Err(), "NOSCRIPT") {
		reply = s.eval(ctx, "eval", script.Source, keys, values)
	}
	integers, err := reply.Int64Slice()
	switch {
	case redis.HasErrorPrefix(err, "TRYAGAIN"):
		return nil, fmt.Errorf("goredis: %w: %w", redislimit.ErrMoving, err)
	case err != nil:
		return nil, fmt.Errorf("goredis: %w", err)
	}
	return integers, nil
}

func (s server) eval(ctx context.Context, name, script string, keys []string, values []any) *redis.Cmd {
	p, ok := s.client.(processor)
	switch {
	case !ok && name == "eval":
		return s.client.Eval(ctx, script, keys, values...)
	case !ok:
		return s.client.EvalSha(ctx, script, keys, values...)
	}
	words := append(make([]any, 0, 3+len(keys)+len(values)), name, script, len(keys))
	for _, k := range keys {
		words = append(words, k)
	}
	cmd := redis.NewCmd(ctx, append(words, values...)...)
	cmd.SetFirstKeyPos(3)
	if err := p.Process(ctx, once{cmd}); err != nil {
		cmd.SetErr(err)
	}
	return cmd
}
