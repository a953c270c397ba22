package httplimit

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"strings"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// Proxies says whose word about a client's address is believed. The zero value believes nobody: the client is the TCP
// peer, whatever its headers say.
//
// With trusted proxies, the client is found by walking the forwarded header from its end, over all of its lines: the
// peer is the first hop and must itself be trusted; the walk stops at the first hop that isn't, and that is the client.
// If all are trusted, it is the farthest. A hop that is no address ends the walk at the one before it. So what a client
// writes into the header itself is never reached.
type Proxies struct {
	// Trusted are the addresses of your own proxies, and no others; see rules.ParsePrefixes. Whoever has such an address
	// can choose its key, so a list that covers all of IPv4 or IPv6 is an error.
	Trusted []netip.Prefix
	// Unix trusts peers that have no IP address: a proxy that connects through a Unix socket.
	Unix bool
	// Header is the field that the proxies write. Empty: X-Forwarded-For. "Forwarded" is read as RFC 7239 has it. Any
	// other, such as CF-Connecting-IP or X-Real-IP, holds one address; it must be one that your proxies overwrite, for
	// otherwise clients write it. Several lines of it, or no address in it: the peer.
	Header string
}

// zero reports whether p is the zero value.
func (p Proxies) zero() bool { return len(p.Trusted) == 0 && !p.Unix && p.Header == "" }

func (p Proxies) compile() (*rules.Proxies, error) {
	set, err := rules.NewAddrSet(p.Trusted)
	if err != nil {
		return nil, fmt.Errorf("%w: Proxies.Trusted: %w", ratelimit.ErrInvalidConfig, err)
	}
	if set.Everybody() {
		return nil, fmt.Errorf("%w: Proxies.Trusted: %v: trusts everybody, so that clients choose their own addresses; name your proxies",
			ratelimit.ErrInvalidConfig, p.Trusted)
	}
	c := &rules.Proxies{Trusted: set, Unix: p.Unix}
	switch name := textproto.CanonicalMIMEHeaderKey(p.Header); name {
	case "", fieldForwardedFor:
	case fieldForwarded:
		c.Source = rules.SourceForwarded
	default:
		if !isToken(name) {
			return nil, fmt.Errorf("%w: Proxies.Header: %q: is no header name", ratelimit.ErrInvalidConfig, p.Header)
		}
		c.Source, c.Header = rules.SourceHeader, name
	}
	return c, nil
}

const (
	fieldForwardedFor = "X-Forwarded-For"
	fieldForwarded    = "Forwarded"
)

// clientAddr returns the address of the client of r; false if nobody who is believed names one, and the peer has none.
func clientAddr(p *rules.Proxies, r *http.Request) (netip.Addr, bool) {
	hop, ok := parseAddr(r.RemoteAddr)
	if p.Trusted.Empty() && !p.Unix || !trusts(p, r, hop, ok) {
		return hop, ok
	}
	var lines []string
	cut := lastElement
	switch p.Source {
	case rules.SourceHeader:
		if lines = r.Header[p.Header]; len(lines) == 1 {
			if addr, good := parseAddr(lines[0]); good {
				return addr, true
			}
		}
		return hop, ok
	case rules.SourceForwarded:
		lines, cut = r.Header[fieldForwarded], lastForwarded
	default:
		lines = r.Header[fieldForwardedFor]
	}
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			var text string
			text, rest, more = cut(rest)
			if text == "" {
				continue // an empty element of a list means nothing (RFC 9110 5.6.1)
			}
			addr, good := parseAddr(text)
			if !good {
				return hop, ok
			}
			hop, ok = addr, true
			if !p.Trusted.Contains(addr) {
				return hop, true
			}
		}
	}
	return hop, ok
}

// trusts reports whether the peer of r is a proxy whose word counts; peer is its address, if it is ok.
func trusts(p *rules.Proxies, r *http.Request, peer netip.Addr, ok bool) bool {
	if ok {
		return p.Trusted.Contains(peer)
	}
	return p.Unix && isUnix(r.RemoteAddr)
}

// lastElement cuts the last element from a line that is a list.
func lastElement(line string) (element, rest string, more bool) {
	i := strings.LastIndexByte(line, ',')
	return trimBlank(line[i+1:]), line[:max(i, 0)], i >= 0
}

// isUnix reports whether addr is what net/http calls a peer on a Unix socket: its path, usually none.
func isUnix(addr string) bool {
	return addr == "" || addr[0] == '@' || addr[0] == '/'
}

// isToken reports whether s is a token, as header names are (RFC 9110 5.6.2).
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
