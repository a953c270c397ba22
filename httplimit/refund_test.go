package httplimit_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
)

func TestRefundByStatus(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Answer") {
		case "fail":
			w.WriteHeader(401)
		case "fail twice":
			w.WriteHeader(401)
			w.WriteHeader(200) // superfluous: net/http ignores it
		case "hints":
			w.WriteHeader(103)
			w.WriteHeader(500)
		case "body":
			io.WriteString(w, "hello")
			w.WriteHeader(500) // too late
		case "panic":
			panic(http.ErrAbortHandler)
		case "panic late":
			io.WriteString(w, "hello")
			panic(http.ErrAbortHandler)
		}
	}
	for _, c := range []struct {
		answer                       string
		onSuccess, onFailure, always string // tokens left of 5, afterwards
	}{
		{"nothing", "5", "4", "5"},
		{"body", "5", "4", "5"},
		{"fail", "4", "5", "5"},
		{"fail twice", "4", "5", "5"},
		{"hints", "4", "5", "5"},
		{"panic", "4", "5", "5"},
		{"panic late", "5", "4", "5"},
	} {
		for name, refund := range map[string]struct {
			f    func(int) bool
			want string
		}{
			"OnSuccess": {httplimit.OnSuccess, c.onSuccess}, "OnFailure": {httplimit.OnFailure, c.onFailure},
			"always": {func(int) bool { return true }, c.always},
		} {
			config := still(httplimit.Rule{
				Limit: ratelimit.PerHour(5).Burst(5), Refund: refund.f, Key: httplimit.Header("X-API-Key"),
				Cost: func(r *http.Request) int64 {
					if r.Header.Get("X-Answer") == "" {
						return 0
					}
					return 1
				},
			})
			h := mustNew(t, config).Wrap(http.HandlerFunc(answer))
			func() {
				defer func() { recover() }()
				get(h, "192.0.2.1:1", "X-API-Key: k-1", "X-Answer: "+c.answer)
			}()
			left := get(h, "192.0.2.1:1", "X-API-Key: k-1").Header.Get("X-RateLimit-Remaining")
			assert.Equal(t, refund.want, left, "%s, %s", c.answer, name)
		}
	}
}

// While a request is answered its token is taken: many at once can't pass.
func TestRefundComesAfterTheAnswer(t *testing.T) {
	var h http.Handler
	f := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(1).Burst(1), Refund: httplimit.OnSuccess}))
	inner := 0
	h = f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if inner == 0 {
			inner = get(h, "192.0.2.1:1").StatusCode
		}
	}))
	assert.Equal(t, 200, get(h, "192.0.2.1:1").StatusCode)
	assert.Equal(t, 429, inner)
	assert.Equal(t, 200, get(h, "192.0.2.1:1").StatusCode)
}

func TestRefundOfSeveralRules(t *testing.T) {
	f := mustNew(t, still(
		httplimit.Rule{Name: "all", Limit: ratelimit.PerHour(9).Burst(9)},
		httplimit.Rule{Name: "failures", Limit: ratelimit.PerHour(9).Burst(9), Refund: httplimit.OnSuccess},
		httplimit.Rule{Name: "shadow", Limit: ratelimit.PerHour(9).Burst(9), Refund: httplimit.OnSuccess, Mode: httplimit.Shadow},
	))
	assert.Equal(t, 200, get(f.Wrap(&counting{}), "192.0.2.1:1").StatusCode)
	for i, want := range []int64{8, 9, 9} {
		e := f.Explain(from("192.0.2.1:1"))[i]
		assert.Equal(t, want, e.Limiter.Peek(e.RawKey, 0).Remaining, e.Rule)
	}
}

// What is given back is what was taken: no more of it, and nothing for a rule that had refused.
func TestRefundIsWhatWasTaken(t *testing.T) {
	f := mustNew(t, still(
		httplimit.Rule{Name: "bulk", Limit: ratelimit.PerHour(100).Burst(100), Refund: httplimit.OnFailure, Cost: func(*http.Request) int64 { return 10 }},
		httplimit.Rule{Name: "shadow", Limit: ratelimit.PerHour(2).Burst(2), Refund: httplimit.OnFailure, Mode: httplimit.Shadow},
	))
	status := 200
	h := f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
	left := func() (got [2]int64) {
		for i, e := range f.Explain(from("192.0.2.1:1")) {
			got[i] = e.Limiter.Peek(e.RawKey, 0).Remaining
		}
		return got
	}
	for range 3 {
		get(h, "192.0.2.1:1")
	}
	assert.Equal(t, [2]int64{70, 0}, left())
	status = 500
	get(h, "192.0.2.1:1")
	assert.Equal(t, [2]int64{70, 0}, left())
}

