package httplimit

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
)

// keyOf returns the key of r, and whether it is there.
func keyOf(t testing.TB, k Key, r *http.Request) (string, presence) {
	t.Helper()
	f, err := New(Config{Rules: []Rule{{Key: k, Limit: ratelimit.PerSecond(1).Burst(1)}}})
	require.NoError(t, err)
	v := f.newVisit(r)
	defer v.release()
	key, p := v.t.rules[0].appendKey(nil, v)
	return string(key), p
}

// request returns a request with headers, given as "Name: value".
func request(headers ...string) *http.Request {
	r := &http.Request{Method: "GET", RemoteAddr: "192.0.2.10:4711", Host: "api.example.org", Header: http.Header{}}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

func TestPartsDontCollide(t *testing.T) {
	ab := All(Header("A"), Header("B"))
	tenant := All(Header("Tenant"), First(Header("Policy"), Method()))
	keys := map[string]string{}
	for _, c := range []struct {
		name string
		key  Key
		r    *http.Request
	}{
		{"(aa,b)", ab, request("A: aa", "B: b")},
		{"(a,ab)", ab, request("A: a", "B: ab")},
		{"(a:b,c)", ab, request("A: a:b", "B: c")},
		{"(a,b:c)", ab, request("A: a", "B: b:c")},
		{"(a|b,c)", ab, request("A: a|b", "B: c")},
		{"(a)", Header("A"), request("A: a")},
		{"(a\\x00h\\x01b)", Header("A"), request("A: a\x00h\x01b")},
		{"tenant k-1:p without policy", tenant, request("Tenant: k-1:p")},
		{"tenant k-1 with policy p", tenant, request("Tenant: k-1", "Policy: p")},
		{"tenant k-1 with a policy called GET", tenant, request("Tenant: k-1", "Policy: GET")},
		{"tenant k-1 without policy", tenant, request("Tenant: k-1")},
		// One value, three kinds.
		{"user 192.0.2.10", User(func(*http.Request) string { return "192.0.2.10" }), request()},
		{"header 192.0.2.10", Header("A"), request("A: 192.0.2.10")},
		{"peer 192.0.2.10", IP(), request()},
		// A fall-back isn't what it falls back from.
		{"first of A", First(Header("A"), Header("B")), request("A: x")},
		{"first of A, B", First(Header("A"), Header("B")), request("B: x")},
		{"address and path suffix", All(IP(), Header("A")), request("A: /1")},
		{"address and another path suffix", All(IP(), Header("A")), request("A: /11")},
	} {
		key, p := keyOf(t, c.key, c.r)
		assert.Equal(t, present, p, c.name)
		assert.Empty(t, keys[key], "%s has the key of %s", c.name, keys[key])
		keys[key] = c.name
	}
}

// The value is the one that a handler sees which asks net/url, and an upstream behind a ReverseProxy: what these drop must
// not hide it.
func TestQueryAsHandlersSeeIt(t *testing.T) {
	for _, query := range []string{"q=a&q=b", "q=%zz&q=a", "q=x;1&q=a", "%71=a", "q%=x&q=a", "x;q=b&q=a", "q=%&q=a&q=%zz", "q=a+b%20c", "q", "p=1", "=x&q=a"} {
		r := &http.Request{URL: &url.URL{RawQuery: query}}
		assert.Equal(t, r.URL.Query().Get("q"), queryValue(r, "q"), query)
	}
}

// One credential is one client, however its scheme is spelled; its value counts to the byte.
func TestCredentialsInAnySpelling(t *testing.T) {
	key := func(value string) string {
		k, p := keyOf(t, Header("authorization"), request("Authorization: "+value))
		assert.Equal(t, present, p)
		return k
	}
	for _, spelling := range []string{"bearer aB", "BEARER aB", "bEARER aB", "Bearer   aB", "bearer \taB"} {
		assert.Equal(t, key("Bearer aB"), key(spelling), spelling)
	}
	for _, other := range []string{"Bearer ab", "Bearer aB c", "Basic aB", "BeareraB", "aB", "Bearer", "Bear er aB"} {
		assert.NotEqual(t, key("Bearer aB"), key(other), other)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() { credentials("Bearer aB"); credentials("Aws4-hmac x") }))
	other, _ := keyOf(t, Header("X-Token"), request("X-Token: bearer a"))
	same, _ := keyOf(t, Header("X-Token"), request("X-Token: Bearer a"))
	assert.NotEqual(t, other, same, "of no other field is anything known")
}

func TestMethodInAnyCase(t *testing.T) {
	upper, lower := request(), request()
	lower.Method = "get"
	want, _ := keyOf(t, Method(), upper)
	got, _ := keyOf(t, Method(), lower)
	assert.Equal(t, want, got)
}

func TestEmptyAndAbsentPartsAreMissing(t *testing.T) {
	for name, c := range map[string]struct {
		key Key
		r   *http.Request
	}{
		"no header":           {Header("A"), request()},
		"an empty header":     {Header("A"), request("A: ")},
		"one part of two":     {All(Header("A"), Header("B")), request("A: x")},
		"all fall-backs":      {First(Header("A"), Header("B")), request("C: x")},
		"no cookie":           {Cookie("sid"), request()},
		"an empty cookie":     {Cookie("sid"), request("Cookie: sid=")},
		"nobody":              {User(func(*http.Request) string { return "" }), request()},
		"no route":            {Route(), request()},
		"no host":             {Host(), &http.Request{Header: http.Header{}}},
		"no peer":             {IP(), &http.Request{Header: http.Header{}}},
		"a peer on a socket":  {IP(), &http.Request{Header: http.Header{}, RemoteAddr: "@"}},
		"no parameter":        {Query("q"), &http.Request{URL: &url.URL{RawQuery: "a=1&b=2"}}},
		"an empty parameter":  {Query("q"), &http.Request{URL: &url.URL{RawQuery: "q=&q=1"}}},
		"no URL":              {Query("q"), &http.Request{}},
		"normalised to empty": {Header("A").Normalize(strings.TrimSpace), request("A:   ")},
	} {
		_, p := keyOf(t, c.key, c.r)
		assert.Equal(t, absent, p, name)
	}
}

