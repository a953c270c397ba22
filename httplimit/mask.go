package httplimit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

// Keys for people: addresses, methods, hosts and patterns as they are; whatever may be a credential or a person, as the
// first 128 bits of an HMAC-SHA-256, under a secret of the filter's. Equal values look equal, and no value can be read
// or guessed from the text.

// mask returns a key in words, such as "ip=192.0.2.0/24 header=#9f86d081884c7d65…"; cut says that its end is missing.
func (f *Filter) mask(key []byte, cut bool) string {
	var words []string
	for len(key) > 0 {
		var word string
		if word, key = f.maskPart(key); word != "" {
			words = append(words, word)
		}
	}
	if cut {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}

var maskWords = map[byte]string{kindPeer: "peer", kindHeader: "header", kindCookie: "cookie", kindUser: "user", kindHost: "host",
	kindMethod: "method", kindRoute: "route", kindQuery: "query", kindPath: "path", kindFunc: "func", kindGlobal: "global"}

// maskPart cuts the first part from a key.
func (f *Filter) maskPart(key []byte) (word string, rest []byte) {
	if len(key) < 2 {
		return "?", nil
	}
	kind := key[0]
	switch kind {
	case kindFirst:
		return "", key[2:]
	case kindIPv4, kindIPv6:
		return maskAddr(kind, int(key[1]), key[2:])
	case kindDigest:
		digest := key[2:min(len(key), 2+sha256.Size)]
		return maskWords[key[1]] + "=#" + f.hidden(digest), key[2+len(digest):]
	}
	name, ok := maskWords[kind]
	n, used := binary.Uvarint(key[1:])
	if !ok || used <= 0 {
		return "?", nil
	}
	text := key[1+used:]
	text = text[:min(uint64(len(text)), n)]
	rest = key[1+used+len(text):]
	switch {
	case kind == kindGlobal:
		return "all", rest
	case len(text) < int(n): // its end is missing: a hash of a part would look like another's
		return name + "=…", rest
	case kind == kindMethod || kind == kindHost || kind == kindRoute || kind == kindPeer:
		return fmt.Sprintf("%s=%.64q", name, text), rest
	}
	return name + "=#" + f.hidden(text), rest
}

// hidden returns what stands for a text that must not be seen.
func (f *Filter) hidden(text []byte) string {
	mac := hmac.New(sha256.New, f.secret)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func maskAddr(kind byte, bits int, key []byte) (word string, rest []byte) {
	size := (bits + 7) / 8
	if len(key) < size {
		return "?", nil
	}
	var raw [16]byte
	copy(raw[:], key[:size])
	addr := netip.AddrFrom16(raw)
	if kind == kindIPv4 {
		addr = netip.AddrFrom4([4]byte(raw[:4]))
	}
	if bits == addr.BitLen() {
		return "ip=" + addr.String(), key[size:]
	}
	return "ip=" + netip.PrefixFrom(addr, bits).String(), key[size:]
}

// newSecret returns a secret that nobody knows; no two processes have the same.
func newSecret() []byte {
	secret := make([]byte, 32)
	rand.Read(secret) // which never fails
	return secret
}
