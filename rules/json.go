package rules

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/casgate/ratelimit"
)

// A Decoder reads a rule file: it returns the Spec, and how to find the line of a path in it ("rules[2].limit"), for
// messages; lineOf returns 0 for what it doesn't know, and may be nil.
type Decoder func(data []byte) (spec Spec, lineOf func(path string) int, err error)

// ParseJSON reads a Spec and validates it. It is strict: unknown and duplicate fields, wrong types and null are errors.
// The error is an *Error with every mistake and its line.
func ParseJSON(data []byte) (Spec, error) {
	spec, lineOf, err := DecodeJSON(data)
	if err != nil {
		return Spec{}, err
	}
	return spec, locate(spec.Validate(), lineOf)
}

// DecodeJSON is the Decoder of JSON. It reports what doesn't fit the types of a Spec, and then what can be told of the
// rest; it leaves the validation of a Spec that decodes to its user.
func DecodeJSON(data []byte) (spec Spec, lineOf func(path string) int, err error) {
	tree, syntax := parseTree(data)
	if syntax != nil {
		return Spec{}, nil, &Error{[]Problem{*syntax}}
	}
	d := &decoder{}
	d.decode("", tree, reflect.ValueOf(&spec).Elem())
	if len(d.problems) > 0 {
		e := (&Error{d.withValidation(&spec)}).Locate(tree.lineOf)
		slices.SortStableFunc(e.Problems, func(a, b Problem) int { return a.Line - b.Line })
		return spec, tree.lineOf, e
	}
	return spec, tree.lineOf, nil
}

// locate adds lines to an *Error, and leaves other errors alone.
func locate(err error, lineOf func(path string) int) error {
	if e, ok := err.(*Error); ok {
		return e.Locate(lineOf)
	}
	return err
}

type decoder struct {
	problems []Problem
}

