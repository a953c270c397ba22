package accesslog

import (
	"bytes"
	"errors"
)

// Why a line can't be read.
var (
	errEmpty     = errors.New("empty")
	errLong      = errors.New("longer than 64 KiB")
	errCut       = errors.New("cut off")
	errNoTime    = errors.New("no [time] as in [17/May/2015:10:05:03 +0000]")
	errNoRequest = errors.New("no request as in \"GET / HTTP/1.1\"")
	errNoStatus  = errors.New("no status")
	errJSON      = errors.New("not well-formed JSON")
	errJSONTime  = errors.New("JSON without a time field (time, ts, time_iso8601, StartUTC…)")
)

// parser reads lines. It remembers the last minute it has seen, since the next line is most often of the same.
type parser struct {
	minute clfMinute
	record record // of the last line
	ranks  ranks  // of the last JSON line
}

// parse reads a line, which it may change in place: an escaped text becomes shorter. The record is valid until the next
// call.
func (p *parser) parse(line []byte) (*record, error) {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	if len(line) == 0 {
		return nil, errEmpty
	}
	p.record = record{fields: p.record.fields[:0]}
	var err error
	if line[0] == '{' {
		err = p.parseJSON(line)
	} else {
		err = p.parseCLF(line)
	}
	if err != nil {
		return nil, err
	}
	r := &p.record
	if r.method.empty() || r.target.empty() {
		return nil, errNoRequest
	}
	clearDash(line, &r.client)
	clearDash(line, &r.user)
	clearDash(line, &r.host)
	clearDash(line, &r.agent)
	clearDash(line, &r.refer)
	clearDash(line, &r.forwarded)
	return r, nil
}

// clearDash empties s where it is the dash that stands for nothing.
func clearDash(line []byte, s *span) {
	if s.to-s.from == 1 && line[s.from] == '-' {
		*s = span{}
	}
}

// parseCLF reads the common log format and what extends it:
//
//	host ident user [time] "request" status bytes "referer" "agent" "x-forwarded-for"
//
// with the virtual host in front, as some configurations have it, or not.
func (p *parser) parseCLF(line []byte) error {
	r := &p.record
	bracket := bytes.IndexByte(line, '[')
	for bracket > 0 && line[bracket-1] != ' ' {
		next := bytes.IndexByte(line[bracket+1:], '[')
		if next < 0 {
			return errNoTime
		}
		bracket += 1 + next
	}
	if bracket <= 0 || len(line) < bracket+clfTimeLen+2 || line[bracket+clfTimeLen+1] != ']' {
		return errNoTime
	}
	var ok bool
	if r.time, ok = p.minute.parse(line[bracket+1 : bracket+1+clfTimeLen]); !ok {
		return errNoTime
	}
	if !p.parseHead(line[:bracket-1]) {
		return errNoTime
	}
	at := bracket + clfTimeLen + 2
	request, at, ok := quoted(line, at)
	if !ok || !p.parseRequestLine(line, request) {
		return errNoRequest
	}
	if len(line) < at+4 || line[at] != ' ' {
		return errNoStatus
	}
	for _, c := range line[at+1 : at+4] {
		if c < '0' || c > '9' {
			return errNoStatus
		}
		r.status = r.status*10 + int32(c-'0')
	}
	at += 4
	for _, part := range []*span{&r.refer, &r.agent, &r.forwarded} {
		if *part, at, ok = quoted(line, at); !ok {
			break
		}
	}
	return nil
}

// parseHead reads what stands before the time: "host ident user", and the virtual host before that, if "ident" then is
// the dash that it always is.
func (p *parser) parseHead(head []byte) bool {
	r := &p.record
	var ends [3]int // of the first words
	at := 0
	for i := range ends {
		space := bytes.IndexByte(head[at:], ' ')
		if space < 0 {
			space = len(head) - at
		}
		ends[i] = at + space
		if at = ends[i] + 1; at > len(head) {
			if i < 2 {
				return false
			}
			break
		}
	}
	word := func(i int) span {
		if i == 0 {
			return span{0, uint32(ends[0])}
		}
		return span{uint32(ends[i-1] + 1), uint32(ends[i])}
	}
	if third := word(2); ends[2] < len(head) && third.to-third.from == 1 && head[third.from] == '-' && head[ends[0]+1] != '-' {
		r.host, r.client, r.user = word(0), word(1), span{uint32(ends[2] + 1), uint32(len(head))}
		return true
	}
	r.client, r.user = word(0), span{uint32(ends[1] + 1), uint32(len(head))}
	return true
}

// parseRequestLine reads "METHOD target HTTP/1.1" in s of line. A target may hold spaces, if its client was careless.
func (p *parser) parseRequestLine(line []byte, s span) bool {
	text := line[s.from:s.to]
	first, last := bytes.IndexByte(text, ' '), bytes.LastIndexByte(text, ' ')
	if first <= 0 || first == last || !bytes.HasPrefix(text[last+1:], []byte("HTTP/")) {
		return false
	}
	p.record.method = span{s.from, s.from + uint32(first)}
	p.record.target = span{s.from + uint32(first) + 1, s.from + uint32(last)}
	return true
}

// quoted returns the next text in quotes from at, and where it ends. Escapes in it are undone.
func quoted(line []byte, at int) (text span, end int, ok bool) {
	open := bytes.IndexByte(line[at:], '"')
	if open < 0 {
		return span{}, at, false
	}
	from := at + open + 1
	to, escaped := from, false
	for {
		i := bytes.IndexByte(line[to:], '"')
		if i < 0 {
			return span{}, at, false
		}
		if j := bytes.IndexByte(line[to:to+i], '\\'); j >= 0 { // pass over the escaped byte
			escaped = true
			to += j + 2
			if to > len(line) {
				return span{}, at, false
			}
			continue
		}
		to += i
		break
	}
	end = to + 1
	if escaped {
		to = from + unescapeCLF(line[from:to])
	}
	return span{uint32(from), uint32(to)}, end, true
}

// unescapeCLF undoes \", \\ and \xHH in place and returns the new length.
func unescapeCLF(text []byte) int {
	n := 0
	for i := 0; i < len(text); n++ {
		c := text[i]
		i++
		if c == '\\' && i < len(text) {
			switch {
			case text[i] == '"' || text[i] == '\\':
				c = text[i]
				i++
			case text[i] == 'x' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
				c = unhex(text[i+1])<<4 | unhex(text[i+2])
				i += 3
			}
		}
		text[n] = c
	}
	return n
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
