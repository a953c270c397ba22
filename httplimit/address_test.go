package httplimit

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseAddr(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1":                   "192.0.2.1",
		"192.0.2.1:4711":              "192.0.2.1",
		" 192.0.2.1\t":                "192.0.2.1",
		"[2001:db8::1]:4711":          "2001:db8::1",
		"[2001:db8::1]":               "2001:db8::1",
		"2001:db8:1:2::5":             "2001:db8:1:2::5", // no brackets: the last colon is no port's
		"2001:DB8:1:2:0:0:0:5":        "2001:db8:1:2::5",
		"fe80::1%eth0":                "fe80::1",
		"[fe80::1%eth0]:80":           "fe80::1",
		"::ffff:192.0.2.1":            "192.0.2.1",
		"::ffff:c000:201":             "192.0.2.1",
		"0:0:0:0:0:ffff:c000:0201":    "192.0.2.1",
		"[::ffff:192.0.2.1%eth0]:80":  "192.0.2.1",
		"2001:db8:1:2::192.0.2.1":     "2001:db8:1:2::c000:201",
		"192.0.2.43:_obfuscated":      "192.0.2.43",
		"":                            "",
		" ":                           "",
		"garbage":                     "",
		"unknown":                     "",
		"_hidden":                     "",
		"192.0.2.1:":                  "",
		"192.0.2.1:http":              "",
		"192.0.2.1:655350":            "",
		"192.0.2.1.5":                 "",
		"192.0.2.256":                 "",
		"192.0.2.01":                  "",
		"192.0.2.1, 192.0.2.2":        "",
		"[192.0.2.1]:80":              "",
		"[2001:db8::1":                "",
		"[]:80":                       "",
		"[]":                          "",
		"[":                           "",
		":80":                         "",
		":":                           "",
		"%":                           "",
		"::%":                         "::",
		"2001:db8::1::2":              "",
		"[2001:db8::1]x":              "",
		"[2001:db8::1]:":              "",
		"192.0.2.1%eth0":              "",
		strings.Repeat("1", 1<<20):    "",
		strings.Repeat("1:", 1<<19):   "",
		strings.Repeat("[::]:", 1000): "",
	} {
		addr, ok := parseAddr(text)
		if len(text) > 60 {
			text = text[:60]
		}
		assert.Equal(t, want != "", ok, "%q", text)
		if ok {
			assert.Equal(t, want, addr.String(), "%q", text)
			assert.False(t, addr.Is4In6(), "%q", text)
		}
	}
}

// addrKey returns the key of the address alone.
func addrKey(t *testing.T, text string, bits4, bits6 int) string {
	t.Helper()
	addr, ok := parseAddr(text)
	require.True(t, ok, text)
	return string(appendAddr(nil, addr, bits4, bits6))
}

// Each line is one client, and no two lines are the same one.
func TestOneClientOneKey(t *testing.T) {
	for _, c := range []struct {
		bits4, bits6 int
		clients      [][]string
	}{
		{32, 64, [][]string{
			{"192.0.2.10:50001", "192.0.2.10:50002", "192.0.2.10"},
			{"192.0.2.11"},
			// One customer has 2^64 addresses.
			{"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "[2001:db8:1:2::5]:50001", "[2001:db8:1:2::5%eth0]:50002",
				"2001:DB8:1:2:0:0:0:5", "2001:db8:1:2::192.0.2.1", "2001:db8:1:2::c000:201", "2001:db8:1:2::1:1", "2001:db8:1:2::2:1"},
			{"2001:db8:1:3::1"},
			// "::" stands for any number of zeros: parse, then mask.
			{"2001:db8::a:b", "2001:db8:0:0:0:0:a:c", "2001:0db8::1"},
			// IPv4 in IPv6, by its bits and not by its spelling.
			{"192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201", "0:0:0:0:0:ffff:c000:0201", "64:ff9b::c000:201", "64:ff9b::192.0.2.1",
				"2002:c000:201::1", "2002:c000:201:ffff::9", "2001:0:4136:e378:8000:63bf:3fff:fdfe"},
			{"192.0.2.2", "64:ff9b::c000:202", "2001:0:4136:e378:8000:63bf:3fff:fdfd"},
			{"64:ff9b:1::c000:201"}, // the operator's own translation prefix: where the IPv4 address is in it, only he knows
		}},
		{24, 56, [][]string{
			{"2001:db8:1:2ff::1", "2001:db8:1:200::1"}, {"2001:db8:1:300::1"}, {"192.0.2.1", "192.0.2.255"}, {"192.0.3.1"},
		}},
		{20, 61, [][]string{
			{"2001:db8:1:8::1", "2001:db8:1:f::1"}, {"2001:db8:1:10::1"}, {"192.0.16.1", "192.0.31.255"}, {"192.0.32.1"},
		}},
		{32, 128, [][]string{{"2001:db8::1", "2001:db8:0::1", "2001:db8::1%eth0"}, {"2001:db8::2"}}},
	} {
		seen := map[string]string{}
		for _, spellings := range c.clients {
			key := addrKey(t, spellings[0], c.bits4, c.bits6)
			for _, s := range spellings {
				assert.Equal(t, key, addrKey(t, s, c.bits4, c.bits6), "/%d: %s and %s are one client", c.bits6, spellings[0], s)
			}
			assert.Empty(t, seen[key], "/%d: %s and %s are two clients", c.bits6, spellings[0], seen[key])
			seen[key] = spellings[0]
		}
	}
}

// The quick way and the thorough one agree, wherever the quick one dares to answer.
func FuzzParseAddr(f *testing.F) {
	for _, s := range []string{"192.0.2.1:80", "0.0.0.0:0", "255.255.255.255:65535", "01.2.3.4:5", "1.2.3:4", "1.2.3.4", "1.2.3.4:", "1.2.3.400:5",
		"[::1]:80", "fe80::1%eth0", "::ffff:1.2.3.4", "1.2.3.4:_x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		addr, ok := parseAddr(s)
		if ok && (!addr.IsValid() || addr.Is4In6() || addr.Zone() != "") {
			t.Errorf("%q: %v", s, addr)
		}
		if quick, ok := parseIPv4Port(s); ok {
			host, _, found := strings.Cut(s, ":")
			slow, err := netip.ParseAddr(host)
			if !found || err != nil || slow != quick {
				t.Errorf("%q: %v, not %v, %v", s, quick, slow, err)
			}
		}
	})
}
