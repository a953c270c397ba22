package httplimit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
	"unsafe"

	"github.com/casgate/ratelimit"
)

// Key says what of a request is its client. The zero value is IP().
//
// Two keys never collide: each part is written with its kind and its length, so that the user "192.0.2.1", a header of
// that value and the address are three clients, and ("a:b", "c") and ("a", "b:c") are two. Values are bytes; nothing is
// normalised unless Normalize says so. An empty value counts as missing.
type Key struct {
	kind   byte
	name   string
	value  func(*http.Request) string // of the kinds that are text
	bits4  int                        // of kindIP
	bits6  int
	of     []Key // of kindAll and kindFirst
	mapped func(string) string
}

// Kinds of parts. Those with a letter stand in the key's bytes; IP stands there as one of the families.
const (
	kindIP     byte = 0
	kindAll    byte = 1
	kindFirst  byte = '|'
	kindIPv4   byte = '4'
	kindIPv6   byte = '6'
	kindPeer   byte = 'p' // the peer's name, where it has no IP address
	kindHeader byte = 'h'
	kindCookie byte = 'c'
	kindUser   byte = 'u'
	kindHost   byte = 'o'
	kindMethod byte = 'm'
	kindRoute  byte = 'r'
	kindQuery  byte = 'q'
	kindPath   byte = 'w' // a wildcard of the rule's pattern
	kindFunc   byte = 'f'
	kindGlobal byte = 'g'
	kindDigest byte = '#' // before the kind of a text whose SHA-256 stands for it
)

// maxPlain is the longest text, in bytes, that stands in a key as it is. A digest stands for a longer one, so that
// whoever sends long texts fills no more memory than others.
const maxPlain = 256

// Prefix lengths of IP: an IPv6 client owns a /64, an IPv4 one its address.
const (
	defaultBits4 = 32
	defaultBits6 = 64
)

// IP is the client's address, as Config.Proxies finds it: all of an IPv4 address, the first 64 bits of an IPv6 one, for
// that much is a single client's. IPv4-mapped addresses are IPv4; those of NAT64 (64:ff9b::/96), 6to4 and Teredo count
// as the IPv4 address within. A zone is no part of it.
func IP() Key { return IPPrefix(defaultBits4, defaultBits6) }

// IPPrefix is the client's address, cut to bits4 (1 to 32) or bits6 (1 to 128) bits. Several rules may hold several
// prefixes at once, each with its limit: /128, /64 and /48, say.
func IPPrefix(bits4, bits6 int) Key { return Key{kind: kindIP, bits4: bits4, bits6: bits6} }

// Header is the value of a request header; of its first line, if there are several. The name's case doesn't matter. Of
// Authorization, neither does the scheme's, nor how many spaces follow it: bearer and Bearer are one client.
//
// A client chooses it: a header that nobody has verified, such as an API key before its check, lets its sender have as
// many buckets as he likes. Add a rule by IP then, and set MaxKeys.
func Header(name string) Key {
	name = textproto.CanonicalMIMEHeaderKey(name)
	if name == "Host" { // which net/http keeps elsewhere
		return Host()
	}
	return Key{kind: kindHeader, name: name}
}

// Cookie is the value of a cookie, verified by nobody; see Header.
func Cookie(name string) Key {
	return Key{kind: kindCookie, name: name, value: func(r *http.Request) string {
		if c, err := r.Cookie(name); err == nil {
			return c.Value
		}
		return ""
	}}
}

// Query is the value of the first well-formed parameter of that name in the URL's query, verified by nobody; see Header.
func Query(name string) Key {
	return Key{kind: kindQuery, name: name, value: func(r *http.Request) string { return queryValue(r, name) }}
}

// User is the user as the program knows it, typically from the request's context, where its authentication has left
// it. user returns "" for nobody.
func User(user func(*http.Request) string) Key { return Key{kind: kindUser, value: user} }

// Host is the host that the request is for, as the client sent it, in lower case and without port and final dot:
// spellings that reach the same handlers are one. A client can make hosts up; see Header.
func Host() Key {
	return Key{kind: kindHost, value: func(r *http.Request) string {
		host := r.Host
		// Whatever stands for the port, as net/http takes anything. An IPv6 address without brackets has none.
		if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.IndexByte(host[i:], ']') < 0 &&
			(host[0] == '[' || strings.IndexByte(host[:i], ':') < 0) {
			host = host[:i]
		}
		return strings.ToLower(strings.TrimSuffix(host, "."))
	}}
}

