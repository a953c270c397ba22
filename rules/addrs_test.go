package rules_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParsePrefixes(t *testing.T) {
	for text, want := range map[string][]string{
		"192.0.2.1":               {"192.0.2.1/32"},
		" 10.0.0.0/8 ":            {"10.0.0.0/8"},
		"2001:db8::1":             {"2001:db8::1/128"},
		"::ffff:192.0.2.1":        {"192.0.2.1/32"},
		"::ffff:10.0.0.0/104":     {"10.0.0.0/8"},
		"loopback":                {"127.0.0.0/8", "::1/128"},
		"private":                 {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"},
		"linklocal":               {"169.254.0.0/16", "fe80::/10"},
		"0.0.0.0/0":               {"0.0.0.0/0"},
		"fe80::/10":               {"fe80::/10"},
		"255.255.255.255/32":      {"255.255.255.255/32"},
		"2001:db8:ffff:ffff::/64": {"2001:db8:ffff:ffff::/64"},
	} {
		prefixes, err := rules.ParsePrefixes(text)
		require.NoError(t, err, text)
		var got []string
		for _, p := range prefixes {
			got = append(got, p.String())
		}
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "localhost", "10.0.0.0/33", "10.0.0.1/8", "2001:db8::1/32", "fe80::1%eth0", "10.0.0", "010.0.0.1", "10.0.0.0/08", "1.2.3.4:80"} {
		_, err := rules.ParsePrefixes("192.0.2.1", text)
		assert.ErrorIs(t, err, rules.ErrValue, text)
	}
}

// A set has what one of its prefixes has, in any order and with any overlaps.
func TestAddrSetAgainstItsPrefixes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	address := func() netip.Addr { // of few values, so that prefixes meet, also at the ends of the families
		last := []byte{0, 1, 2, 127, 128, 254, 255}[random.IntN(7)]
		first := []byte{0, 10, 255}[random.IntN(3)]
		switch random.IntN(3) {
		case 0:
			return netip.AddrFrom4([4]byte{first, first, 0, last})
		case 1:
			return netip.AddrFrom16([16]byte{first, first, 10: 0, 15: last})
		}
		return netip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: first, 13: first, 15: last})
	}
	for range 500 {
		var prefixes []netip.Prefix
		for range random.IntN(8) {
			a := address()
			p, err := a.Prefix(max(0, a.BitLen()-random.IntN(34)))
			require.NoError(t, err)
			prefixes = append(prefixes, p)
		}
		set, err := rules.NewAddrSet(prefixes)
		require.NoError(t, err)
		assert.Equal(t, len(prefixes) == 0, set.Empty())
		for range 50 {
			a, want := address(), false
			for _, p := range prefixes {
				if p.Addr().Is4In6() {
					p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
				}
				want = want || p.Contains(a.Unmap())
			}
			require.Equal(t, want, set.Contains(a), "%s in %v", a, prefixes)
			require.Equal(t, want, set.Contains(a.WithZone("eth0")), "a zone makes no difference")
		}
		require.False(t, set.Contains(netip.Addr{}))
	}
}

func TestAddrSetOfEverybody(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  bool
	}{
		{nil, false},
		{[]string{"private", "loopback"}, false},
		{[]string{"0.0.0.0/0"}, true},
		{[]string{"::/0"}, true},
		{[]string{"::ffff:0:0/96"}, true},
		{[]string{"128.0.0.0/1", "0.0.0.0/2", "64.0.0.0/2"}, true},
		{[]string{"0.0.0.0/1", "128.0.0.0/2", "192.0.0.0/3"}, false},
		{[]string{"8000::/1", "::/1", "10.0.0.0/8"}, true},
	} {
		prefixes, err := rules.ParsePrefixes(c.texts...)
		require.NoError(t, err)
		set, err := rules.NewAddrSet(prefixes)
		require.NoError(t, err)
		assert.Equal(t, c.want, set.Everybody(), "%v", c.texts)
	}
	_, err := rules.NewAddrSet([]netip.Prefix{{}})
	assert.ErrorIs(t, err, rules.ErrValue)
}

func TestAddrSetAllocatesNothing(t *testing.T) {
	prefixes, err := rules.ParsePrefixes("private", "loopback", "2001:db8::/32")
	require.NoError(t, err)
	set, err := rules.NewAddrSet(prefixes)
	require.NoError(t, err)
	for _, text := range []string{"10.1.2.3", "::ffff:10.1.2.3", "2001:db9::1", "fe80::1%eth0"} {
		a := netip.MustParseAddr(text)
		assert.Zero(t, testing.AllocsPerRun(100, func() { set.Contains(a) }), text)
	}
}
