package httplimit

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

func prefixes(t testing.TB, list ...string) []netip.Prefix {
	t.Helper()
	p, err := rules.ParsePrefixes(list...)
	require.NoError(t, err)
	return p
}

func TestClientBehindProxies(t *testing.T) {
	trusted := prefixes(t, "192.0.2.1", "192.0.2.2", "2001:db8:ffff::/48")
	xff := func(lines ...string) http.Header { return http.Header{"X-Forwarded-For": lines} }
	forwarded := func(lines ...string) http.Header { return http.Header{"Forwarded": lines} }
	for _, c := range []struct {
		why, header, peer string
		h                 http.Header
		want              string
	}{
		{"no header", "", "192.0.2.1:80", xff(), "192.0.2.1"},
		{"one hop", "", "192.0.2.1:80", xff("198.51.100.7"), "198.51.100.7"},
		{"the peer isn't trusted", "", "198.51.100.9:80", xff("198.51.100.7"), "198.51.100.9"},
		{"from the right, not from the left", "", "192.0.2.1:80", xff("192.0.2.99, 192.0.2.2, 192.0.2.55"), "192.0.2.55"},
		{"a trusted hop on the way", "", "192.0.2.1:80", xff("203.0.113.9, 192.0.2.55, 192.0.2.2"), "192.0.2.55"},
		{"lines are one list", "", "192.0.2.1:80", xff("192.0.2.99", "192.0.2.55"), "192.0.2.55"},
		{"lines are one list, over a trusted hop", "", "192.0.2.1:80", xff("192.0.2.99", "192.0.2.55", "192.0.2.2"), "192.0.2.55"},
		{"all trusted: the farthest", "", "192.0.2.1:80", xff("192.0.2.2"), "192.0.2.2"},
		{"garbage: the peer", "", "192.0.2.1:80", xff("garbage"), "192.0.2.1"},
		{"garbage ends the walk at the last good hop", "", "192.0.2.1:80", xff("198.51.100.7, garbage, 192.0.2.2"), "192.0.2.2"},
		{"garbage beyond the client isn't looked at", "", "192.0.2.1:80", xff("garbage, 198.51.100.7"), "198.51.100.7"},
		{"with a port", "", "192.0.2.1:80", xff("192.0.2.55:4711"), "192.0.2.55"},
		{"IPv6 with a port", "", "192.0.2.1:80", xff("[2001:db8:1:2::5]:4711"), "2001:db8:1:2::5"},
		{"IPv6 without brackets", "", "192.0.2.1:80", xff("2001:db8:1:2::5"), "2001:db8:1:2::5"},
		{"a mapped proxy is the proxy", "", "[::ffff:192.0.2.1]:80", xff("198.51.100.7, ::ffff:192.0.2.2"), "198.51.100.7"},
		{"a zoned proxy is the proxy", "", "[2001:db8:ffff::1%eth0]:80", xff("198.51.100.7"), "198.51.100.7"},
		{"6to4 of a proxy isn't the proxy", "", "[2002:c000:201::1]:80", xff("198.51.100.7"), "2002:c000:201::1"},
		{"NAT64 of a proxy isn't the proxy", "", "[64:ff9b::c000:201]:80", xff("198.51.100.7"), "64:ff9b::c000:201"},
		{"empty elements", "", "192.0.2.1:80", xff("198.51.100.7, ,", "", ", 192.0.2.2 ,"), "198.51.100.7"},
		{"only commas", "", "192.0.2.1:80", xff(",,,,"), "192.0.2.1"},
		{"another header isn't looked at", "", "192.0.2.1:80", forwarded("for=198.51.100.7"), "192.0.2.1"},

		{"RFC 7239", "forwarded", "192.0.2.1:80", forwarded("for=198.51.100.7;proto=https;by=192.0.2.1"), "198.51.100.7"},
		{"RFC 7239, IPv6", "Forwarded", "192.0.2.1:80", forwarded(`proto=https; For="[2001:db8:1:2::5]:4711"`), "2001:db8:1:2::5"},
		{"RFC 7239, several", "Forwarded", "192.0.2.1:80", forwarded("for=203.0.113.9, for=198.51.100.7", `for="192.0.2.2"`), "198.51.100.7"},
		{"RFC 7239, obfuscated", "Forwarded", "192.0.2.1:80", forwarded("for=198.51.100.7, for=_hidden, for=192.0.2.2"), "192.0.2.2"},
		{"RFC 7239, no for", "Forwarded", "192.0.2.1:80", forwarded("for=198.51.100.7, proto=https"), "192.0.2.1"},
		{"RFC 7239, empty for", "Forwarded", "192.0.2.1:80", forwarded("for=198.51.100.7, for="), "192.0.2.1"},
		{"RFC 7239, comma in quotes", "Forwarded", "192.0.2.1:80", forwarded(`for=198.51.100.7;secret="a, for=203.0.113.9\", for=203.0.113.9"`), "198.51.100.7"},
		{"RFC 7239, a client's open quote", "Forwarded", "192.0.2.1:80", forwarded(`for="203.0.113.9, for=198.51.100.7`), "198.51.100.7"},
		{"RFC 7239, a client's quote", "Forwarded", "192.0.2.1:80", forwarded(`for=203.0.113.9;x=", for=198.51.100.7`), "198.51.100.7"},
		{"RFC 7239, what a client has put into another parameter", "Forwarded", "192.0.2.1:80",
			forwarded(`host="a;for=203.0.113.9\";for=203.0.113.9";for=198.51.100.7`), "198.51.100.7"},
		{"RFC 7239: X-Forwarded-For isn't looked at", "Forwarded", "192.0.2.1:80", xff("198.51.100.7"), "192.0.2.1"},

		{"single", "cf-connecting-ip", "192.0.2.1:80", http.Header{"Cf-Connecting-Ip": {"198.51.100.7"}}, "198.51.100.7"},
		{"single, peer not trusted", "CF-Connecting-IP", "198.51.100.9:80", http.Header{"Cf-Connecting-Ip": {"198.51.100.7"}}, "198.51.100.9"},
		{"single, twice", "CF-Connecting-IP", "192.0.2.1:80", http.Header{"Cf-Connecting-Ip": {"198.51.100.7", "198.51.100.8"}}, "192.0.2.1"},
		{"single, a list", "CF-Connecting-IP", "192.0.2.1:80", http.Header{"Cf-Connecting-Ip": {"198.51.100.7, 198.51.100.8"}}, "192.0.2.1"},
		{"single, garbage", "CF-Connecting-IP", "192.0.2.1:80", http.Header{"Cf-Connecting-Ip": {"garbage"}}, "192.0.2.1"},
		{"single, none", "CF-Connecting-IP", "192.0.2.1:80", http.Header{}, "192.0.2.1"},

		{"nobody is trusted by default", "none", "127.0.0.1:80", xff("198.51.100.7"), "127.0.0.1"},
	} {
		config := Proxies{Trusted: trusted, Header: c.header}
		if c.header == "none" {
			config = Proxies{}
		}
		p, err := config.compile()
		require.NoError(t, err)
		got, ok := clientAddr(p, &http.Request{RemoteAddr: c.peer, Header: c.h})
		assert.True(t, ok, c.why)
		assert.Equal(t, c.want, got.String(), c.why)
	}
}