// The wrapped writer can what the writer can, over real connections.
func TestRefundKeepsWhatTheWriterCan(t *testing.T) {
	f := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(9).Burst(9), Refund: httplimit.OnFailure}))
	server := httptest.NewServer(f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hijack" {
			conn, buf, err := w.(http.Hijacker).Hijack()
			if assert.NoError(t, err) {
				defer conn.Close()
				buf.WriteString("HTTP/1.1 299 Mine\r\nContent-Length: 0\r\n\r\n")
				buf.Flush()
			}
			return
		}
		w.(http.Flusher).Flush()
		assert.NoError(t, http.NewResponseController(w).Flush())
		assert.NoError(t, http.NewResponseController(w).EnableFullDuplex(), "through Unwrap")
		n, err := w.(io.ReaderFrom).ReadFrom(bytes.NewReader([]byte("hello")))
		assert.EqualValues(t, 5, n)
		assert.NoError(t, err)
	})))
	defer server.Close()
	resp, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	assert.Equal(t, "hello", body(t, resp))
	resp, err = server.Client().Get(server.URL + "/hijack")
	require.NoError(t, err)
	assert.Equal(t, 299, resp.StatusCode)
}

// HTTP/2 has no connection to take over, but can push.
func TestRefundKeepsWhatTheWriterOfHTTP2Can(t *testing.T) {
	f := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(9).Burst(9), Refund: httplimit.OnFailure}))
	server := httptest.NewUnstartedServer(f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, hijacks := w.(http.Hijacker)
		assert.False(t, hijacks)
		pusher, pushes := w.(http.Pusher)
		if assert.True(t, pushes) {
			assert.ErrorIs(t, pusher.Push("/style.css", nil), http.ErrNotSupported, "by this client")
		}
		w.(http.Flusher).Flush()
		assert.NoError(t, http.NewResponseController(w).SetWriteDeadline(time.Time{}), "through Unwrap")
		io.Copy(w, strings.NewReader(r.Proto))
	})))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	resp, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	assert.Equal(t, "HTTP/2.0", body(t, resp))
}

// A text is not copied on its way to a writer that takes texts.
func TestRefundKeepsTextsAsTheyAre(t *testing.T) {
	f := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(9).Burst(9), Refund: httplimit.OnFailure}))
	w := &textWriter{ResponseWriter: httptest.NewRecorder()}
	f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.WriteString(w, "hello")
		assert.Equal(t, 5, n)
		assert.NoError(t, err)
		w.WriteHeader(500) // too late
	})).ServeHTTP(w, from("192.0.2.1:1"))
	assert.Equal(t, []string{"hello"}, w.texts)
	e := f.Explain(from("192.0.2.1:1"))[0]
	assert.EqualValues(t, 8, e.Limiter.Peek(e.RawKey, 0).Remaining)
}

type textWriter struct {
	http.ResponseWriter
	texts []string
}

func (w *textWriter) WriteString(s string) (int, error) {
	w.texts = append(w.texts, s)
	return len(s), nil
}

type plainWriter struct{ http.ResponseWriter }

type hijackWriter struct{ http.ResponseWriter }

func (hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrHijacked }

type flushWriter struct{ http.ResponseWriter }

func (flushWriter) Flush() {}

// pushWriter is like HTTP/2's.
type pushWriter struct{ flushWriter }

func (pushWriter) Push(target string, _ *http.PushOptions) error { return errors.New(target) }

// It doesn't pretend, either.
func TestRefundPretendsNothing(t *testing.T) {
	f := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(9).Burst(9), Refund: httplimit.OnFailure}))
	w := httptest.NewRecorder()
	f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.ErrorIs(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
	})).ServeHTTP(struct{ http.ResponseWriter }{w}, from("192.0.2.1:1"))
	for _, c := range []struct {
		w                       http.ResponseWriter
		flushes, hijack, pushes bool
	}{
		{plainWriter{w}, false, false, false}, {hijackWriter{w}, false, true, false}, {flushWriter{w}, true, false, false},
		{pushWriter{flushWriter{w}}, true, false, true},
	} {
		f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, flushes := w.(http.Flusher)
			_, hijacks := w.(http.Hijacker)
			pusher, pushes := w.(http.Pusher)
			assert.Equal(t, [3]bool{c.flushes, c.hijack, c.pushes}, [3]bool{flushes, hijacks, pushes}, "%T", c.w)
			if pushes {
				assert.EqualError(t, pusher.Push("/style.css", nil), "/style.css")
			}
		})).ServeHTTP(c.w, from("192.0.2.1:1"))
	}
}

