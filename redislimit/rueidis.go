package redislimit

import (
	"context"

	"github.com/redis/rueidis"
)

// Rueidis returns the server that a rueidis client talks to. The client should be made with DisableCache and
// DisableRetry; see Dial, which does so.
func Rueidis(client rueidis.Client) Server { return rueidisServer{client} }

type rueidisServer struct{ client rueidis.Client }

func (s rueidisServer) Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error) {
	run := func(first, text string) rueidis.RedisResult {
		if first == "EVALSHA" {
			return s.client.Do(ctx, s.client.B().Evalsha().Sha1(text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
		}
		return s.client.Do(ctx, s.client.B().Eval().Script(text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	}
	result := run("EVALSHA", script.SHA1)
	if err, ok := rueidis.IsRedisErr(result.Error()); ok && err.IsNoScript() {
		result = run("EVAL", script.Source) // a restart or SCRIPT FLUSH forgets scripts
	}
	return result.AsIntSlice()
}