func TestUnixPeers(t *testing.T) {
	h := http.Header{"X-Forwarded-For": {"198.51.100.7"}}
	for _, peer := range []string{"", "@", "/run/proxy.sock"} {
		trusting, err := Proxies{Unix: true}.compile()
		require.NoError(t, err)
		got, ok := clientAddr(trusting, &http.Request{RemoteAddr: peer, Header: h})
		assert.True(t, ok)
		assert.Equal(t, "198.51.100.7", got.String())

		_, ok = clientAddr(trusting, &http.Request{RemoteAddr: peer, Header: http.Header{}})
		assert.False(t, ok, "nobody has told an address")

		wary, err := Proxies{Trusted: prefixes(t, "192.0.2.1")}.compile()
		require.NoError(t, err)
		_, ok = clientAddr(wary, &http.Request{RemoteAddr: peer, Header: h})
		assert.False(t, ok, "not believed unless the operator says so")
	}
}

func TestProxiesThatTrustEverybodyAreAnError(t *testing.T) {
	for _, list := range [][]string{
		{"0.0.0.0/0"}, {"::/0"}, {"192.0.2.1", "0.0.0.0/0"}, {"0.0.0.0/1", "128.0.0.0/1"}, {"::ffff:0:0/96"}, {"::/1", "8000::/2", "c000::/2"},
	} {
		_, err := New(Config{Rules: []Rule{{Limit: ratelimit.PerSecond(1).Burst(1)}}, Proxies: Proxies{Trusted: prefixes(t, list...)}})
		assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig, "%v", list)
		assert.ErrorContains(t, err, "Proxies.Trusted", "%v", list)
	}
	for _, bad := range []Proxies{{Trusted: make([]netip.Prefix, 1)}, {Header: "no name"}, {Header: "a,b"}} {
		_, err := bad.compile()
		assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig, "%v", bad)
	}
}

func TestFindingTheClientAllocatesNothing(t *testing.T) {
	for _, c := range []struct{ header, value string }{
		{"X-Forwarded-For", "garbage, 203.0.113.9, [2001:db8:1:2::5%eth0]:4711, ::ffff:192.0.2.2, 192.0.2.2:80"},
		{"Forwarded", `for=203.0.113.9, for="[2001:db8:1:2::5%eth0]:4711";by=x, for="192.0.2.2:80"`},
		{"Cf-Connecting-Ip", "2001:db8:1:2::5%eth0"},
	} {
		p, err := Proxies{Trusted: prefixes(t, "192.0.2.0/24"), Header: c.header}.compile()
		require.NoError(t, err)
		r := &http.Request{RemoteAddr: "[::ffff:192.0.2.1%eth0]:80", Header: http.Header{c.header: {c.value}}}
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			if _, ok := clientAddr(p, r); !ok {
				t.Fatal("no address")
			}
		}), c.header)
		addr, _ := clientAddr(p, r)
		assert.Equal(t, "2001:db8:1:2::5", addr.String(), c.header)
	}
}

// The walk is linear in the header's length, however it is cut.
func TestLongHeadersEnd(t *testing.T) {
	for _, format := range []string{"X-Forwarded-For", "Forwarded"} {
		p, err := Proxies{Trusted: prefixes(t, "192.0.2.1"), Header: format}.compile()
		require.NoError(t, err)
		for _, element := range []string{",", "192.0.2.1,", `"`, `\`, `\"`, "for=192.0.2.1,", "for=,", ";"} {
			r := &http.Request{RemoteAddr: "192.0.2.1:80", Header: http.Header{format: {strings.Repeat(element, 1<<20/len(element))}}}
			got, ok := clientAddr(p, r)
			assert.True(t, ok)
			assert.Equal(t, "192.0.2.1", got.String(), "%s of %q", format, element)
		}
	}
}
