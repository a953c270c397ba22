package rules

import (
	"net/url"
	"path"
	"strings"
)

// target is the path of a request, ready to be walked: it begins with a slash and is clean.
type target struct {
	path string
	// encoded: the path is still percent-encoded, as it has a slash that is part of a segment (%2F); see separated.
	// Otherwise it is decoded as a whole, which comes to the same and costs nothing.
	encoded bool
}

// newTarget prepares a path from a url.URL's Path and RawPath. An encoded dot counts as a dot (RFC 3986, 6.2.2.2), so
// that /a/%2e%2e/login is /login, as most servers see it. It allocates for unclean paths only.
func newTarget(decoded, raw string) target {
	if raw == "" || !hasEncodedSlash(raw) || !decodesTo(raw, decoded) {
		return target{path: cleanPath(decoded)}
	}
	raw = strings.ReplaceAll(strings.ReplaceAll(raw, "%2e", "."), "%2E", ".")
	return target{path: cleanPath(raw), encoded: true}
}

// separated is the other reading of an encoded path: its encoded slashes separate segments as the others do.
func separated(decoded string) target { return target{path: cleanPath(decoded)} }

func hasEncodedSlash(raw string) bool {
	return strings.Contains(raw, "%2F") || strings.Contains(raw, "%2f")
}

// decodesTo reports whether raw is an encoding of decoded: a RawPath that somebody has left behind isn't.
func decodesTo(raw, decoded string) bool {
	text, err := url.PathUnescape(raw)
	return err == nil && text == decoded
}

// cleanPath returns p with a slash before it and without empty, "." and ".." segments; a slash at its end stays.
func cleanPath(p string) string {
	if isClean(p) {
		return p
	}
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// isClean may say no for a clean path with a segment that begins with a dot; that costs a second look.
func isClean(p string) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	for i := 1; i < len(p); i++ {
		if p[i-1] == '/' && (p[i] == '/' || p[i] == '.') {
			return false
		}
	}
	return true
}

// cutSegment splits what follows a slash: "/a/b" is "a" and "/b".
func (t *target) cutSegment(rest string) (segment, tail string) {
	rest = rest[1:]
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		rest, tail = rest[:i], rest[i:]
	}
	if t.encoded {
		rest = unescape(rest)
	}
	return rest, tail
}

func unescape(s string) string {
	if text, err := url.PathUnescape(s); err == nil {
		return text
	}
	return s
}

// canonicalHost returns a request's host as patterns have it: in small letters, without port, brackets and the dot at
// the end. It allocates only if there are capitals.
func canonicalHost(host string) string {
	name, _ := cutPort(host)
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// cutPort cuts a port and the brackets of an IPv6 address off.
func cutPort(host string) (name string, port bool) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		name, after, _ := strings.Cut(inner, "]")
		return name, after != ""
	}
	name, after, port := strings.Cut(host, ":")
	if port && strings.Contains(after, ":") { // an IPv6 address without brackets
		return host, false
	}
	return name, port
}

// Value returns what the wildcard called name stands for in a request that matched p, decoded. It is empty if there is
// no such wildcard, or nothing where {name...} stands.
//
// If p matches both readings of an encoded slash, the one counts in which it separates: /t/{tenant}/x/{rest...} has acme
// in /t/acme%2Fx%2F1/x/, where a server that decodes first sees acme, too. In the other reading there would be as many
// tenants as one can write.
func (p *Pattern) Value(name, path, rawPath string) string {
	t := newTarget(path, rawPath)
	if t.encoded {
		if other := separated(path); p.matches(other) {
			t = other
		}
	}
	rest := t.path
	for _, s := range p.segments {
		if len(rest) < 2 {
			return ""
		}
		text, tail := t.cutSegment(rest)
		if s.wild && s.text == name {
			return text
		}
		rest = tail
	}
	if name != p.rest || name == "" || rest == "" {
		return ""
	}
	if t.encoded {
		return unescape(rest[1:])
	}
	return rest[1:]
}

// hasWildcard reports whether Value knows name, and whether that can be nothing.
func (p *Pattern) hasWildcard(name string) (ok, canBeEmpty bool) {
	for _, s := range p.segments {
		if s.wild && s.text == name {
			return true, false
		}
	}
	return name == p.rest, true
}

// Matches reports whether p alone matches a request, however many other patterns do; see Set.Match for the arguments.
func (p *Pattern) Matches(method, host, path, rawPath string) bool {
	method = strings.ToUpper(method)
	if p.method != "" && p.method != method && !(p.method == "GET" && method == "HEAD") {
		return false
	}
	if p.host != "" && p.host != canonicalHost(host) {
		return false
	}
	t := newTarget(path, rawPath)
	return p.matches(t) || t.encoded && p.matches(separated(path))
}

// matches reports whether p's path is that of t.
func (p *Pattern) matches(t target) bool {
	rest := t.path
	for _, s := range p.segments {
		if len(rest) < 2 {
			return false
		}
		text, tail := t.cutSegment(rest)
		if !s.wild && s.text != text {
			return false
		}
		rest = tail
	}
	switch p.tail {
	case tailNone:
		return rest == ""
	case tailSlash:
		return len(rest) <= 1
	}
	return true
}
