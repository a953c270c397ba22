package httplimit

import (
	"math/bits"
	"net/http"
	"strconv"
	"time"

	"github.com/casgate/ratelimit"
)

// The fields, as net/http writes their names; on the wire, case doesn't matter.
const (
	fieldPolicy = "Ratelimit-Policy"
	fieldLimits = "Ratelimit"

	fieldLimit6     = "Ratelimit-Limit"
	fieldRemaining6 = "Ratelimit-Remaining"
	fieldReset6     = "Ratelimit-Reset"

	fieldLimitX     = "X-Ratelimit-Limit"
	fieldRemainingX = "X-Ratelimit-Remaining"
	fieldResetX     = "X-Ratelimit-Reset"

	fieldRetryAfter = "Retry-After"
)

// fieldNames are all but Retry-After; the first listNames of them are lists.
var fieldNames = [...]string{fieldPolicy, fieldLimits, fieldLimit6, fieldRemaining6, fieldReset6, fieldLimitX, fieldRemainingX, fieldResetX}

const listNames = 2

// fields collects the values of a response's fields in one text, one behind the other, so that they cost two allocations
// together: the text, and the slices of the header map.
type fields struct {
	text  []byte
	names [9]string
	ends  [9]int // in text
	count int
	lists int // the first so many fields are lists
}

// end ends the value of the field name: what text has grown by since the last one.
func (w *fields) end(name string) {
	w.names[w.count], w.ends[w.count] = name, len(w.text)
	w.count++
}

func (w *fields) number(name string, n int64) {
	w.text = appendInt(w.text, n)
	w.end(name)
}

// writeTo writes the fields to h: a list behind what stands there already, the others instead of it.
func (w *fields) writeTo(h http.Header) {
	text := string(w.text)
	values := make([]string, w.count)
	start, fresh := 0, len(h) == 0
	for i := range w.count {
		values[i] = text[start:w.ends[i]]
		start = w.ends[i]
		value := values[i : i+1 : i+1]
		if name := w.names[i]; i < w.lists && !fresh {
			h[name] = append(h[name], value...)
		} else {
			h[name] = value
		}
	}
}

// setHeaders writes what the outcomes mean for the client; binding is the index of the one that counts, -1 if none. text
// is a buffer, which is returned, perhaps grown.
func (t *table) setHeaders(h http.Header, outs []outcome, binding int, reason Reason, text []byte) []byte {
	w := fields{text: text[:0]}
	if binding >= 0 && outs[binding].decision.Limit > 0 && t.tells(&outs[binding].decision) {
		b := &outs[binding]
		p := b.rule.policyOf(&b.decision)
		if t.headers&(Draft8|Draft12) != 0 {
			w.policies(outs, b, p)
			w.limits(outs, t.headers)
			w.lists = w.count
		}
		if t.headers&(Draft6|XDelta|XEpoch) != 0 {
			w.numbers(h, &b.decision, p, t.headers)
		}
	}
	if reason == Limited || reason == Unavailable {
		w.retryAfter(outs[binding].decision.RetryAfter)
	}
	if w.count > 0 {
		w.writeTo(h)
	}
	return w.text
}

// tells reports whether a response with the binding decision d carries the fields.
func (t *table) tells(d *ratelimit.Decision) bool {
	switch t.when {
	case Always:
		return true
	case NearLimit:
		return !d.Allowed || d.Remaining <= d.Limit/10
	case OnRefusal:
		return !d.Allowed
	}
	return false
}

// retryAfter writes Retry-After (RFC 9110 10.2.3): whole seconds, rounded up, at least 1. Where no waiting helps, there
// is none.
func (w *fields) retryAfter(d time.Duration) {
	if d != ratelimit.Never {
		w.number(fieldRetryAfter, max(seconds(d), 1))
	}
}

// policies writes RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers, revisions 8 to 12), which holds an item for
// each rule that is enforced; p is that of b.
func (w *fields) policies(outs []outcome, b *outcome, p *policy) {
	for i := range outs {
		switch o := &outs[i]; {
		case o == b:
			w.separate()
			w.text = append(w.text, p.item...)
		case o.told():
			w.separate()
			w.text = append(w.text, o.rule.policyOf(&o.decision).item...)
		}
	}
	w.end(fieldPolicy)
}

