// Package service is the life of a process that serves: it opens the addresses, says where they are, serves, and ends
// within its grace time on SIGINT or SIGTERM. The commands proxy and check are services.
package service

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/casgate/ratelimit/cmd/internal/server"
)

// Service is what a process serves.
type Service struct {
	Listen  []string // see server.Listen
	Handler http.Handler
	TLS     *server.Certificate // nil: none

	Admin        string // empty: none
	AdminHandler http.Handler
	// AdminGuarded says that AdminHandler wants a token. Otherwise only this machine may reach it.
	AdminGuarded bool

	ReadHeader, Idle, Drain, Grace time.Duration // see server.Config

	// Lines say, below the addresses, what is served; in pairs of a word and a text.
	Lines [][2]string
	// Background runs beside the servers, until they have ended; then its ctx is done.
	Background []func(ctx context.Context)

	Out io.Writer    // for people
	Log *slog.Logger // for machines

	ready atomic.Bool
}

// Ready reports whether requests are welcome: from when the addresses are open until the end begins.
func (s *Service) Ready() bool { return s.ready.Load() }

// Run serves until ctx is done or a signal says so, and returns nil then.
func (s *Service) Run(ctx context.Context) error {
	floor := heapFloor()
	defer runtime.KeepAlive(floor)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()

	main, admin := s.servers()
	ended := make(chan error, len(s.Listen)+1)
	addresses, err := s.open(main, admin, ended)
	if err != nil {
		return err
	}
	s.ready.Store(true)
	s.print(addresses)
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	for _, work := range s.Background {
		go work(background)
	}
	server.Ready(background, "serving "+strings.Join(addresses.main, ", "))

	select {
	case err := <-ended: // nobody has asked for it
		s.stop(closed(), main, admin)
		return err
	case <-ctx.Done():
		stop() // from here on, a second signal ends the process at once
		s.Log.Info("stopping", "grace", main.Grace().String())
		s.stop(context.Background(), main, admin)
		return nil
	}
}

// closed returns a context that is done.
func closed() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (s *Service) servers() (main, admin *server.Server) {
	c := server.Config{
		Handler: s.Handler, ReadHeader: s.ReadHeader, Idle: s.Idle, Drain: s.Drain, Grace: s.Grace, Log: s.Log,
	}
	if s.TLS != nil {
		c.TLS = s.TLS.Config()
	}
	main = server.New(c)
	if s.Admin != "" {
		admin = server.New(server.Config{Handler: s.AdminHandler, Grace: time.Second, Log: s.Log})
	}
	return main, admin
}

// addresses are those that are listened on.
type addresses struct {
	main  []string
	admin string
}

// open opens all addresses, or none, and serves them; ended gets the error of one that ends.
func (s *Service) open(main, admin *server.Server, ended chan<- error) (addresses, error) {
	var opened []net.Listener
	fail := func(err error) (addresses, error) {
		for _, l := range opened {
			_ = l.Close()
		}
		return addresses{}, err
	}
	var at addresses
	for _, address := range s.Listen {
		l, err := server.Listen(address)
		if err != nil {
			return fail(err)
		}
		opened = append(opened, l)
		at.main = append(at.main, s.url(l.Addr(), s.TLS != nil))
	}
	if admin != nil {
		l, err := server.Listen(s.Admin)
		if err != nil {
			return fail(fmt.Errorf("admin: %w", err))
		}
		opened = append(opened, l)
		if !s.AdminGuarded && !server.Loopback(l.Addr()) {
			return fail(fmt.Errorf("admin: %s can be reached from other machines, and nothing guards it: "+
				"set a token (admin_token_file or --admin-token-file), or listen on 127.0.0.1", s.Admin))
		}
		at.admin = s.url(l.Addr(), false)
	}
	for i, l := range opened {
		to := main
		if i >= len(s.Listen) {
			to = admin
		}
		go func() {
			if err := to.Serve(l); err != nil {
				ended <- fmt.Errorf("%s: %w", l.Addr(), err)
			}
		}()
	}
	return at, nil
}

func (s *Service) url(a net.Addr, secure bool) string {
	switch {
	case a.Network() == "unix":
		return "unix:" + a.String()
	case secure:
		return "https://" + a.String()
	}
	return "http://" + a.String()
}

// print tells people where to go.
func (s *Service) print(at addresses) {
	lines := make([][2]string, 0, 8)
	for _, a := range at.main {
		lines = append(lines, [2]string{"listening", a})
	}
	if at.admin != "" {
		lines = append(lines, [2]string{"admin", at.admin})
	}
	for _, l := range append(lines, s.Lines...) {
		_, _ = fmt.Fprintf(s.Out, "%-10s %s\n", l[0], l[1])
	}
}

// stop ends the servers: the admin one last, so that it can be asked how the end goes.
func (s *Service) stop(ctx context.Context, main, admin *server.Server) {
	s.ready.Store(false)
	server.Stopping()
	if err := main.Stop(ctx); err != nil {
		s.Log.Warn("stopped", "error", err.Error())
	} else {
		s.Log.Info("stopped")
	}
	if admin != nil {
		_ = admin.Stop(closed())
	}
}
