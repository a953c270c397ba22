package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README's table and picture are what the command makes, and bear out what the docs claim.
func TestReadmeHoldsTheSimulation(t *testing.T) {
	rows := simulate(fleet)
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(readme), "<!-- simulate -->\n")
	shown, _, found := strings.Cut(after, "<!-- end -->")
	require.True(t, found)
	assert.Equal(t, table(fleet, rows), shown)
	picture, err := os.ReadFile("../fleet.svg")
	require.NoError(t, err)
	assert.Equal(t, svg(rows), string(picture))

	calls := map[string]float64{}
	for _, r := range rows {
		calls[r.rule+" "+r.strategy] = r.calls
		if slices.Contains([]string{"strict", "deny cache"}, r.strategy) {
			assert.Less(t, r.over, 0.01, "latency alone changes who gets a token, not how many do: %v", r)
		}
		if r.strategy == "lease" {
			assert.Less(t, r.over, 100.0/8)
		}
	}
	assert.Less(t, calls["100/s, burst 100 deny cache"], calls["100/s, burst 100 strict"])
	assert.Equal(t, calls["100/s, burst 100 deny cache"], calls["100/s, burst 100 lease"], "too small a limit to be leased")
	assert.Less(t, calls["5,000/s, burst 32,000 lease"], calls["5,000/s, burst 32,000 deny cache"])
}

func TestBucket(t *testing.T) {
	r := rule{rate: 3, burst: 2}
	b := &bucket{}
	assert.True(t, b.take(r, 1))
	assert.True(t, b.take(r, 1))
	assert.False(t, b.take(r, 1))
	assert.EqualValues(t, 333_333_334, b.wait(r))
	assert.False(t, b.take(r, 333_333_334))
	assert.True(t, b.take(r, 333_333_335))
	assert.EqualValues(t, 2, b.drain(r, 10*second, 5))
}
