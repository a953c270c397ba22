package httplimit

import (
	"io"
	"net/http"
)

// recorder is a ResponseWriter that remembers the status, and sees to it that the filter's fields are in the header when
// that is written.
type recorder struct {
	http.ResponseWriter
	ours   http.Header
	status int // 0: none yet
}

// serve calls next, and what is done when the response is known: the fields are put back, the charges settled. A handler
// that panics before it has answered counts as one that answers 500.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, charges []charge) {
	rec := &recorder{ResponseWriter: w}
	if h.proxy {
		rec.ours = ours(w.Header())
	}
	returned := false
	defer func() {
		switch {
		case returned:
			rec.answer(http.StatusOK)
		case rec.status == 0:
			rec.status = http.StatusInternalServerError
		}
		settle(charges, rec.status)
	}()
	h.next.ServeHTTP(rec.writer(), r)
	returned = true
}

// writer returns rec as a writer that can what the one behind it can: Flush and Hijack directly, the rest through
// http.ResponseController, which Unwrap serves.
func (w *recorder) writer() http.ResponseWriter {
	flusher, flushes := w.ResponseWriter.(http.Flusher)
	hijacker, hijacks := w.ResponseWriter.(http.Hijacker)
	switch {
	case flushes && hijacks:
		return struct {
			*recorder
			flush
			http.Hijacker
		}{w, flush{w, flusher}, hijacker}
	case flushes:
		return struct {
			*recorder
			flush
		}{w, flush{w, flusher}}
	case hijacks:
		return struct {
			*recorder
			http.Hijacker
		}{w, hijacker}
	}
	return w
}

// flush is a recorder's Flush, which writes the header if nothing has.
type flush struct {
	rec     *recorder
	flusher http.Flusher
}

func (f flush) Flush() {
	f.rec.answer(http.StatusOK)
	f.flusher.Flush()
}

// Unwrap serves http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols { // other 1xx are only announced
		w.answer(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	w.answer(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// ReadFrom keeps the way open for sendfile.
func (w *recorder) ReadFrom(src io.Reader) (int64, error) {
	w.answer(http.StatusOK)
	return io.Copy(w.ResponseWriter, src)
}

// answer notes the status, if it is the first one: the header is about to be written.
func (w *recorder) answer(status int) {
	if w.status == 0 {
		w.status = status
		restore(w.Header(), w.ours)
	}
}
