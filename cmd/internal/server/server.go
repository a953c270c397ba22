package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Config says how to serve. The zero value of each time is its default.
type Config struct {
	Handler http.Handler
	// TLS, if set, is how connections are encrypted.
	TLS *tls.Config
	// ReadHeader is how long a client may take to send a request's header; 0: 10 s. It ends slow-loris attacks.
	ReadHeader time.Duration
	// Idle is how long a connection may wait for its next request; 0: 2 minutes.
	Idle time.Duration
	// Drain is how long, at the end, connections are still accepted; 0: not at all. A load balancer that asks for
	// readiness needs that long to notice.
	Drain time.Duration
	// Grace is how long, after that, requests under way have to end; 0: 30 s.
	Grace time.Duration
	Log   *slog.Logger
}

// settle is how long a connection without a request has to send one more, and to be told to close.
const settle = 500 * time.Millisecond

// Server serves one handler on one or several listeners.
type Server struct {
	config Config
	http   http.Server
	cancel context.CancelFunc // of every request's context

	stopping atomic.Bool
	requests atomic.Int64  // under way, upgraded connections included
	open     atomic.Int64  // connections, upgraded ones not included
	changed  chan struct{} // one of the two is 0: look again

	mu        sync.Mutex
	listeners []net.Listener
}

// New returns a server for c.
func New(c Config) *Server {
	setDefault(&c.ReadHeader, 10*time.Second)
	setDefault(&c.Idle, 2*time.Minute)
	setDefault(&c.Grace, 30*time.Second)
	base, cancel := context.WithCancel(context.Background())
	s := &Server{config: c, cancel: cancel, changed: make(chan struct{}, 1)}
	s.http = http.Server{
		Handler:           http.HandlerFunc(s.serve),
		TLSConfig:         c.TLS,
		ReadHeaderTimeout: c.ReadHeader,
		IdleTimeout:       c.Idle,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnState:         s.count,
		ErrorLog:          log.New(complaints{c.Log}, "", 0),
		Protocols:         new(http.Protocols),
	}
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetHTTP2(true)
	s.http.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// complaints are what net/http logs: of clients, mostly, which say nothing of this server; but of its own panics, too.
type complaints struct{ log *slog.Logger }

func (c complaints) Write(p []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.HasPrefix(p, []byte("http: panic serving")) || bytes.HasPrefix(p, []byte("http2: panic serving")) {
		level = slog.LevelError
	}
	c.log.Log(context.Background(), level, string(bytes.TrimSpace(p)))
	return len(p), nil
}

// Grace returns how long requests under way have at the end.
func (s *Server) Grace() time.Duration { return s.config.Grace }

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// Serve accepts from l until Stop. It returns nil after Stop, or the error that ended it.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	var err error
	if s.config.TLS != nil {
		err = s.http.ServeTLS(l, "", "")
	} else {
		err = s.http.Serve(l)
	}
	if s.stopping.Load() {
		return nil
	}
	return err
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	defer s.less(&s.requests)
	if s.stopping.Load() {
		w.Header().Set("Connection", "close") // over HTTP/2, net/http makes a GOAWAY of it
	}
	s.config.Handler.ServeHTTP(w, r)
}

func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.less(&s.open)
	}
}

func (s *Server) less(n *atomic.Int64) {
	if n.Add(-1) == 0 && s.stopping.Load() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// Stop ends the server as the package comment says; at once if ctx is done. It returns an error if requests were cut.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Store(true)
	wait(ctx, s.config.Drain)
	s.mu.Lock()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()

	ctx, done := context.WithTimeout(ctx, s.config.Grace)
	defer done()
	defer s.cancel()
	s.quiesce(ctx)
	if err := s.http.Shutdown(ctx); err != nil || s.requests.Load() > 0 {
		s.cancel() // ends upgraded connections
		_ = s.http.Close()
		return errors.New("requests were still under way at the end of the grace time")
	}
	return nil
}

// quiesce returns when no request is under way and the connections without one are closed or have had their time.
func (s *Server) quiesce(ctx context.Context) {
	settled := time.NewTimer(settle)
	defer settled.Stop()
	for waited := false; s.requests.Load() > 0 || s.open.Load() > 0 && !waited; {
		select {
		case <-s.changed:
		case <-settled.C:
			waited = true
		case <-ctx.Done():
			return
		}
	}
}

// wait returns after d, or when ctx is done.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
