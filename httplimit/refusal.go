package httplimit

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Types of the problems that a body tells of (draft-ietf-httpapi-ratelimit-headers, RFC 9457).
const (
	problemQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	problemCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// problem is the body of a refusal.
type problem struct {
	Type     string   `json:"type,omitempty"` // none is about:blank: no more than the status says
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Violated []string `json:"violated-policies,omitempty"`
}

// Refuse answers r with the verdict, as the filter would: the rate-limit fields, Retry-After, the status, a body; or
// Config.Refuse. It is for those who call Decide themselves.
func (f *Filter) Refuse(w http.ResponseWriter, r *http.Request, v Verdict) {
	v.SetHeaders(w.Header())
	f.refuse(w, r, v)
}

func writeRefusal(w http.ResponseWriter, r *http.Request, v Verdict) {
	status := v.Status()
	p := problem{Title: http.StatusText(status), Status: status}
	switch v.Reason {
	case Limited:
		p.Type = problemQuota
	case Unavailable:
		p.Type = problemCapacity
	}
	for _, o := range v.outcomes() {
		if p.Type != "" && o.told() && !o.decision.Allowed {
			p.Violated = append(p.Violated, o.rule.name)
		}
	}
	contentType, body := "text/plain; charset=utf-8", []byte(p.Title)
	if acceptsJSON(r.Header["Accept"]) {
		contentType = "application/problem+json"
		body, _ = json.Marshal(p) // of strings and an int: it can't fail
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	w.Write(append(body, '\n')) // a client that has gone is nobody's concern
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
