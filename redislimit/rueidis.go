package redislimit

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
)

// Rueidis returns the server that a rueidis client talks to; nil if client is. The client should be made with DisableCache and
// DisableRetry; see Dial, which does so.
func Rueidis(client rueidis.Client) Server {
	if isNil(client) {
		return nil
	}
	return rueidisServer{client}
}

type rueidisServer struct{ client rueidis.Client }

// Cluster reports whether the client is a Cluster's.
func (s rueidisServer) Cluster() bool { return s.client.Mode() == rueidis.ClientModeCluster }

type answer struct {
	integers []int64
	err      error
}

// Eval asks in a goroutine of its own, because a client that is connecting anew waits for that however short ctx is.
func (s rueidisServer) Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error) {
	if ctx.Done() == nil {
		return s.eval(ctx, script, keys, args)
	}
	done := make(chan answer, 1)
	go func() {
		integers, err := s.eval(ctx, script, keys, args)
		done <- answer{integers, err}
	}()
	select {
	case a := <-done:
		return a.integers, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s rueidisServer) eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error) {
	b := s.client.B()
	result := s.client.Do(ctx, b.Evalsha().Sha1(script.SHA1).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	if err, ok := rueidis.IsRedisErr(result.Error()); ok && err.IsNoScript() { // a restart or SCRIPT FLUSH forgets scripts
		result = s.client.Do(ctx, b.Eval().Script(script.Source).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	}
	integers, err := result.AsIntSlice()
	if answer, ok := rueidis.IsRedisErr(err); ok && answer.IsTryAgain() {
		err = fmt.Errorf("%w: %w", ErrMoving, err)
	}
	return integers, err
}
