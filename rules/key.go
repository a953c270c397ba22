package rules

import (
	"fmt"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// PartKind says what a part of a key is taken from.
type PartKind uint8

const (
	IP     PartKind = iota + 1 // the client's address, cut to a prefix
	Header                     // a request header
	Cookie                     // a cookie
	Query                      // a parameter of the URL's query
	User                       // the user, as the program knows them
	Host                       // the host that the request names
	Method                     // the method
	Route                      // the pattern that the request matched, not its path
	Path                       // what a wildcard of the rule's pattern stands for
	Func                       // what a function of the program returns
	Global                     // one key for all requests
)

var kindNames = [...]string{IP: "ip", Header: "header", Cookie: "cookie", Query: "query", User: "user", Host: "host",
	Method: "method", Route: "route", Path: "path", Func: "func", Global: "global"}

// String returns the word used in rule files.
func (k PartKind) String() string {
	if k >= IP && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("PartKind(%d)", uint8(k))
}

// named reports whether a part of this kind has a name.
func (k PartKind) named() bool {
	return k == Header || k == Cookie || k == Query || k == Path || k == Func
}

// The prefixes that a client's address is cut to unless the key says otherwise: an IPv4 address is one client, an IPv6
// client owns a /64.
const (
	DefaultV4 = 32
	DefaultV6 = 64
)

// Part is one part of a key. Equal parts are ==.
type Part struct {
	Kind PartKind
	Name string // of the header (in its canonical form), cookie, parameter, wildcard or function
	V4   uint8  // IP only: bits of an IPv4 address that count
	V6   uint8  // IP only: bits of an IPv6 address that count
}

// ParsePart reads one part: "ip", "ip/56" (IPv6 by its first 56 bits), "ip/24/56" (and IPv4 by its first 24),
// "header:X-API-Key", "cookie:sid", "query:token", "user", "host", "method", "route", "path:tenant", "func:tenant",
// "global". The error wraps ErrKey.
func ParsePart(s string) (Part, error) {
	if bits, ok := strings.CutPrefix(s, "ip/"); ok {
		return parsePrefixes(s, bits)
	}
	word, name, colon := strings.Cut(s, ":")
	kind := PartKind(max(slices.Index(kindNames[:], word), 0))
	switch {
	case kind < IP:
		return Part{}, keyError("%s: want one of %s", quote(s), strings.Join(kindNames[IP:], ", "))
	case kind.named() && name == "":
		return Part{}, keyError("%s: want %s:NAME", quote(s), word)
	case colon && !kind.named():
		return Part{}, keyError("%s: %s has no name", quote(s), word)
	}
	if !validPartName(kind, name) {
		return Part{}, keyError("%s: not the name of a %s", quote(s), word)
	}
	part := Part{Kind: kind, Name: name}
	switch kind {
	case IP:
		part.V4, part.V6 = DefaultV4, DefaultV6
	case Header:
		part.Name = textproto.CanonicalMIMEHeaderKey(name)
	}
	return part, nil
}

// parsePrefixes reads what follows "ip/": V6, or V4/V6.
func parsePrefixes(s, bits string) (Part, error) {
	part := Part{Kind: IP, V4: DefaultV4}
	v4, v6, both := strings.Cut(bits, "/")
	if !both {
		v4, v6 = strconv.Itoa(DefaultV4), bits
	}
	var ok4, ok6 bool
	part.V4, ok4 = parseBits(v4, 32)
	part.V6, ok6 = parseBits(v6, 128)
	if !ok4 || !ok6 {
		return Part{}, keyError("%s: want ip/V6 or ip/V4/V6, with V4 from 1 to 32 and V6 from 1 to 128", quote(s))
	}
	return part, nil
}

func parseBits(s string, most uint64) (uint8, bool) {
	bits, err := strconv.ParseUint(s, 10, 8)
	return uint8(bits), err == nil && 1 <= bits && bits <= most
}

func validPartName(kind PartKind, name string) bool {
	switch kind {
	case Header, Cookie:
		return isToken(name)
	case Path:
		return isIdentifier(name)
	case Func:
		return isName(name)
	}
	return true
}

// String returns the part as ParsePart reads it, in its shortest form.
func (p Part) String() string {
	switch {
	case p.Kind.named():
		return p.Kind.String() + ":" + p.Name
	case p.Kind != IP || p.V4 == DefaultV4 && p.V6 == DefaultV6:
		return p.Kind.String()
	case p.V4 == DefaultV4:
		return fmt.Sprintf("ip/%d", p.V6)
	}
	return fmt.Sprintf("ip/%d/%d", p.V4, p.V6)
}

// Optional reports whether a request can lack this part whoever sends it. (A few lack others too: an address, over a
// Unix socket; a host, in HTTP/1.0.)
func (p Part) Optional() bool {
	switch p.Kind {
	case Header, Cookie, Query, User, Func:
		return true
	}
	return false
}

// Key is what a rule counts by: alternatives, of which the first that a request has all parts of is its key.
type Key struct {
	Alternatives [][]Part
	text         string
}

// String returns the key as one text, the same for keys that mean the same: "header:X-Api-Key, ip+route".
func (k Key) String() string { return k.text }

// ParseKey reads a rule's key: each text is an alternative, a part or several with "+" between. An alternative that
// appears twice, or after one that is always there, is an error, as it would never be used. The error wraps ErrKey.
func ParseKey(texts ...string) (Key, error) {
	var key Key
	var alternatives []string
	for i, text := range texts {
		if i > 0 && !optional(key.Alternatives[i-1]) {
			return Key{}, keyError("%s is never used: %s, before it, is always there", quote(text), alternatives[i-1])
		}
		parts, err := parseAlternative(text)
		if err != nil {
			return Key{}, err
		}
		canonical := joinParts(parts)
		if slices.Contains(alternatives, canonical) {
			return Key{}, keyError("%s stands twice", canonical)
		}
		key.Alternatives = append(key.Alternatives, parts)
		alternatives = append(alternatives, canonical)
	}
	key.text = strings.Join(alternatives, ", ")
	return key, nil
}

func parseAlternative(text string) ([]Part, error) {
	var parts []Part
	for word := range strings.SplitSeq(text, "+") {
		part, err := ParsePart(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		if slices.Contains(parts, part) {
			return nil, keyError("%s: %s stands twice", quote(text), part)
		}
		parts = append(parts, part)
	}
	if len(parts) > 1 && slices.Contains(parts, Part{Kind: Global}) {
		return nil, keyError("%s: global is one key for all, and can't be joined", quote(text))
	}
	return parts, nil
}

func joinParts(parts []Part) string {
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = part.String()
	}
	return strings.Join(words, "+")
}

// optional reports whether a request can lack one of the parts.
func optional(parts []Part) bool { return slices.ContainsFunc(parts, Part.Optional) }

// canBeMissing reports whether a request can lack every alternative.
func (k Key) canBeMissing() bool {
	return !slices.ContainsFunc(k.Alternatives, func(parts []Part) bool { return !optional(parts) })
}

func keyError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrKey, fmt.Sprintf(format, args...))
}

// isToken reports whether s is a token of RFC 9110: the name of a method, a header or a cookie.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c >= unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

// isIdentifier reports whether s is an identifier of Go, as a wildcard's name must be.
func isIdentifier(s string) bool {
	for i, c := range s {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	return s != ""
}

const nameForm = "a letter, then letters, digits, _ . or -, at most 64 in all"

// isName reports whether s can name a rule, plan, layer or function: it fits a header's key and a metric's label.
func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '_' || c == '.' || c == '-')) {
			return false
		}
	}
	return 1 <= len(s) && len(s) <= 64
}
