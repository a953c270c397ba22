package samplelog_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/samplelog"
)

// The sample in testdata is what the program writes.
func TestTheSampleIsWhatIsGenerated(t *testing.T) {
	var want bytes.Buffer
	require.NoError(t, samplelog.Write(&want, samplelog.Config{Junk: true}))
	file, err := os.Open("../../../testdata/logs/shop.log.gz")
	require.NoError(t, err)
	defer file.Close()
	packed, err := gzip.NewReader(file)
	require.NoError(t, err)
	got, err := io.ReadAll(packed)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want.Bytes(), got), "run `go run ./cmd/internal/samplelog/generate | gzip -9n > testdata/logs/shop.log.gz`")
}

// Everybody whom the package comment names is there, and known by their address.
func TestEverybodyIsThere(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, samplelog.Write(&text, samplelog.Config{Seed: 5}))
	requests, clients := map[samplelog.Kind]int{}, map[samplelog.Kind]map[string]bool{}
	for line := range strings.Lines(text.String()) {
		client, _, _ := strings.Cut(line, " ")
		kind := samplelog.KindOf(client)
		requests[kind]++
		if clients[kind] == nil {
			clients[kind] = map[string]bool{}
		}
		clients[kind][client] = true
	}
	for kind, want := range map[samplelog.Kind]int{
		samplelog.Visitor: 300, samplelog.Office: 1, samplelog.Crawler: 2, samplelog.Monitor: 1, samplelog.Scraper: 1, samplelog.Attack: 40,
	} {
		assert.Len(t, clients[kind], want, kind)
		assert.Greater(t, requests[kind], 100, kind)
	}
}