// limits writes RateLimit, which holds an item for each rule too.
func (w *fields) limits(outs []outcome, styles HeaderStyle) {
	for i := range outs {
		if o := &outs[i]; o.told() {
			w.separate()
			w.item(o.rule.name, &o.decision, styles)
		}
	}
	w.end(fieldLimits)
}

// told reports whether clients hear of the outcome: its rule is enforced and has decided.
func (o *outcome) told() bool { return o.rule.mode == Enforce && o.decision.Limit > 0 }

// separate writes what stands before an item of a list, unless it is the first.
func (w *fields) separate() {
	start := 0
	if w.count > 0 {
		start = w.ends[w.count-1]
	}
	if len(w.text) > start {
		w.text = append(w.text, ", "...)
	}
}

// item writes an item of RateLimit: "api";r=50;t=30. Revision 12 calls the parameters a and w.
func (w *fields) item(name string, d *ratelimit.Decision, styles HeaderStyle) {
	remaining, wait, known := left(d)
	w.text = append(w.text, '"')
	w.text = append(w.text, name...)
	w.text = append(w.text, '"')
	if styles&Draft8 != 0 {
		w.text = append(w.text, ";r="...)
		w.text = appendInt(w.text, remaining)
		if known {
			w.text = append(w.text, ";t="...)
			w.text = appendInt(w.text, wait)
		}
	}
	if styles&Draft12 != 0 {
		w.text = append(w.text, ";a="...)
		w.text = appendInt(w.text, remaining)
		if known {
			w.text = append(w.text, ";w="...)
			w.text = appendInt(w.text, wait)
		}
	}
}

// left returns what d leaves the client, and in how many seconds it is worth coming back: when allowed, the time to
// full; when refused, 0 and the time to retry; known is false if no time helps.
func left(d *ratelimit.Decision) (remaining, wait int64, known bool) {
	if d.Allowed {
		return d.Remaining, seconds(d.ResetAfter), true
	}
	return 0, max(seconds(d.RetryAfter), 1), d.RetryAfter != ratelimit.Never
}

// numbers writes the fields that hold one rule's numbers, the binding one's. If a filter further out has written
// tighter ones, they stay.
func (w *fields) numbers(h http.Header, d *ratelimit.Decision, p *policy, styles HeaderStyle) {
	remaining, wait, known := left(d)
	if styles&Draft6 != 0 && tighter(remaining, d.Limit, h[fieldRemaining6], h[fieldLimit6]) {
		w.text = append(w.text, p.quota...)
		w.end(fieldLimit6)
		w.number(fieldRemaining6, remaining)
		if known {
			w.number(fieldReset6, wait)
		}
	}
	if styles&(XDelta|XEpoch) != 0 && tighter(remaining, d.Limit, h[fieldRemainingX], h[fieldLimitX]) {
		w.text = append(w.text, p.quota...)
		w.end(fieldLimitX)
		w.number(fieldRemainingX, remaining)
		if known && styles&XEpoch != 0 {
			wait = epoch(d)
		}
		if known {
			w.number(fieldResetX, wait)
		}
	}
}

// epoch returns the instant that left's wait ends at, in seconds of the clock (the Unix time, for a SystemClock), rounded
// up.
func epoch(d *ratelimit.Decision) int64 {
	wait := d.ResetAfter
	if !d.Allowed {
		wait = d.RetryAfter
	}
	whole, part := d.At/int64(time.Second), time.Duration(d.At%int64(time.Second))
	return whole + int64(wait/time.Second) + seconds(max(part+wait%time.Second, 0))
}

// tighter reports whether remaining of limit is at most the share that stands in the fields before; true if none do.
func tighter(remaining, limit int64, beforeRemaining, beforeLimit []string) bool {
	if len(beforeRemaining) == 0 || len(beforeLimit) == 0 {
		return true
	}
	r, err1 := strconv.ParseUint(beforeRemaining[0], 10, 63)
	l, err2 := strconv.ParseUint(beforeLimit[0], 10, 63)
	if err1 != nil || err2 != nil {
		return true
	}
	hi1, lo1 := bits.Mul64(uint64(remaining), l)
	hi2, lo2 := bits.Mul64(r, uint64(limit))
	return hi1 < hi2 || hi1 == hi2 && lo1 <= lo2
}
