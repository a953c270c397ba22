package recent

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeepsWarningsAndErrorsAndPassesAllOn(t *testing.T) {
	var log bytes.Buffer
	handler, entries := NewHandler(slog.NewTextHandler(&log, nil))
	logger := slog.New(handler)
	logger.Info("fine")
	logger.Warn("slow", "took", 3)
	logger.With("upstream", "a").WithGroup("x").Error("failed", "status", 502)

	all := entries.All()
	require.Len(t, all, 2)
	require.Equal(t, "slow", all[0].Message)
	require.Equal(t, slog.LevelWarn, all[0].Level)
	require.Equal(t, "took=3", all[0].Detail)
	require.Equal(t, "upstream=a status=502", all[1].Detail)
	require.Contains(t, log.String(), "msg=fine")
	require.Contains(t, log.String(), "msg=failed upstream=a x.status=502")
}

func TestKeepsTheLatest(t *testing.T) {
	handler, entries := NewHandler(slog.DiscardHandler)
	logger := slog.New(handler)
	for i := range most + 10 {
		logger.Error(fmt.Sprint(i))
	}
	all := entries.All()
	require.Len(t, all, most)
	require.Equal(t, "10", all[0].Message)
}
