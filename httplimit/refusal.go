package httplimit

import (
	"net/http"
	"strconv"
	"strings"
)

// Types of the problems that a body tells of (draft-ietf-httpapi-ratelimit-headers, RFC 9457).
const (
	problemQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	problemCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// Refuse answers r with the verdict, as the filter would: the rate-limit fields, Retry-After, the status, a body; or
// Config.Refuse. It is for those who call Decide themselves.
func (f *Filter) Refuse(w http.ResponseWriter, r *http.Request, v Verdict) {
	v.SetHeaders(w.Header())
	f.refuse(w, r, v)
}

func writeRefusal(w http.ResponseWriter, r *http.Request, v Verdict) {
	status := v.Status()
	contentType, body := "text/plain; charset=utf-8", []byte(http.StatusText(status))
	if acceptsJSON(r.Header["Accept"]) {
		contentType, body = "application/problem+json", v.appendProblem(nil)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	w.Write(append(body, '\n')) // a client that has gone is nobody's concern
}

// appendProblem appends the JSON of the problem that a refusal is. None of its texts needs an escape.
func (v *Verdict) appendProblem(dst []byte) []byte {
	dst = append(dst, '{')
	kind := map[Reason]string{Limited: problemQuota, Unavailable: problemCapacity}[v.Reason]
	if kind != "" { // otherwise it is about:blank: no more than the status says
		dst = append(dst, `"type":"`...)
		dst = append(dst, kind...)
		dst = append(dst, `",`...)
	}
	dst = append(dst, `"title":"`...)
	dst = append(dst, http.StatusText(v.Status())...)
	dst = append(dst, `","status":`...)
	dst = strconv.AppendInt(dst, int64(v.Status()), 10)
	if kind != "" {
		dst = append(dst, `,"violated-policies":["`...)
		dst = append(dst, v.Rule...)
		dst = append(dst, '"')
		for _, o := range v.outcomes() {
			if o.told() && !o.decision.Allowed && o.rule.name != v.Rule {
				dst = append(dst, `,"`...)
				dst = append(dst, o.rule.name...)
				dst = append(dst, '"')
			}
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// acceptsJSON reports whether a client with these Accept lines takes a problem in JSON: it says so, or doesn't say.
func acceptsJSON(lines []string) bool {
	if len(lines) == 0 {
		return true
	}
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			media, params, _ := strings.Cut(element, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "*/*", "application/*", "application/json", "application/problem+json":
				if !weighsNothing(params) {
					return true
				}
			}
		}
	}
	return false
}

// weighsNothing reports whether the parameters of a media range hold q=0, which means: not this.
func weighsNothing(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(name, "q") {
			return strings.Trim(value, "0.") == ""
		}
	}
	return false
}
