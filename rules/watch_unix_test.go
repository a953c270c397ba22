//go:build unix

package rules_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWatchOfAPipe(t *testing.T) {
	w := watch(t, rules.WatchConfig{})
	require.NoError(t, os.Remove(w.path))
	require.NoError(t, syscall.Mkfifo(w.path, 0o600))
	assert.ErrorIs(t, w.polls(1), rules.ErrValue, "nobody waits for its writer")
}

func TestWatchHearsSIGHUP(t *testing.T) {
	hangups := make(chan os.Signal, 1) // of our own, so that none before Run listens ends the process
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	w := watch(t, rules.WatchConfig{Every: time.Hour})
	w.write(fileOf("2/s"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.watcher.Run(ctx) }()
	for w.limit() != "2/s" {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		<-hangups
	}
	cancel()
	<-done
}
