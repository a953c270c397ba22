package redislimit

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

// scripted answers what it is told to.
type scripted struct{ answer atomic.Pointer[[]int64] }

func (s *scripted) says(integers ...int64) { s.answer.Store(&integers) }

func (s *scripted) Eval(context.Context, *Script, []string, []string) ([]int64, error) {
	if a := s.answer.Load(); a != nil && len(*a) > 0 {
		return *a, nil
	}
	return nil, errors.New("nobody there")
}

// quiet is a fleet that beats only when told to.
func quiet(server Server) *fleet {
	f := &fleet{store: &Store{server: server, config: Config{Prefix: "quiet"}}, id: "me"}
	for i := range f.recent {
		f.recent[i] = AssumedServers
	}
	f.count.Store(AssumedServers)
	return f
}

func TestFleetSize(t *testing.T) {
	server := &scripted{}
	f := quiet(server)
	f.beat()
	assert.Equal(t, AssumedServers, f.size(), "not known yet")
	server.says(40)
	f.beat()
	assert.Equal(t, 40, f.size(), "a larger count is believed at once")
	server.says()
	f.beat()
	assert.Equal(t, 40, f.size(), "kept when nobody answers")
	server.says(3) // the server has restarted empty, or others have ended
	for range heartbeats - 1 {
		f.beat()
		assert.Equal(t, 40, f.size(), "a smaller one not at once")
	}
	f.beat()
	assert.Equal(t, 3, f.size())
	server.says(1 << 60)
	f.beat()
	assert.Equal(t, MaxServers, f.size())
	server.says(-1)
	for range heartbeats {
		f.beat()
	}
	assert.Equal(t, MaxServers, f.size(), "nonsense")
}

func TestHeartbeatsCountTheFleet(t *testing.T) {
	server := dial(t, redistest.Start(t).Addr)
	var all []*fleet
	for range 12 {
		f := quiet(server)
		f.id = string(rune('a' + len(all)))
		all = append(all, f)
		f.beat()
		f.beat() // it counts once
	}
	assert.Equal(t, 12, all[11].size())
	s := newStore(t, server, Config{Prefix: "quiet"})
	redistest.Until(t, func() bool { return s.Stats().Servers == 13 })
	l, err := s.Limiter("rule", ratelimit.PerSecond(1000).Burst(1040), Lease)
	require.NoError(t, err)
	assert.EqualValues(t, 10, l.leases.size(l.rule.Load()), "1040/(8*13)")
}