// Method is the request's method, in capitals, as some servers take it in any case. A client can make methods up; see
// Header.
func Method() Key {
	return Key{kind: kindMethod, value: func(r *http.Request) string { return strings.ToUpper(r.Method) }}
}

// Route is the pattern that the router matched, Request.Pattern: spellings of a path that the router treats alike are
// one, where the raw path would be many. The filter must then stand behind the router. Before it, the pattern is that of
// a Store's rule; without a Store, Route is missing there.
func Route() Key { return Key{kind: kindRoute} }

// Global is one key for all requests: the limit is the handler's, not a client's.
func Global() Key {
	return Key{kind: kindGlobal, value: func(*http.Request) string { return "all" }}
}

// KeyFunc is whatever value returns; "" for a request that has none. What it allocates, the filter does.
func KeyFunc(value func(*http.Request) string) Key { return Key{kind: kindFunc, value: value} }

// All is the combination of several keys, which must all be there: a client for each different set of values.
func All(keys ...Key) Key { return Key{kind: kindAll, of: keys} }

// First is the first of the keys that the request has: First(Header("X-API-Key"), IP()) falls back to the address.
func First(keys ...Key) Key { return Key{kind: kindFirst, of: keys} }

// Normalize returns k with f applied to each value that is text; addresses stay. It is for values that the application
// treats alike, such as e-mail addresses in any case: each spelling would be a client of its own. It runs on each
// request.
func (k Key) Normalize(f func(string) string) Key {
	if k.of != nil {
		of := make([]Key, len(k.of))
		for i, part := range k.of {
			of[i] = part.Normalize(f)
		}
		k.of = of
		return k
	}
	if before := k.mapped; before != nil {
		k.mapped = func(s string) string { return f(before(s)) }
	} else {
		k.mapped = f
	}
	return k
}

// String returns the key in the words of rule files: "ip", "header:X-Api-Key", "ip+route", "header:X-Api-Key, ip".
func (k Key) String() string {
	switch k.kind {
	case kindIP:
		if k.bits4|k.bits6 == 0 || k.bits4 == defaultBits4 && k.bits6 == defaultBits6 {
			return "ip"
		}
		return fmt.Sprintf("ip/%d/%d", k.bits4, k.bits6)
	case kindAll, kindFirst:
		names := make([]string, len(k.of))
		for i, part := range k.of {
			names[i] = part.String()
		}
		return strings.Join(names, map[byte]string{kindAll: "+", kindFirst: ", "}[k.kind])
	}
	word := map[byte]string{kindHeader: "header", kindCookie: "cookie", kindUser: "user", kindHost: "host", kindMethod: "method",
		kindRoute: "route", kindQuery: "query", kindPath: "path", kindFunc: "func", kindGlobal: "global"}[k.kind]
	if k.name != "" {
		return word + ":" + k.name
	}
	return word
}

// check returns k with defaults filled in, or an error that says what is wrong with it.
func (k Key) check() (Key, error) {
	bad := func(format string, args ...any) (Key, error) {
		return k, fmt.Errorf("%w: Key: "+format, append([]any{ratelimit.ErrInvalidConfig}, args...)...)
	}
	switch k.kind {
	case kindIP:
		if k.bits4|k.bits6 == 0 && k.value == nil && k.of == nil && k.name == "" && k.mapped == nil {
			return IP(), nil
		}
		if k.bits4 < 1 || k.bits4 > 32 {
			return bad("IPPrefix: %d bits of an IPv4 address: must be 1 to 32", k.bits4)
		}
		if k.bits6 < 1 || k.bits6 > 128 {
			return bad("IPPrefix: %d bits of an IPv6 address: must be 1 to 128", k.bits6)
		}
	case kindAll, kindFirst:
		if len(k.of) == 0 || len(k.of) > 255 {
			return bad("All and First: %d keys: must be 1 to 255", len(k.of))
		}
		of := make([]Key, len(k.of))
		for i, part := range k.of {
			var err error
			if of[i], err = part.check(); err != nil {
				return k, err
			}
		}
		k.of = of
	case kindHeader:
		if !isToken(k.name) {
			return bad("Header: %q: is no header name", k.name)
		}
	case kindCookie:
		if !isToken(k.name) {
			return bad("Cookie: %q: is no cookie name", k.name)
		}
	case kindUser, kindFunc:
		if k.value == nil {
			return bad("User and KeyFunc: nil function")
		}
	}
	return k, nil
}

