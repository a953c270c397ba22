package rules

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Pattern is one of a rule's patterns: "[METHOD ][HOST]/[PATH]", as http.ServeMux has them since Go 1.22.
type Pattern struct {
	text     string
	method   string // empty: any; GET is HEAD too
	host     string // empty: any; lower case, without a port
	segments []segment
	tail     tail
	rest     string // the name of {name...}, if the tail has one
}

// segment is one step of a pattern's path: a literal, decoded, or the name of a wildcard, which stands for exactly one
// step.
type segment struct {
	text string
	wild bool
}

// tail is how a pattern's path ends, after its segments.
type tail uint8

const (
	tailNone  tail = iota // there: /a
	tailSlash             // with one more slash: /a/{$}
	tailRest              // with a slash and whatever follows: /a/ or /a/{rest...}
)

// everything is the pattern of a rule that has none.
var everything = &Pattern{text: "/", tail: tailRest}

// String returns the pattern as it was written, with one space after the method.
func (p *Pattern) String() string { return p.text }

// general reports whether p matches every request.
func (p *Pattern) general() bool {
	return p.method == "" && p.host == "" && len(p.segments) == 0 && p.tail == tailRest
}

// Method returns the pattern's method; empty: any. GET is HEAD too.
func (p *Pattern) Method() string { return p.method }

// Host returns the pattern's host, in small letters; empty: any.
func (p *Pattern) Host() string { return p.host }

// ParsePattern reads a pattern. Besides malformed ones it refuses those that no request can match: an unclean path, a
// method in small letters, a host with a port, a query. The error wraps ErrPattern.
func ParsePattern(s string) (*Pattern, error) {
	method, rest, found := strings.Cut(strings.TrimSpace(s), " ")
	if !found {
		method, rest = "", method
	}
	rest = strings.TrimLeft(rest, " \t")
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return nil, patternError(s, "has no /: want [METHOD ][HOST]/[PATH]")
	}
	p := &Pattern{text: rest, method: method, host: rest[:slash]}
	if found {
		p.text = method + " " + rest
	}
	if err := p.checkMethod(); err != "" {
		return nil, patternError(s, err)
	}
	if err := p.normalizeHost(); err != "" {
		return nil, patternError(s, err)
	}
	if err := p.parsePath(rest[slash:]); err != "" {
		return nil, patternError(s, err)
	}
	return p, nil
}

func patternError(s, what string) error { return fmt.Errorf("%w: %s %s", ErrPattern, quote(s), what) }

func (p *Pattern) checkMethod() string {
	switch {
	case p.method == "":
		return ""
	case !isToken(p.method):
		return fmt.Sprintf("has a bad method, %s", quote(p.method))
	case p.method != strings.ToUpper(p.method):
		return fmt.Sprintf("never matches: methods are written in capitals, %s", strings.ToUpper(p.method))
	}
	return ""
}

func (p *Pattern) normalizeHost() string {
	switch _, port := cutPort(p.host); {
	case strings.HasSuffix(p.host, ":") && strings.Contains(p.text, "://"):
		return "never matches: a pattern has no scheme"
	case strings.ContainsAny(p.host, "{}*"):
		return "has a wildcard in its host: hosts are matched as a whole"
	case strings.ContainsAny(p.host, " \t?#%@"):
		return fmt.Sprintf("has a bad host, %s", quote(p.host))
	case port:
		return "never matches: a request's port is cut off before its host is looked at"
	}
	p.host = canonicalHost(p.host)
	return ""
}

// parsePath splits the path, which begins with a slash, into segments and tail.
func (p *Pattern) parsePath(path string) string {
	if path != cleanPath(path) {
		return fmt.Sprintf("never matches: paths are cleaned before they are looked at, to %s", cleanPath(path))
	}
	if strings.ContainsAny(path, "?#") {
		return "never matches: a query or fragment is no part of a path (a literal one is written %3F or %23)"
	}
	var names []string
	for {
		step, rest, more := strings.Cut(path[1:], "/")
		if step == "" {
			p.tail = tailRest
			return ""
		}
		if !strings.Contains(step, "{") {
			literal, err := url.PathUnescape(step)
			if err != nil || literal == "." || literal == ".." {
				return fmt.Sprintf("never matches: no path has the segment %s", quote(step))
			}
			p.segments = append(p.segments, segment{text: literal})
		} else if name, err := p.parseWildcard(step, more); err != "" {
			return err
		} else if slices.Contains(names, name) {
			return fmt.Sprintf("has two wildcards named %s", name)
		} else {
			names = append(names, name)
		}
		if !more || p.tail != tailNone {
			return ""
		}
		path = "/" + rest
	}
}

// parseWildcard adds the segment or tail that step, which has a brace, stands for.
func (p *Pattern) parseWildcard(step string, more bool) (name, err string) {
	inner, left := strings.CutPrefix(step, "{")
	inner, right := strings.CutSuffix(inner, "}")
	if !left || !right {
		return "", fmt.Sprintf("has a wildcard that isn't a whole segment, %s", quote(step))
	}
	name, rest := strings.CutSuffix(inner, "...")
	switch {
	case more && (rest || inner == "$"):
		return "", fmt.Sprintf("goes on after %s, which can only be last", step)
	case inner == "$":
		p.tail = tailSlash
		return "$", ""
	case !isIdentifier(name):
		return "", fmt.Sprintf("has a wildcard with a bad name, %s", quote(step))
	case rest:
		p.tail, p.rest = tailRest, name
		return name, ""
	}
	p.segments = append(p.segments, segment{text: name, wild: true})
	return name, ""
}
