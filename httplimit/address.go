package httplimit

import (
	"net/netip"
	"strings"
)

// parseAddr reads an address as it stands in Request.RemoteAddr or in a forwarded header: alone, with a port
// (192.0.2.1:4711), in brackets, with a zone. Port and zone are dropped; an IPv4-mapped address is the IPv4 one, by its
// bits. Text that is well formed costs no allocation.
func parseAddr(s string) (netip.Addr, bool) {
	if addr, ok := parseIPv4Port(s); ok {
		return addr, true
	}
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

// parseIPv4Port reads what most RemoteAddrs are, an IPv4 address and a port, in one pass: a third of parseAddr's time.
// Anything else, and anything in doubt, is not ok.
func parseIPv4Port(s string) (netip.Addr, bool) {
	var octets [4]byte
	i := 0
	for k := range octets {
		n, start := 0, i
		for ; i < len(s) && i-start < 3 && s[i]-'0' <= 9; i++ {
			n = n*10 + int(s[i]-'0')
		}
		end := byte('.')
		if k == 3 {
			end = ':'
		}
		if i == start || n > 255 || i-start > 1 && s[start] == '0' || i == len(s) || s[i] != end {
			return netip.Addr{}, false
		}
		octets[k] = byte(n)
		i++
	}
	if !isPort(s[i-1:]) {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4(octets), true
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

// embedded returns the IPv4 address within addr, an IPv6 address of a transition mechanism, so that its clients don't all
// share the mechanism's /64: NAT64's well-known prefix 64:ff9b::/96 (RFC 6052), 6to4's 2002::/16 (RFC 3056, in bits 16
// to 47) and Teredo's 2001::/32 (RFC 4380, the last 32 bits, inverted). Other addresses are returned as they are.
//
// It serves keys only. Whether an address is trusted, or on a list, is decided by the address itself: 2002:a00:1:: must
// not pass for a proxy at 10.0.0.1.
func embedded(addr netip.Addr) netip.Addr {
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
	if !addr.Is4() {
		addr = embedded(addr)
	}
	if addr.Is4() {
		raw := addr.As4()
		return appendBits(append(dst, kindIPv4, byte(bits4)), raw[:], bits4)
	}
	raw := addr.As16()
	return appendBits(append(dst, kindIPv6, byte(bits6)), raw[:], bits6)
}

// appendBits appends the first bits of raw, filled up with zeros to a byte.
func appendBits(dst, raw []byte, bits int) []byte {
	dst = append(dst, raw[:(bits+7)/8]...)
	if bits%8 != 0 {
		dst[len(dst)-1] &= 0xff << (8 - bits%8)
	}
	return dst
}
