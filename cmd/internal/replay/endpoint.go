package replay

// maxSegments is how many segments of a path tell endpoints apart, and maxMethod how many bytes of a method.
const (
	maxSegments = 6
	maxMethod   = 32
)

// AppendEndpoint appends the endpoint that a request is for, as a pattern that package rules understands: the method, and
// the path with its numbers, hashes and other names of single things as wildcards: GET /users/{id}/orders.
func AppendEndpoint(dst []byte, method, path string) []byte {
	dst = append(dst, method[:min(len(method), maxMethod)]...)
	dst = append(dst, ' ')
	if path == "" || path[0] != '/' { // "*", and what comes with CONNECT
		if path != "" {
			dst = append(dst, '*')
		}
		return dst
	}
	wild := byte('0')
	for segments := 0; path != ""; segments++ {
		if segments == maxSegments {
			return append(dst, "/{rest...}"...)
		}
		end := 1
		for end < len(path) && path[end] != '/' {
			end++
		}
		segment := path[1:end]
		path = path[end:]
		switch {
		case segment == "" && path == "":
			return append(dst, "/{$}"...)
		case !isThing(segment):
			dst = append(dst, '/')
			dst = append(dst, segment...)
		default:
			dst = append(dst, "/{id"...)
			if wild++; wild > '1' {
				dst = append(dst, wild)
			}
			dst = append(dst, '}')
		}
	}
	return dst
}

// isThing reports whether a segment names one thing out of many: a number, a hash, a UUID, something long.
func isThing(segment string) bool {
	digits, hex, other := 0, 0, 0
	for i := range len(segment) {
		switch c := segment[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'f', c == '-':
			hex++
		case c == '{' || c == '}' || c <= ' ' || c >= 0x7f:
			return true
		default:
			other++
		}
	}
	switch {
	case digits == len(segment):
		return digits > 0
	case other == 0:
		return digits > 0 && len(segment) >= 8
	}
	return len(segment) > 48
}
