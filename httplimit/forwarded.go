package httplimit

import "strings"

// lastForwarded cuts the last element from a line of a Forwarded header (RFC 7239) and returns its for= node, without
// quotes; for an element without one, a text that is no address.
//
// It reads backwards: the end of the line was written by the nearest proxy, the beginning perhaps by the client, who must
// not hide the proxy's word behind an opening quote of its own.
func lastForwarded(line string) (node, rest string, more bool) {
	start, quoted := len(line), false
	for start > 0 && (quoted || line[start-1] != ',') {
		start--
		if line[start] == '"' && !escaped(line, start) {
			quoted = !quoted
		}
	}
	element := trimBlank(line[start:])
	if element != "" {
		node = forNode(element)
	}
	return node, line[:max(start-1, 0)], start > 0
}

// escaped reports whether line[i] stands behind an odd number of backslashes.
func escaped(line string, i int) bool {
	n := 0
	for ; i > n && line[i-n-1] == '\\'; n++ {
	}
	return n%2 == 1
}

// noNode is what forNode returns where there is none; it is no address.
const noNode = "unknown"

// forNode returns the value of for= in an element such as `for="[2001:db8::1]:4711";proto=https`.
func forNode(element string) string {
	for more := true; more; {
		var pair string
		pair, element, more = cutPair(element)
		name, value, _ := strings.Cut(trimBlank(pair), "=")
		if !strings.EqualFold(name, "for") {
			continue
		}
		if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
			value = value[1 : n-1]
		}
		if value == "" {
			return noNode
		}
		return value
	}
	return noNode
}

// cutPair cuts the first pair from an element, at a semicolon that isn't in quotes: a proxy may pass on there what the
// client has sent, as host= for one.
func cutPair(element string) (pair, rest string, more bool) {
	quoted := false
	for i := 0; i < len(element); i++ {
		switch c := element[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ';' && !quoted:
			return element[:i], element[i+1:], true
		}
	}
	return element, "", false
}
