package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// value is a JSON value and where it stands.
type value struct {
	line   int
	token  json.Token // json.Delim '{' or '[', string, json.Number, bool or nil
	fields []field    // of an object
	items  []*value   // of an array
}

type field struct {
	name  string
	line  int
	value *value
}

// maxDepth is more than a Spec has; deeper ones aren't followed.
const maxDepth = 16

// byteOrderMark is what some editors write before UTF-8.
var byteOrderMark = []byte("\ufeff")

// parseTree reads one JSON value with nothing after it, and nothing before it but a byte order mark. A syntax error is a
// Problem with its line.
func parseTree(data []byte) (*value, *Problem) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	p := &treeParser{data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	p.decoder.UseNumber()
	v, err := p.value(0)
	if err == nil {
		if _, after := p.decoder.Token(); !errors.Is(after, io.EOF) {
			p.advance()
			err = errors.New("something follows after the end of the object")
		}
	}
	if err == nil {
		return v, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		p.lineAt(int(syntax.Offset))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		p.lineAt(len(data))
		err = errors.New("the file ends in the middle: is it still being written?")
		if len(bytes.TrimSpace(data)) == 0 {
			err = errors.New("the file is empty")
		}
	}
	return nil, &Problem{Line: p.line + 1, Kind: ErrSyntax, Text: err.Error()}
}

// treeParser counts lines as it goes.
type treeParser struct {
	data    []byte
	decoder *json.Decoder
	at      int // data up to here is counted
	line    int // of at, from 0
}

func (p *treeParser) lineAt(offset int) int {
	offset = min(offset, len(p.data))
	if offset > p.at {
		p.line += bytes.Count(p.data[p.at:offset], []byte("\n"))
		p.at = offset
	}
	return p.line + 1
}

// advance moves to where the latest token ended, which is on the line where it began: no token of JSON spans lines.
func (p *treeParser) advance() int { return p.lineAt(int(p.decoder.InputOffset())) }

func (p *treeParser) value(depth int) (*value, error) {
	token, err := p.decoder.Token()
	if err != nil {
		return nil, err
	}
	v := &value{line: p.advance(), token: token}
	delim, ok := token.(json.Delim)
	if !ok {
		return v, nil
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("more than %d levels deep", maxDepth)
	}
	for p.decoder.More() {
		if delim == '[' {
			item, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, item)
			continue
		}
		name, err := p.decoder.Token()
		if err != nil {
			return nil, err
		}
		f := field{name: name.(string), line: p.advance()}
		if f.value, err = p.value(depth + 1); err != nil {
			return nil, err
		}
		v.fields = append(v.fields, f)
	}
	_, err = p.decoder.Token() // the closing one
	return v, err
}

// lineOf returns the line of the value at path ("rules[2].name"), or 0.
func (v *value) lineOf(path string) int {
	line := v.line
	for path != "" {
		if v, line, path = v.step(path); v == nil {
			return 0
		}
	}
	return line
}

// step follows the first step of path, and returns the rest of it. Names may have dots in them: the longest that fits is
// taken.
func (v *value) step(path string) (next *value, line int, rest string) {
	if inner, ok := strings.CutPrefix(path, "["); ok {
		digits, rest, _ := strings.Cut(inner, "]")
		i, err := strconv.Atoi(digits)
		if err != nil || i < 0 || i >= len(v.items) {
			return nil, 0, ""
		}
		return v.items[i], v.items[i].line, strings.TrimPrefix(rest, ".")
	}
	longest := -1
	for i, f := range v.fields {
		if within(path, f.name) && (longest < 0 || len(f.name) > len(v.fields[longest].name)) {
			longest = i
		}
	}
	if longest < 0 {
		return nil, 0, ""
	}
	f := v.fields[longest]
	return f.value, f.line, strings.TrimPrefix(path[len(f.name):], ".")
}
