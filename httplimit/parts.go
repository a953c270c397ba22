package httplimit

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// sources are what the program knows of a request and a rule file can only name.
type sources struct {
	user  func(*http.Request) string
	funcs map[string]func(*http.Request) string
}

// key returns the Key that a rule of a Store counts by.
func (s *sources) key(k rules.Key) (Key, error) {
	var alternatives []Key
	for _, parts := range k.Alternatives {
		var all []Key
		for _, p := range parts {
			key, err := s.part(p)
			if err != nil {
				return Key{}, err
			}
			all = append(all, key)
		}
		alternatives = append(alternatives, oneOr(all, All))
	}
	return oneOr(alternatives, First), nil
}

// oneOr returns the one key, or what join makes of several.
func oneOr(keys []Key, join func(...Key) Key) Key {
	if len(keys) == 1 {
		return keys[0]
	}
	return join(keys...)
}

func (s *sources) part(p rules.Part) (Key, error) {
	switch p.Kind {
	case rules.IP:
		return IPPrefix(int(p.V4), int(p.V6)), nil
	case rules.Header:
		return Header(p.Name), nil
	case rules.Cookie:
		return Cookie(p.Name), nil
	case rules.Query:
		return Query(p.Name), nil
	case rules.User:
		return User(s.user), nil
	case rules.Host:
		return Host(), nil
	case rules.Method:
		return Method(), nil
	case rules.Route:
		return Route(), nil
	case rules.Path:
		return Key{kind: kindPath, name: p.Name}, nil
	case rules.Global:
		return Global(), nil
	case rules.Func:
		if f := s.funcs[p.Name]; f != nil {
			k := KeyFunc(f)
			k.name = p.Name
			return k, nil
		}
		return Key{}, fmt.Errorf("%w: Funcs: %q: the rules name it, and it isn't there", ratelimit.ErrInvalidConfig, p.Name)
	}
	return Key{}, fmt.Errorf("%w: key part %v: unknown to this filter", ratelimit.ErrInvalidConfig, p)
}

// basicUser is the user's name of HTTP's Basic authentication, which nobody has verified here.
func basicUser(r *http.Request) string {
	name, _, _ := r.BasicAuth()
	return name
}

// queryValue returns the value of the first parameter of that name in the query, without parsing all of it. As net/url
// does, and so a ReverseProxy before it passes a query on, it leaves out what is malformed or has a semicolon: a value
// there would be one that the handler doesn't see.
func queryValue(r *http.Request, name string) string {
	if r.URL == nil {
		return ""
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if key, err := url.QueryUnescape(key); err != nil || key != name || strings.Contains(pair, ";") {
			continue
		}
		if value, err := url.QueryUnescape(value); err == nil {
			return value
		}
	}
	return ""
}
