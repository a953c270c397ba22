package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// AddrSet is a set of addresses. Its zero value is empty. It is immutable.
type AddrSet struct {
	ranges []addrRange // in order; they don't touch
}

type addrRange struct{ first, last netip.Addr }

// addrWords are the words that stand for prefixes.
var addrWords = map[string][]string{
	"loopback":  {"127.0.0.0/8", "::1/128"},
	"private":   {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"},
	"linklocal": {"169.254.0.0/16", "fe80::/10"},
}

// Contains reports whether addr is in the set. An IPv4 address mapped into IPv6 is the IPv4 address; a zone is ignored.
// It allocates nothing.
func (s *AddrSet) Contains(addr netip.Addr) bool {
	if len(s.ranges) == 0 {
		return false
	}
	addr = addr.Unmap().WithZone("")
	low, high := 0, len(s.ranges)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if s.ranges[middle].last.Less(addr) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low < len(s.ranges) && !addr.Less(s.ranges[low].first)
}

// Empty reports whether no address is in the set.
func (s *AddrSet) Empty() bool { return len(s.ranges) == 0 }

// NewAddrSet returns the union of the prefixes. One within ::ffff:0:0/96 is the IPv4 prefix that it maps. One that isn't
// valid is an error that wraps ErrValue.
func NewAddrSet(prefixes []netip.Prefix) (AddrSet, error) {
	ranges := make([]addrRange, len(prefixes))
	for i, p := range prefixes {
		if !p.IsValid() {
			return AddrSet{}, fmt.Errorf("%w: prefix %d of %d isn't valid", ErrValue, i+1, len(prefixes))
		}
		p = unmapPrefix(p.Masked())
		ranges[i] = addrRange{p.Addr(), lastOf(p)}
	}
	slices.SortFunc(ranges, func(a, b addrRange) int { return a.first.Compare(b.first) })
	var merged []addrRange
	for _, r := range ranges {
		if top := len(merged) - 1; top >= 0 && !merged[top].apart(r) {
			if merged[top].last.Less(r.last) {
				merged[top].last = r.last
			}
			continue
		}
		merged = append(merged, r)
	}
	return AddrSet{merged}, nil
}

// apart reports whether there is an address between r and the later s.
func (r addrRange) apart(s addrRange) bool {
	next := r.last.Next()
	if !next.IsValid() { // r goes to the end of its family
		return s.first.BitLen() != r.last.BitLen()
	}
	return next.Less(s.first)
}

func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// Everybody reports whether the set has every address of a family.
func (s *AddrSet) Everybody() bool { return s.everybody() != "" }

// everybody returns the name of a family of which the set has every address; empty if there is none.
func (s *AddrSet) everybody() string {
	for _, r := range s.ranges {
		switch {
		case r.first == netip.IPv4Unspecified() && !r.last.Next().IsValid():
			return "every IPv4 address"
		case r.first == netip.IPv6Unspecified() && !r.last.Next().IsValid():
			return "every IPv6 address"
		}
	}
	return ""
}

func unmapPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// ParsePrefixes reads addresses ("192.0.2.1"), prefixes ("2001:db8::/32") and the words loopback, private and
// linklocal. A prefix with bits beyond its length is a typing error. The error wraps ErrValue and shows the text.
func ParsePrefixes(texts ...string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		prefixes, err := parseAddrs(text)
		if err != nil {
			return nil, err
		}
		all = append(all, prefixes...)
	}
	return all, nil
}

func parseAddrs(s string) ([]netip.Prefix, error) {
	s = strings.TrimSpace(s)
	if prefixes, ok := addrWords[s]; ok {
		list := make([]netip.Prefix, len(prefixes))
		for i, text := range prefixes {
			list[i] = netip.MustParsePrefix(text)
		}
		return list, nil
	}
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return []netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}, nil
	}
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: want an address, a prefix such as 10.0.0.0/8, loopback, private or linklocal",
			ErrValue, quote(s))
	}
	if masked := prefix.Masked(); masked != prefix {
		return nil, fmt.Errorf("%w: %s has bits beyond its length: did you mean %s?", ErrValue, quote(s), masked)
	}
	return []netip.Prefix{unmapPrefix(prefix)}, nil
}
