package accesslog

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// ranks says how good the source of a part is, where a line has several.
type ranks struct{ time, client, target, host uint8 }

// The objects that are looked into: the line itself, Caddy's "request", and the "headers" in that.
const (
	inLine = iota
	inRequest
	inHeaders
)

// parseJSON reads a line that is a JSON object.
func (p *parser) parseJSON(line []byte) error {
	p.ranks = ranks{}
	at, ok := p.object(line, 0, inLine)
	if !ok || len(bytes.TrimSpace(line[at:])) > 0 {
		return errJSON
	}
	if p.ranks.time == 0 {
		return errJSONTime
	}
	return nil
}

// object reads the object that begins at line[at], and returns where it ends.
func (p *parser) object(line []byte, at, where int) (end int, ok bool) {
	at = blank(line, at+1)
	if at < len(line) && line[at] == '}' {
		return at + 1, true
	}
	for {
		var key span
		if key, at, ok = jsonString(line, at); !ok {
			return at, false
		}
		if at = blank(line, at); at == len(line) || line[at] != ':' {
			return at, false
		}
		if at, ok = p.member(line, blank(line, at+1), where, key); !ok {
			return at, false
		}
		if at = blank(line, at); at == len(line) {
			return at, false
		}
		switch line[at] {
		case '}':
			return at + 1, true
		case ',':
			at = blank(line, at+1)
		default:
			return at, false
		}
	}
}

// member reads the value of key at line[at].
func (p *parser) member(line []byte, at, where int, key span) (end int, ok bool) {
	if at == len(line) {
		return at, false
	}
	switch line[at] {
	case '"':
		value, end, ok := jsonString(line, at)
		if ok {
			p.set(line, where, key, value)
		}
		return end, ok
	case '{':
		return p.inner(line, at, where, key)
	case '[':
		if where == inHeaders { // the values of one field; the first is the one that counts
			if first := blank(line, at+1); first < len(line) && line[first] == '"' {
				value, after, ok := jsonString(line, first)
				if !ok {
					return after, false
				}
				p.set(line, where, key, value)
				return skip(line, after, 1)
			}
		}
		return skip(line, at+1, 1)
	}
	end = at
	for end < len(line) && line[end] != ',' && line[end] != '}' && line[end] != ' ' {
		end++
	}
	p.set(line, where, key, span{uint32(at), uint32(end)})
	return end, end > at
}

// inner reads an object in an object.
func (p *parser) inner(line []byte, at, where int, key span) (end int, ok bool) {
	name := view(line, key)
	switch {
	case where == inLine && name == "request":
		return p.object(line, at, inRequest)
	case where == inRequest && name == "headers":
		return p.object(line, at, inHeaders)
	}
	return skip(line, at+1, 1)
}

// skip passes over the rest of depth nested objects and arrays.
func skip(line []byte, at, depth int) (end int, ok bool) {
	for at < len(line) {
		switch line[at] {
		case '"':
			for at++; at < len(line) && line[at] != '"'; at++ {
				if line[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1, true
			}
		}
		at++
	}
	return len(line), false
}

func blank(line []byte, at int) int {
	for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
		at++
	}
	return at
}

// jsonString reads the string at line[at]; its escapes are undone in place.
func jsonString(line []byte, at int) (text span, end int, ok bool) {
	if at >= len(line) || line[at] != '"' {
		return span{}, at, false
	}
	from := at + 1
	for i := from; i < len(line); i++ {
		switch line[i] {
		case '"':
			return span{uint32(from), uint32(i)}, i + 1, true
		case '\\':
			return escapedString(line, from, i)
		}
	}
	return span{}, len(line), false
}

// escapedString is jsonString for the rest of a string from its first escape, line[at].
func escapedString(line []byte, from, at int) (text span, end int, ok bool) {
	n := at
	for at < len(line) {
		c := line[at]
		at++
		switch {
		case c == '"':
			return span{uint32(from), uint32(n)}, at, true
		case c != '\\':
			line[n] = c
			n++
			continue
		case at == len(line):
			return span{}, at, false
		}
		c = line[at]
		at++
		if c != 'u' {
			if i := bytes.IndexByte([]byte(`"\/bfnrt`), c); i >= 0 {
				line[n] = "\"\\/\b\f\n\r\t"[i]
				n++
				continue
			}
			return span{}, at, false
		}
		r, ok := hex4(line, at)
		if !ok {
			return span{}, at, false
		}
		at += 4
		if utf16.IsSurrogate(r) && at+1 < len(line) && line[at] == '\\' && line[at+1] == 'u' {
			if low, ok := hex4(line, at+2); ok {
				r = utf16.DecodeRune(r, low)
				at += 6
			}
		}
		n += utf8.EncodeRune(line[n:at], r) // never longer than the escape was
	}
	return span{}, at, false
}

func hex4(line []byte, at int) (r rune, ok bool) {
	if at+4 > len(line) {
		return 0, false
	}
	for _, c := range line[at : at+4] {
		if !isHex(c) {
			return 0, false
		}
		r = r<<4 | rune(unhex(c))
	}
	return r, true
}
