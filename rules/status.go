package rules

import (
	"fmt"
	"strconv"
	"strings"
)

// statusSet is a set of response statuses, 100 to 999.
type statusSet [16]uint64

func (s *statusSet) add(status int) { s[status/64] |= 1 << (status % 64) }

func (s *statusSet) has(status int) bool {
	return 0 <= status && status < len(s)*64 && s[status/64]&(1<<(status%64)) != 0
}

// parseStatuses reads "5xx", "404" or "500-503".
func parseStatuses(text string) (first, last int, err error) {
	if class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok && len(class) == 1 && '1' <= class[0] && class[0] <= '5' {
		first = int(class[0]-'0') * 100
		return first, first + 99, nil
	}
	from, to, ok := strings.Cut(text, "-")
	if !ok {
		to = from
	}
	first, ok = parseStatus(from)
	last, ok2 := parseStatus(to)
	if !ok || !ok2 || first > last {
		return 0, 0, fmt.Errorf("%w: %s: want a status (404), a class (5xx) or a range (500-503)", ErrValue, quote(text))
	}
	return first, last, nil
}

func parseStatus(text string) (int, bool) {
	status, err := strconv.ParseUint(text, 10, 10)
	return int(status), err == nil && 100 <= status && status <= 999
}

func compileRefund(path string, list List, ps *problems) *statusSet {
	if len(list) == 0 {
		return nil
	}
	set := &statusSet{}
	for i, text := range list {
		first, last, err := parseStatuses(text)
		if err != nil {
			ps.add(index(path, i), ErrValue, "%s", detail(err, ErrValue))
			continue
		}
		for status := first; status <= last; status++ {
			set.add(status)
		}
	}
	return set
}
