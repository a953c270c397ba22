package httplimit

import (
	"fmt"
	"net/netip"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// List is a list of clients, by address or by what they send. The zero value is empty.
type List struct {
	// Prefixes are the addresses on the list; see rules.ParsePrefixes. They are compared with the client's address as
	// Config.Proxies finds it.
	Prefixes []netip.Prefix
	// Key and Values are further clients: those whose Key has one of the Values. Key is Header, Cookie, User or another
	// that is one text. What nobody has verified, anybody can send.
	Key    Key
	Values []string
}

// clients is a checked list.
type clients struct {
	addrs func(netip.Addr) bool
	keys  []Key
	has   func(i int, value string) bool // whether the list has this value of keys[i]
}

func (l List) compile(name string, everybody bool) (*clients, error) {
	if len(l.Prefixes) == 0 && len(l.Values) == 0 {
		return nil, nil
	}
	set, err := rules.NewAddrSet(l.Prefixes)
	if err != nil {
		return nil, fmt.Errorf("%w: %s.Prefixes: %w", ratelimit.ErrInvalidConfig, name, err)
	}
	if set.Everybody() && !everybody {
		return nil, fmt.Errorf("%w: %s.Prefixes: %v: is everybody, so that no rule would limit anybody", ratelimit.ErrInvalidConfig, name, l.Prefixes)
	}
	c := &clients{addrs: set.Contains}
	if len(l.Values) == 0 {
		return c, nil
	}
	key, err := l.Key.check()
	if err != nil {
		return nil, fmt.Errorf("%s.%w", name, err)
	}
	if !key.isText() {
		return nil, fmt.Errorf("%w: %s.Key: %v: is not one text; addresses go to Prefixes", ratelimit.ErrInvalidConfig, name, key)
	}
	values := make(map[string]bool, len(l.Values))
	for _, v := range l.Values {
		values[v] = v != ""
	}
	c.keys = []Key{key}
	c.has = func(_ int, value string) bool { return values[value] }
	return c, nil
}

// includes reports whether the client of v is on the list.
func (c *clients) includes(v *visit) bool {
	if addr, ok := v.client(); ok && c.addrs(addr) {
		return true
	}
	for i := range c.keys {
		k := &c.keys[i]
		if text := k.text(v); text != "" && (c.has(i, text) || k.isCredentials() && c.has(i, credentials(text))) {
			return true
		}
	}
	return false
}
