package accesslog

import (
	"time"
)

const (
	clfTimeLen   = len("17/May/2015:10:05:03 +0000")
	clfMinuteLen = len("17/May/2015:10:05")
)

// clfMinute reads times as 17/May/2015:10:05:03 +0000, remembering the last minute.
type clfMinute struct {
	text [clfMinuteLen]byte
	zone [5]byte
	unix int64 // s; of the minute's beginning
}

// parse reads a time of clfTimeLen bytes.
func (m *clfMinute) parse(text []byte) (ns int64, ok bool) {
	_ = text[clfTimeLen-1]
	tens, ones := text[18]-'0', text[19]-'0'
	if text[17] != ':' || text[20] != ' ' || tens > 6 || ones > 9 { // a leap second is 60
		return 0, false
	}
	if string(text[:clfMinuteLen]) != string(m.text[:]) || string(text[21:26]) != string(m.zone[:]) {
		if !m.learn(text) {
			return 0, false
		}
	}
	return (m.unix + int64(tens)*10 + int64(ones)) * int64(time.Second), true
}

// learn reads the minute of text.
func (m *clfMinute) learn(text []byte) bool {
	const layout = "02/Jan/2006:15:04 -0700"
	var minute [len(layout)]byte
	copy(minute[:], text[:clfMinuteLen])
	minute[clfMinuteLen] = ' '
	copy(minute[clfMinuteLen+1:], text[21:26])
	t, err := time.Parse(layout, string(minute[:]))
	if err != nil || !representable(t) {
		return false
	}
	m.text, m.zone, m.unix = [clfMinuteLen]byte(text), [5]byte(text[21:26]), t.Unix()
	return true
}

// lastTime is the first instant of 2160, in ns. Times are from 1970 to before it, so that an int64 holds any difference of
// two.
const lastTime = 5_995_814_400 * int64(time.Second)

// representable reports whether t is a time that a log is of.
func representable(t time.Time) bool { return t.Unix() >= 0 && t.Unix() < lastTime/int64(time.Second) }

// parseTime reads a time as JSON logs have it: seconds, milliseconds, microseconds or nanoseconds since 1970, with a
// fraction or not; RFC 3339; or as in the common log format.
func (m *clfMinute) parseTime(text []byte) (ns int64, ok bool) {
	if len(text) == 0 {
		return 0, false
	}
	if len(text) == clfTimeLen && text[2] == '/' {
		return m.parse(text)
	}
	if len(text) > 10 && text[4] == '-' {
		t, err := time.Parse(time.RFC3339Nano, string(text))
		if err != nil { // as Go's zone-less layouts and Python's have it
			if t, err = time.Parse("2006-01-02T15:04:05.999999999-0700", string(text)); err != nil {
				return 0, false
			}
		}
		return t.UnixNano(), representable(t)
	}
	return parseUnix(text)
}

// parseUnix reads a decimal number of seconds since 1970 exactly; one too large to be seconds is of a smaller unit.
func parseUnix(text []byte) (ns int64, ok bool) {
	i, whole := 0, int64(0)
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		if i == 19 {
			return 0, false
		}
		whole = whole*10 + int64(text[i]-'0')
	}
	if i == 0 {
		return 0, false
	}
	unit := int64(time.Second)
	for whole >= 1e11 && unit > 1 && whole >= 1e11*(int64(time.Second)/unit) {
		unit /= 1000
	}
	if whole >= lastTime/unit {
		return 0, false
	}
	ns = whole * unit
	if i < len(text) && text[i] == '.' {
		for i++; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
			unit /= 10
			ns += int64(text[i]-'0') * unit
		}
	}
	return ns, i == len(text)
}
