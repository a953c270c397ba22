package redislimit

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

// timedScripts are the scripts with their time as the last argument. Keys live an hour longer, since the server's own time
// expires them.
var timedScripts = newScripts(`local function now() return tonumber(ARGV[#ARGV]) end
local slack = 3600000
`)

// timedServer gives the script the time of a clock.
type timedServer struct {
	Server
	clock ratelimit.Clock
}

func (s timedServer) Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error) {
	for letter := range takeScripts {
		if takeScripts[letter] == script {
			script = timedScripts[letter]
		}
	}
	return s.Server.Eval(ctx, script, keys, append(args[:len(args):len(args)], strconv.FormatInt(floorMicros(s.clock.NanoTime()), 10)))
}

func dial(t testing.TB, addr string) Server {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, DisableRetry: true})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return Rueidis(client)
}

var storeNumber atomic.Int64

// newStore returns a store on server whose keys no other test's store shares, unless it has a prefix.
func newStore(t testing.TB, server Server, c Config) *Store {
	t.Helper()
	if c.Prefix == "" {
		c.Prefix = "t" + strconv.FormatInt(storeNumber.Add(1), 10)
	}
	if c.Budget == 0 {
		c.Budget = 10e9 // a test of decisions isn't one of time
	}
	s, err := New(server, c)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestConformance(t *testing.T) {
	server := dial(t, redistest.Start(t).Addr)
	limittest.Suite{Resolution: time.Microsecond, New: func(r ratelimit.Rule, clock ratelimit.Clock) ratelimit.Limiter {
		l, err := newStore(t, timedServer{server, clock}, Config{Servers: 1}).Limiter("rule", r, Strict)
		if err != nil {
			return nil
		}
		return l
	}}.Run(t)
}