// isText reports whether the key is one text.
func (k *Key) isText() bool { return k.kind != kindIP && k.kind != kindAll && k.kind != kindFirst }

// presence says what became of a key.
type presence uint8

const (
	present presence = iota
	absent
	oversize
)

// append appends the key of v's request to dst, if it is there and fits.
func (k *Key) append(dst []byte, v *visit) ([]byte, presence) {
	switch k.kind {
	case kindIP:
		return k.appendIP(dst, v)
	case kindAll:
		for i := range k.of {
			var p presence
			if dst, p = k.of[i].append(dst, v); p != present {
				return dst, p
			}
		}
		return dst, present
	case kindFirst:
		start := len(dst)
		for i := range k.of {
			// Which one it was is part of the key: two headers of one value are two clients.
			if key, p := k.of[i].append(append(dst[:start], kindFirst, byte(i)), v); p != absent {
				return key, p
			}
		}
		return dst, absent
	}
	text := k.text(v)
	if k.isCredentials() {
		text = credentials(text)
	}
	return k.appendText(dst, text, v)
}

// text returns the value of a key that is text; empty if it is missing.
func (k *Key) text(v *visit) (text string) {
	switch k.kind {
	case kindHeader:
		if lines := v.r.Header[k.name]; len(lines) > 0 {
			text = lines[0]
		}
	case kindRoute:
		if text = v.r.Pattern; text == "" && v.pattern != nil {
			text = v.pattern.String()
		}
	case kindPath:
		if v.pattern != nil && v.r.URL != nil {
			text = v.pattern.Value(k.name, v.r.URL.Path, v.r.URL.RawPath)
		}
	default:
		text = k.value(v.r)
	}
	if k.mapped != nil {
		text = k.mapped(text)
	}
	return text
}

// isCredentials reports whether the key's text is for credentials.
func (k *Key) isCredentials() bool {
	return k.kind == kindHeader && k.name == "Authorization" && k.mapped == nil
}

// credentials returns the value of an Authorization field as it is usually written (RFC 9110 11.1: a scheme in any case, at
// least one space), so that one token isn't as many clients as it can be spelled. Usually that is the value itself.
func credentials(value string) string {
	scheme, rest, ok := strings.Cut(value, " ")
	if !ok {
		return value
	}
	usual := true
	for i, c := range []byte(scheme) {
		usual = usual && (c|0x20 < 'a' || c|0x20 > 'z' || (c&0x20 == 0) == (i == 0))
	}
	if usual && rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return value
	}
	if scheme != "" {
		scheme = strings.ToUpper(scheme[:1]) + strings.ToLower(scheme[1:])
	}
	return scheme + " " + strings.TrimLeft(rest, " \t")
}

func (k *Key) appendText(dst []byte, text string, v *visit) ([]byte, presence) {
	if text == "" {
		return dst, absent
	}
	if len(text) > v.f.maxKeyLen {
		return dst, oversize // before it is copied
	}
	if len(text) > maxPlain {
		digest := sha256.Sum256(unsafe.Slice(unsafe.StringData(text), len(text)))
		return append(append(dst, kindDigest, k.kind), digest[:]...), present
	}
	dst = append(dst, k.kind)
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...), present
}

func (k *Key) appendIP(dst []byte, v *visit) ([]byte, presence) {
	if addr, ok := v.client(); ok {
		return appendAddr(dst, addr, k.bits4, k.bits6), present
	}
	// A peer that has a name but no address is that name, without port; a nameless one is nobody.
	peer := v.r.RemoteAddr
	if isUnix(peer) {
		return dst, absent
	}
	if i := strings.LastIndexByte(peer, ':'); i >= 0 && isPort(peer[i:]) {
		peer = peer[:i]
	}
	part := Key{kind: kindPeer}
	return part.appendText(dst, peer, v)
}