// What net/http hasn't taken for an answer isn't one: the status is still the handler's to choose.
func TestRefundByTheStatusThatTheClientGets(t *testing.T) {
	for name, c := range map[string]struct {
		begin  func(t *testing.T, w http.ResponseWriter)
		status int
	}{
		"a source that fails at once": {func(t *testing.T, w http.ResponseWriter) {
			_, err := io.Copy(w, iotest.ErrReader(io.ErrUnexpectedEOF))
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}, 500},
		"an empty source": {func(t *testing.T, w http.ResponseWriter) {
			n, err := w.(io.ReaderFrom).ReadFrom(struct{ io.Reader }{strings.NewReader("")})
			assert.Zero(t, n)
			assert.NoError(t, err)
		}, 500},
		"a source that fails later": {func(t *testing.T, w http.ResponseWriter) {
			n, err := io.Copy(w, io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(io.ErrUnexpectedEOF)))
			assert.EqualValues(t, 5, n)
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}, 200},
		"a long source": {func(t *testing.T, w http.ResponseWriter) {
			n, err := io.Copy(w, io.MultiReader(strings.NewReader(strings.Repeat("x", 1e5)), strings.NewReader("y")))
			assert.EqualValues(t, 1e5+1, n)
			assert.NoError(t, err)
		}, 200},
		"an empty write": {func(t *testing.T, w http.ResponseWriter) { io.WriteString(w, "") }, 200},
		"a flush":        {func(t *testing.T, w http.ResponseWriter) { http.NewResponseController(w).Flush() }, 200},
	} {
		t.Run(name, func(t *testing.T) {
			f := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(9).Burst(9), Key: httplimit.Global(), Refund: httplimit.OnFailure}))
			server := httptest.NewUnstartedServer(f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.begin(t, w)
				w.WriteHeader(500)
			})))
			server.Config.ErrorLog = log.New(io.Discard, "", 0) // which would tell of the superfluous ones
			server.Start()
			defer server.Close()
			resp, err := server.Client().Get(server.URL)
			require.NoError(t, err)
			body(t, resp)
			assert.Equal(t, c.status, resp.StatusCode)
			server.Close() // when all is settled
			want := map[int]int64{200: 8, 500: 9}[c.status]
			e := f.Explain(from("192.0.2.1:1"))[0]
			assert.Equal(t, want, e.Limiter.Peek(e.RawKey, 0).Remaining)
		})
	}

	// A writer that can't flush hasn't begun to answer when it is asked to.
	f := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(9).Burst(9), Refund: httplimit.OnFailure}))
	f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.ErrorIs(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
		w.WriteHeader(500)
	})).ServeHTTP(plainWriter{httptest.NewRecorder()}, from("192.0.2.1:1"))
	e := f.Explain(from("192.0.2.1:1"))[0]
	assert.EqualValues(t, 9, e.Limiter.Peek(e.RawKey, 0).Remaining)
}

// Who goes before the answer comes has caused the failure, or isn't hurt by it.
func TestRefundNothingToWhoHasGone(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"answered with an error": func(w http.ResponseWriter) { w.WriteHeader(502) },
		"answered":               func(w http.ResponseWriter) { io.WriteString(w, "hello") },
		"not answered":           func(http.ResponseWriter) {},
		"aborted":                func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		for _, late := range []bool{false, true} { // goes only after the answer has begun
			f := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(9).Burst(9), Refund: func(int) bool { return true }}))
			ctx, leave := context.WithCancel(t.Context())
			h := f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if late {
					w.WriteHeader(200)
				}
				leave()
				answer(w)
			}))
			func() {
				defer func() { recover() }()
				h.ServeHTTP(httptest.NewRecorder(), from("192.0.2.1:1").WithContext(ctx))
			}()
			e := f.Explain(from("192.0.2.1:1"))[0]
			want := map[bool]int64{false: 8, true: 9}[late]
			assert.Equal(t, want, e.Limiter.Peek(e.RawKey, 0).Remaining, "%s, late: %v", name, late)
		}
	}
}
