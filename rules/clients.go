package rules

import (
	"net/netip"
	"slices"
	"strings"
)

// Proxies says whose word about a client's address is taken.
type Proxies struct {
	Trusted AddrSet // empty: nobody's; then a client is its TCP peer
	Unix    bool    // peers on a Unix socket are trusted too
	Source  Source
	Header  string // SourceHeader: its name, in canonical form
}

// Source is the header in which trusted proxies write a client's address.
type Source uint8

const (
	SourceXForwardedFor Source = iota // X-Forwarded-For
	SourceForwarded                   // Forwarded, RFC 7239
	SourceHeader                      // a header with a single address
)

// The widest prefixes that can be trusted: wider ones are no network that anybody runs.
const (
	widestV4 = 8
	widestV6 = 7
)

func compileProxies(spec ProxiesSpec, ps *problems) *Proxies {
	p := &Proxies{}
	wide := false
	var prefixes []netip.Prefix
	for i, text := range spec.Trusted {
		path := index("proxies.trusted", i)
		if text == "unix" {
			p.Unix = true
			continue
		}
		parsed, err := parseAddrs(text)
		if err != nil {
			ps.add(path, ErrValue, "%s", detail(err, ErrValue))
			continue
		}
		for _, prefix := range parsed {
			if widest := widestOf(prefix); prefix.Bits() < widest {
				wide = true
				ps.add(path, ErrTrust,
					"%s: whoever comes from there could claim to be any client: trust the proxies' own addresses (nothing wider than /%d)", prefix, widest)
			}
		}
		prefixes = append(prefixes, parsed...)
	}
	p.Trusted, _ = NewAddrSet(prefixes) // they are valid, having been parsed
	if all := p.Trusted.everybody(); all != "" && !wide {
		ps.add("proxies.trusted", ErrTrust, "together these are %s: any client could claim to be any other", all)
	}
	if spec.Source != "" && len(spec.Trusted) == 0 {
		ps.add("proxies.source", ErrRequired,
			"%s is never read, as nobody is trusted to write it: list the proxies under trusted", quote(spec.Source))
	}
	p.Source, p.Header = compileSource(spec.Source, ps)
	return p
}

func widestOf(p netip.Prefix) int {
	if p.Addr().Is4() {
		return widestV4
	}
	return widestV6
}

func compileSource(text string, ps *problems) (Source, string) {
	switch lower := strings.ToLower(text); lower {
	case "", "x-forwarded-for", "header:x-forwarded-for":
		return SourceXForwardedFor, ""
	case "forwarded", "header:forwarded":
		return SourceForwarded, ""
	}
	part, err := ParsePart(text)
	if err != nil || part.Kind != Header {
		ps.add("proxies.source", ErrValue, "%s: want x-forwarded-for, forwarded or header:NAME", quote(text))
	}
	return SourceHeader, part.Name
}

// ClientList is a list of clients, by address or by what they send. Its zero value is empty. It is immutable.
type ClientList struct {
	addrs  AddrSet
	parts  []Part
	values []map[string]struct{} // of the part with the same index
}

// Empty reports whether nobody is on the list.
func (l *ClientList) Empty() bool { return l.addrs.Empty() && len(l.parts) == 0 }

// Addr reports whether the list has the address.
func (l *ClientList) Addr(addr netip.Addr) bool { return l.addrs.Contains(addr) }

// Parts returns the parts of a request that the list has values of. The caller must not change it.
func (l *ClientList) Parts() []Part { return l.parts }

// Has reports whether the list has the value of Parts()[i].
func (l *ClientList) Has(i int, value string) bool {
	_, ok := l.values[i][value]
	return ok
}

// compileClients reads an allow or block list, which field names.
func compileClients(field string, list List, ps *problems) *ClientList {
	l := &ClientList{}
	var prefixes []netip.Prefix
	seen := map[string]bool{}
	for i, text := range list {
		path := index(field, i)
		if seen[text] {
			ps.add(path, ErrDuplicate, "%s stands twice", masked(text))
		}
		seen[text] = true
		if part, value, ok := strings.Cut(text, "="); ok {
			l.addValue(path, part, value, ps)
		} else if parsed, err := parseAddrs(text); err != nil {
			ps.add(path, ErrValue, "%s, or a key and its value such as header:X-API-Key=k-1", detail(err, ErrValue))
		} else {
			prefixes = append(prefixes, parsed...)
		}
	}
	l.addrs, _ = NewAddrSet(prefixes) // they are valid, having been parsed
	return l
}

func (l *ClientList) addValue(path, text, value string, ps *problems) {
	part, err := ParsePart(text)
	switch {
	case err != nil:
		ps.add(path, ErrKey, "%s", detail(err, ErrKey))
		return
	case part.Kind == IP:
		ps.add(path, ErrKey, "%s: write the address or prefix alone", masked(text+"="+value))
		return
	case part.Kind != Host && !part.Optional():
		ps.add(path, ErrKey, "%s: a client isn't known by its %s", masked(text+"="+value), part.Kind)
		return
	case value == "":
		ps.add(path, ErrKey, "%s has no value", text)
		return
	}
	i := slices.Index(l.parts, part)
	if i < 0 {
		i = len(l.parts)
		l.parts = append(l.parts, part)
		l.values = append(l.values, map[string]struct{}{})
	}
	l.values[i][value] = struct{}{}
}

// masked shows an entry without the value of its key, which may be a credential.
func masked(entry string) string {
	if key, _, ok := strings.Cut(entry, "="); ok {
		return quote(key + "=…")
	}
	return quote(entry)
}

// checkAllow finds what can't be meant: allowing everybody, or blocking whom the same words allow.
func checkAllow(allow *ClientList, spec *Spec, ps *problems) {
	if all := allow.addrs.everybody(); all != "" {
		ps.add("allow", ErrTrust, "together these are %s: no rule would limit anybody", all)
	}
	for i, text := range spec.Block {
		if slices.Contains(spec.Allow, text) {
			ps.add(index("block", i), ErrConflict, "%s is allowed too, and allow is looked at first", masked(text))
		}
	}
}