// An address that can't be read is its text, so that two such peers aren't one client.
func TestPeersWithoutAddressAreNotOne(t *testing.T) {
	a, p1 := keyOf(t, IP(), &http.Request{RemoteAddr: "garbage-1:80"})
	b, p2 := keyOf(t, IP(), &http.Request{RemoteAddr: "garbage-2:80"})
	c, p3 := keyOf(t, IP(), &http.Request{RemoteAddr: "garbage-1:81"})
	assert.Equal(t, []presence{present, present, present}, []presence{p1, p2, p3})
	assert.NotEqual(t, a, b)
	assert.Equal(t, a, c, "the port is no part of it")
}

func TestKeysAreBytes(t *testing.T) {
	same := func(a, b string) bool {
		x, _ := keyOf(t, Header("A"), request("A: "+a))
		y, _ := keyOf(t, Header("A"), request("A: "+b))
		return x == y
	}
	assert.False(t, same("u@example.org", "U@Example.org"), "nothing is normalised by itself")
	assert.False(t, same("user@example.org", "u\u24e2er@example.org"))
	assert.False(t, same("a\x00b", "a\x00c"), "a NUL ends nothing")
	invalid := "\xff\xfe"
	require.False(t, utf8.ValidString(invalid))
	assert.False(t, same(invalid, "\xff\xfd"))
	assert.False(t, same(invalid, "\ufffd"))
}

func TestNormalize(t *testing.T) {
	email := All(IP(), Header("Email")).Normalize(strings.ToLower).Normalize(strings.TrimSpace)
	a, _ := keyOf(t, email, request("Email: u@example.org"))
	b, _ := keyOf(t, email, request("Email: U@Example.org"))
	c, _ := keyOf(t, email, request("Email:  u@example.org "))
	d, _ := keyOf(t, email, request("Email: v@example.org"))
	assert.Equal(t, a, b)
	assert.Equal(t, a, c)
	assert.NotEqual(t, a, d)

	fold := strings.NewReplacer("\u24e2", "s")
	circled := Header("Email").Normalize(fold.Replace)
	a, _ = keyOf(t, circled, request("Email: user@example.org"))
	b, _ = keyOf(t, circled, request("Email: u\u24e2er@example.org"))
	assert.Equal(t, a, b)
}

func TestHostIsOneInAllItsSpellings(t *testing.T) {
	for host, want := range map[string]string{
		"API.example.org:8080": "api.example.org", "[2001:db8::1]:80": "[2001:db8::1]", "api": "api", "[::1]": "[::1]",
		"api.example.org.": "api.example.org", "API.Example.org.:8080": "api.example.org", "api.example.org:": "api.example.org",
		"api.example.org:000000080": "api.example.org", "api.example.org:http": "api.example.org", "2001:DB8::1": "2001:db8::1",
	} {
		a, _ := keyOf(t, Host(), &http.Request{Host: host})
		b, _ := keyOf(t, Header("host"), &http.Request{Host: want})
		assert.Equal(t, a, b, host)
		assert.True(t, strings.HasSuffix(a, want), host)
	}
}

func TestBadKeysAreErrors(t *testing.T) {
	for name, k := range map[string]Key{
		"0 bits":         IPPrefix(0, 64),
		"33 bits":        IPPrefix(33, 64),
		"129 bits":       IPPrefix(32, 129),
		"-1 bits":        IPPrefix(32, -1),
		"no name":        Header(""),
		"a bad name":     Header("a b"),
		"no cookie name": Cookie(""),
		"nothing":        All(),
		"no fall-back":   First(),
		"nil user":       User(nil),
		"nil function":   First(IP(), KeyFunc(nil)),
	} {
		_, err := New(Config{Rules: []Rule{{Key: k, Limit: ratelimit.PerSecond(1).Burst(1)}}})
		assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig, name)
		assert.ErrorContains(t, err, "Key: ", name)
	}
}

func TestKeyString(t *testing.T) {
	for want, k := range map[string]Key{
		"ip":                        {},
		"ip/24/56":                  IPPrefix(24, 56),
		"header:X-Api-Key":          Header("x-api-key"),
		"header:X-Api-Key, ip":      First(Header("X-API-Key"), IP()),
		"user+route":                All(User(func(*http.Request) string { return "" }), Route()),
		"cookie:sid+host+method":    All(Cookie("sid"), Host(), Method()),
		"func+header:Authorization": All(KeyFunc(func(*http.Request) string { return "" }), Header("authorization")),
	} {
		assert.Equal(t, want, k.String())
	}
}

func TestLongKeys(t *testing.T) {
	const most = 64 << 10
	seen := map[string]int{}
	for _, n := range []int{maxPlain, maxPlain + 1, 60_000, most - 1, most} {
		for _, last := range []string{"x", "y"} { // they differ in their tail alone
			k, p := keyOf(t, Header("A"), request("A: "+strings.Repeat("x", n-1)+last))
			assert.Equal(t, present, p)
			assert.LessOrEqual(t, len(k), maxPlain+3, "a long text fills no more memory")
			seen[string(k)]++
		}
	}
	assert.Len(t, seen, 10, "each text is a client of its own")
	k, p := keyOf(t, Header("A"), request("A: "+strings.Repeat("x", most+1)))
	assert.Equal(t, oversize, p)
	assert.Empty(t, k, "it isn't even hashed")
}
