package httplimit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/casgate/ratelimit"
)

func TestMask(t *testing.T) {
	f, err := New(Config{Rules: []Rule{{Limit: ratelimit.PerSecond(1).Burst(1)}}})
	assert.NoError(t, err)
	long := "A: " + strings.Repeat("x", 300)
	for _, c := range []struct {
		key     Key
		headers []string
		want    string // a regular expression
	}{
		{IP(), nil, `^ip=192\.0\.2\.10$`},
		{IPPrefix(20, 64), nil, `^ip=192\.0\.0\.0/20$`},
		{All(Method(), Host()), nil, `^method="GET" host="api\.example\.org"$`},
		{First(Header("X"), All(IP(), Header("A"))), []string{"A: secret"}, `^ip=192\.0\.2\.10 header=#[0-9a-f]{32}$`},
		{Global(), nil, "^all$"},
		{Header("A"), []string{long}, `^header=#[0-9a-f]{32}$`},
	} {
		key, p := keyOf(t, c.key, request(c.headers...))
		assert.Equal(t, present, p)
		got := f.mask([]byte(key), false)
		assert.Regexp(t, c.want, got)
		assert.NotContains(t, got, "secret")
		// Whatever is cut off, and wherever: no secret, no panic, and it is said.
		for n := range len(key) {
			got := f.mask([]byte(key[:n]), true)
			assert.NotContains(t, got, "secret")
			assert.True(t, strings.HasSuffix(got, "…"), got)
		}
	}
	assert.Equal(t, "?", f.mask([]byte{0, 1, 2}, false), "not a key of this package")

	// Equal values look equal to one filter, and to no other.
	a, _ := keyOf(t, Header("A"), request("A: secret"))
	other, err := New(Config{Rules: []Rule{{Limit: ratelimit.PerSecond(1).Burst(1)}}})
	assert.NoError(t, err)
	assert.Equal(t, f.mask([]byte(a), false), f.mask([]byte(a), false))
	assert.NotEqual(t, f.mask([]byte(a), false), other.mask([]byte(a), false))
}
