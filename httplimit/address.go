package httplimit

import (
	"net/netip"
	"strings"
)

// parseAddr reads an address as it stands in Request.RemoteAddr or in a forwarded header: alone, with a port
// (192.0.2.1:4711), in brackets, with a zone. Port and zone are dropped; an IPv4-mapped address is the IPv4 one, by its
// bits. Text that is well formed costs no allocation.
func parseAddr(s string) (netip.Addr, bool) {
	s = trimBlank(s)
	if s == "" {
		return netip.Addr{}, false
	}
	colon := strings.IndexByte(s, ':')
	switch {
	case s[0] == '[':
		host, port, ok := strings.Cut(s[1:], "]")
		if !ok || port != "" && !isPort(port) || colon < 0 || colon > len(host) {
			return netip.Addr{}, false
		}
		s = host
	case colon >= 0 && strings.IndexByte(s[colon+1:], ':') < 0:
		// One colon: IPv4 and a port. An IPv6 address has two at least, and needs brackets before a port.
		if !isPort(s[colon:]) {
			return netip.Addr{}, false
		}
		s, colon = s[:colon], -1
	}
	if colon >= 0 { // IPv6
		if i := strings.IndexByte(s, '%'); i >= 0 {
			s = s[:i] // before the parsing, because netip would store it for ever
		}
	}
	addr, err := netip.ParseAddr(s)
	return addr.Unmap(), err == nil
}

// trimBlank returns s without spaces and tabs at its ends.
func trimBlank(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// isPort reports whether s is a colon and a port: digits, or an obfuscated one as RFC 7239 has it (:_port).
func isPort(s string) bool {
	if len(s) < 2 || s[0] != ':' {
		return false
	}
	if s[1] == '_' {
		return true
	}
	for _, c := range []byte(s[1:]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) <= len(":65535")
}

// embedded returns the IPv4 address within an IPv6 address of a transition mechanism, so that its clients don't all
// share the mechanism's /64: NAT64's well-known prefix 64:ff9b::/96 (RFC 6052), 6to4's 2002::/16 (RFC 3056, in bits 16
// to 47) and Teredo's 2001::/32 (RFC 4380, the last 32 bits, inverted). Other addresses are returned as they are.
//
// It serves keys only. Whether an address is trusted, or on a list, is decided by the address itself: 2002:a00:1:: must
// not pass for a proxy at 10.0.0.1.
func embedded(addr netip.Addr) netip.Addr {
	if addr.Is4() {
		return addr
	}
	b := addr.As16()
	switch {
	case b[0] == 0x00 && b[1] == 0x64 && [10]byte(b[2:12]) == [10]byte{0xff, 0x9b}:
		return netip.AddrFrom4([4]byte(b[12:]))
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6]))
	case [4]byte(b[:4]) == [4]byte{0x20, 0x01}:
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
	}
	return addr
}

// appendAddr appends the key part of addr cut to bits4 or bits6: its family, the number of bits, the bytes that hold
// them. It delimits itself.
func appendAddr(dst []byte, addr netip.Addr, bits4, bits6 int) []byte {
	addr = embedded(addr)
	kind, bits, raw := byte(kindIPv6), bits6, addr.As16()
	payload := raw[:]
	if addr.Is4() {
		kind, bits, payload = kindIPv4, bits4, raw[12:]
	}
	dst = append(dst, kind, byte(bits))
	dst = append(dst, payload[:(bits+7)/8]...)
	if bits%8 != 0 {
		dst[len(dst)-1] &= 0xff << (8 - bits%8)
	}
	return dst
}