func (d *decoder) add(path string, line int, kind error, format string, args ...any) {
	d.problems = append(d.problems, Problem{Path: path, Line: line, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// withValidation adds what is wrong with the fields that could be decoded. A field that couldn't be is left at zero, so
// what is said of it, of what it is in and of what is in it is left out.
func (d *decoder) withValidation(spec *Spec) []Problem {
	ps := &problems{}
	compile(spec, ps)
	undecoded, holds := map[string]bool{}, map[string]bool{}
	for _, p := range d.problems {
		undecoded[p.Path] = true
		for path := range outwards(p.Path) {
			holds[path] = true
		}
	}
	all := d.problems
next:
	for _, p := range ps.list {
		if holds[p.Path] {
			continue
		}
		for path := range outwards(p.Path) {
			if undecoded[path] {
				continue next
			}
		}
		all = append(all, p)
	}
	return all
}

// within reports whether path is outer or a part of it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
}

var listType = reflect.TypeFor[List]()

// decode sets out to what v says; what doesn't fit is added to the problems and left at zero.
func (d *decoder) decode(path string, v *value, out reflect.Value) {
	if v.token == nil {
		d.add(path, v.line, ErrType, "null: leave the field out instead")
		return
	}
	if out.Type() == listType {
		d.list(path, v, out)
		return
	}
	if out.Kind() == reflect.Pointer {
		out.Set(reflect.New(out.Type().Elem()))
		d.decode(path, v, out.Elem())
		return
	}
	if text, ok := out.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(path, v, text)
		return
	}
	switch out.Kind() {
	case reflect.Struct:
		d.object(path, v, out)
	case reflect.Map:
		d.mapping(path, v, out)
	case reflect.Slice:
		if v.token != json.Delim('[') {
			d.wrongType(path, v, "a list")
			return
		}
		out.Set(reflect.MakeSlice(out.Type(), len(v.items), len(v.items)))
		for i, item := range v.items {
			d.decode(index(path, i), item, out.Index(i))
		}
	case reflect.String:
		text, ok := v.token.(string)
		if !ok {
			d.wrongType(path, v, "a text")
		}
		out.SetString(text)
	case reflect.Bool:
		truth, ok := v.token.(bool)
		if !ok {
			d.wrongType(path, v, "true or false")
		}
		out.SetBool(truth)
	case reflect.Int, reflect.Int64:
		number, _ := v.token.(json.Number)
		n, err := strconv.ParseInt(number.String(), 10, out.Type().Bits())
		if err != nil {
			d.wrongType(path, v, "a whole number")
			return
		}
		out.SetInt(n)
	default:
		panic("rules: a Spec has a field of an unknown kind at " + path)
	}
}

func (d *decoder) wrongType(path string, v *value, want string) {
	shown := fmt.Sprint(v.token)
	switch t := v.token.(type) {
	case json.Delim:
		shown = map[json.Delim]string{'{': "an object", '[': "a list"}[t]
	case string:
		shown = quote(t)
	}
	d.add(path, v.line, ErrType, "%s: want %s", shown, want)
}

func (d *decoder) text(path string, v *value, out encoding.TextUnmarshaler) {
	text, ok := v.token.(string)
	if !ok {
		d.wrongType(path, v, "a text")
		return
	}
	if err := out.UnmarshalText([]byte(text)); errors.Is(err, ratelimit.ErrInvalidRule) {
		d.add(path, v.line, ratelimit.ErrInvalidRule, "%s", detail(err, ratelimit.ErrInvalidRule))
	} else if err != nil {
		d.add(path, v.line, ErrValue, "%s", detail(err, ErrValue))
	}
}

func (d *decoder) list(path string, v *value, out reflect.Value) {
	items := v.items
	if v.token != json.Delim('[') {
		items = []*value{v}
	}
	list := make(List, 0, len(items))
	for i, item := range items {
		switch t := item.token.(type) {
		case string:
			list = append(list, t)
		case json.Number:
			list = append(list, t.String())
		default:
			at := path
			if v.token == json.Delim('[') {
				at = index(path, i)
			}
			d.wrongType(at, item, "a text")
		}
	}
	out.Set(reflect.ValueOf(list))
}

// object decodes the fields of a struct, which it knows by their json tags.
func (d *decoder) object(path string, v *value, out reflect.Value) {
	if v.token != json.Delim('{') {
		d.wrongType(path, v, "an object")
		return
	}
	seen := map[string]int{}
	for _, f := range v.fields {
		at := join(path, f.name)
		if d.duplicate(seen, at, f) {
			continue
		}
		i, names := fieldByTag(out.Type(), f.name)
		if i < 0 {
			d.add(at, f.line, ErrUnknownField, "unknown field; here are: %s", strings.Join(names, ", "))
			continue
		}
		d.decode(at, f.value, out.Field(i))
	}
}

func (d *decoder) mapping(path string, v *value, out reflect.Value) {
	if v.token != json.Delim('{') {
		d.wrongType(path, v, "an object")
		return
	}
	out.Set(reflect.MakeMap(out.Type()))
	seen := map[string]int{}
	for _, f := range v.fields {
		at := join(path, f.name)
		if out.Type().Elem().Kind() == reflect.String {
			at = path // the name is a value of plans.from, and may be a credential
		}
		if d.duplicate(seen, at, f) {
			continue
		}
		element := reflect.New(out.Type().Elem()).Elem()
		d.decode(at, f.value, element)
		out.SetMapIndex(reflect.ValueOf(f.name), element)
	}
}

func (d *decoder) duplicate(seen map[string]int, path string, f field) bool {
	line, ok := seen[f.name]
	if ok {
		d.add(path, f.line, ErrDuplicate, "stands on line %d already", line)
	}
	seen[f.name] = f.line
	return ok
}

// fieldByTag returns the index of the field whose json tag has that name, or -1 and the names that there are.
func fieldByTag(t reflect.Type, name string) (int, []string) {
	var names []string
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if tag == name {
			return i, nil
		}
		names = append(names, tag)
	}
	return -1, names
}
