package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// List is one text or a list of texts; a file may write either. A number in it stands for its digits.
type List []string

// UnmarshalJSON accepts a string, a number, or an array of them.
func (l *List) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	return l.set(value)
}

// UnmarshalYAML accepts a scalar or a sequence of scalars. It has the form that YAML packages call without this package
// having to know them.
func (l *List) UnmarshalYAML(unmarshal func(any) error) error {
	var value any
	if err := unmarshal(&value); err != nil {
		return err
	}
	return l.set(value)
}

func (l *List) set(value any) error {
	values, ok := value.([]any)
	if !ok {
		values = []any{value}
	}
	list := make(List, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			list[i] = v
		case json.Number, int, int64, uint64:
			list[i] = fmt.Sprint(v)
		default:
			return fmt.Errorf("%w: want a text or a list of texts", ErrType)
		}
	}
	*l = list
	return nil
}
