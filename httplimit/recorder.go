package httplimit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
)

// recorder is a ResponseWriter that remembers the status, and sees to it that the filter's fields are in the header when
// that is written.
type recorder struct {
	http.ResponseWriter
	ours     kept
	status   int // 0: none yet
	hijacked bool

	ctx  context.Context // of the request, where charges depend on the answer
	gone bool            // the client had gone before it was answered
}

// These are recorders that can what the writer behind them can, besides what http.ResponseController does by Unwrap.
type (
	flushRecorder       struct{ recorder }
	hijackRecorder      struct{ recorder }
	flushHijackRecorder struct{ recorder } // HTTP/1's
	flushPushRecorder   struct{ recorder } // HTTP/2's
)

// serve calls next, and does what is to be done when the response is known: the fields are put back, the charges
// settled. A handler that panics before it has answered counts as one that answers 500.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, charges []charge) {
	var ours kept
	if h.proxy && !ours.keep(w.Header()) && charges == nil {
		h.next.ServeHTTP(w, r)
		return
	}
	w, rec := record(w, &ours)
	if charges != nil {
		rec.ctx = r.Context()
	}
	returned := false
	defer func() {
		switch {
		case returned:
			rec.answer(http.StatusOK)
		case rec.status == 0:
			rec.note(http.StatusInternalServerError)
		}
		if !rec.gone {
			settle(charges, rec.status)
		}
	}()
	h.next.ServeHTTP(w, r)
	returned = true
}

// record returns a recorder before w, in one allocation: as a writer, and itself.
func record(w http.ResponseWriter, ours *kept) (http.ResponseWriter, *recorder) {
	_, flushes := w.(http.Flusher)
	_, hijacks := w.(http.Hijacker)
	_, pushes := w.(http.Pusher)
	rec := recorder{ResponseWriter: w, ours: *ours}
	switch {
	case flushes && hijacks:
		w := &flushHijackRecorder{rec}
		return w, &w.recorder
	case flushes && pushes:
		w := &flushPushRecorder{rec}
		return w, &w.recorder
	case flushes:
		w := &flushRecorder{rec}
		return w, &w.recorder
	case hijacks:
		w := &hijackRecorder{rec}
		return w, &w.recorder
	}
	return &rec, &rec
}

func (w *flushRecorder) Flush()       { w.FlushError() }
func (w *flushHijackRecorder) Flush() { w.FlushError() }
func (w *flushPushRecorder) Flush()   { w.FlushError() }

func (w *hijackRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error)      { return w.hijack() }
func (w *flushHijackRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

// hijack lends the connection. Who takes it writes the answer by himself; as a rule that is a switch of protocols.
func (w *recorder) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil {
		w.hijacked = true
		w.answer(http.StatusSwitchingProtocols)
	}
	return conn, buffers, err
}

// Header returns the header. Once the connection is lent, who asks for it is about to write it, as a ReverseProxy does
// after it has put the other server's fields into it.
func (w *recorder) Header() http.Header {
	h := w.ResponseWriter.Header()
	if w.hijacked {
		w.ours.restore(h)
	}
	return h
}

func (w *flushPushRecorder) Push(target string, o *http.PushOptions) error {
	return w.ResponseWriter.(http.Pusher).Push(target, o)
}

// FlushError is what http.ResponseController calls. It writes the header if nothing has, unless the writer can't flush.
func (w *recorder) FlushError() error {
	if w.status == 0 {
		w.ours.restore(w.Header())
	}
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		w.answer(http.StatusOK)
	}
	return err
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

// WriteString keeps a text from being copied for Write.
func (w *recorder) WriteString(s string) (int, error) {
	w.answer(http.StatusOK)
	return io.WriteString(w.ResponseWriter, s)
}

// sniffed is how much of a source net/http writes before it leaves the rest to sendfile.
const sniffed = 512

// ReadFrom keeps the way open for sendfile. As net/http does, it writes the first bytes by themselves: a source that fails
// before them is no answer, and the handler may still choose a status.
func (w *recorder) ReadFrom(src io.Reader) (n int64, err error) {
	if w.status == 0 {
		n, err = io.Copy(struct{ io.Writer }{w}, io.LimitReader(src, sniffed))
		if err != nil || n < sniffed {
			return n, err
		}
	}
	rest, err := io.Copy(w.ResponseWriter, src)
	return n + rest, err
}

// answer notes the status, if it is the first one: the header is about to be written.
func (w *recorder) answer(status int) {
	if w.status == 0 {
		w.note(status)
		w.ours.restore(w.Header())
	}
}

// note notes the status, and whether anybody is there to get it.
func (w *recorder) note(status int) {
	w.status = status
	w.gone = w.ctx != nil && w.ctx.Err() == context.Canceled
}
