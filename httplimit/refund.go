package httplimit

import (
	"io"
	"net/http"

	"github.com/casgate/ratelimit"
)

// charge is what a request has taken and may get back, once its status is known.
type charge struct {
	limiter ratelimit.Reversible
	refund  func(status int) bool
	key     string
	n, at   int64
}

// charges returns what v's request, which passes, has taken from rules that refund; keys are copied.
func (v *visit) charges() []charge {
	var all []charge
	for i := range v.outs {
		if o := &v.outs[i]; o.rule.refund != nil && o.decision.Allowed && o.n > 0 {
			all = append(all, charge{o.rule.limiter, o.rule.refund, string(o.key), o.n, o.decision.At})
		}
	}
	return all
}

// serveRefunding calls next, and gives the charges back whose rule says so of the response's status. A handler that
// panics before it has answered counts as one that answers 500.
func serveRefunding(next http.Handler, w http.ResponseWriter, r *http.Request, charges []charge) {
	wrapped, rec := record(w)
	returned := false
	defer func() {
		status := rec.status
		switch {
		case status == 0 && !returned:
			status = http.StatusInternalServerError
		case status == 0:
			status = http.StatusOK
		}
		for _, c := range charges {
			if c.refund(status) {
				c.limiter.RefundAt(c.key, c.n, c.at)
			}
		}
	}()
	next.ServeHTTP(wrapped, r)
	returned = true
}

// recorder is a ResponseWriter that remembers the status.
type recorder struct {
	http.ResponseWriter
	status int // 0: none yet
}

// record returns w with a recorder before it. What w can do beside, the result can: Flush and Hijack directly, the rest
// through http.ResponseController, which Unwrap serves.
func record(w http.ResponseWriter) (http.ResponseWriter, *recorder) {
	rec := &recorder{ResponseWriter: w}
	flusher, flushes := w.(http.Flusher)
	hijacker, hijacks := w.(http.Hijacker)
	switch {
	case flushes && hijacks:
		return struct {
			*recorder
			http.Flusher
			http.Hijacker
		}{rec, flusher, hijacker}, rec
	case flushes:
		return struct {
			*recorder
			http.Flusher
		}{rec, flusher}, rec
	case hijacks:
		return struct {
			*recorder
			http.Hijacker
		}{rec, hijacker}, rec
	}
	return rec, rec
}

// Unwrap serves http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) { // other 1xx are only announced
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	w.implicit()
	return w.ResponseWriter.Write(p)
}

// ReadFrom keeps the way open for sendfile.
func (w *recorder) ReadFrom(src io.Reader) (int64, error) {
	w.implicit()
	return io.Copy(w.ResponseWriter, src)
}

// implicit notes the status of a handler that writes a body without one.
func (w *recorder) implicit() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}
