package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/admin"
	"github.com/casgate/ratelimit/cmd/internal/fleet"
	"github.com/casgate/ratelimit/cmd/internal/limits"
	"github.com/casgate/ratelimit/cmd/internal/recent"
	"github.com/casgate/ratelimit/cmd/internal/server"
	"github.com/casgate/ratelimit/cmd/internal/service"
	"github.com/casgate/ratelimit/cmd/internal/settings"
)

// served is what a command puts on its addresses.
type served struct {
	limits  *limits.Limits
	fleet   *fleet.Fleet
	handler http.Handler
	lines   [][2]string                // what to tell people at the start; see service.Service
	apply   func(*settings.File) error // puts what a changed file says into force, beside its rules
	log     *slog.Logger
	errors  *recent.Entries
}

// limits returns the limits of a file, and the fleet that they may be shared with, which is to be closed.
func (f *serveFlags) limits(file *settings.File, log *slog.Logger, clock ratelimit.Clock) (*limits.Limits, *fleet.Fleet, error) {
	config, mode, err := file.Server.Redis.Config()
	if err != nil {
		return nil, nil, err
	}
	shared := fleet.New(config, mode, ratelimit.Config{Clock: clock, MaxKeys: file.Server.MaxKeys}, log)
	l, err := limits.New(limits.Config{Spec: file.Spec, Log: log, NewLimiter: shared.NewLimiter})
	if err != nil {
		shared.Close()
		return nil, nil, err
	}
	return l, shared, nil
}

// serve serves until it is told to end.
func (f *serveFlags) serve(command *cobra.Command, file *settings.File, what served) error {
	c := file.Server
	s := &service.Service{
		Listen:     c.Listen,
		Handler:    what.handler,
		ReadHeader: c.ReadHeader,
		Idle:       c.Idle,
		Drain:      c.Drain,
		Grace:      c.Grace,
		Lines:      what.lines,
		Out:        command.OutOrStdout(),
		Log:        what.log,
	}
	if c.TLS != nil {
		cert, err := server.LoadCertificate(c.TLS.Cert, c.TLS.Key)
		if err != nil {
			return err
		}
		s.TLS = cert
		s.Background = append(s.Background, func(ctx context.Context) { cert.Follow(ctx, what.log) })
	}
	if c.Admin != settings.AdminOff {
		token, err := readToken(c.AdminTokenFile)
		if err != nil {
			return err
		}
		page, err := admin.New(admin.Config{
			Limits: what.limits, Fleet: what.fleet, Ready: s.Ready, Token: token, Version: version(), Errors: what.errors, Log: what.log,
		})
		if err != nil {
			return err
		}
		s.Admin, s.AdminHandler, s.AdminGuarded = c.Admin, page, token != ""
		s.Background = append(s.Background, page.Run)
	}
	if f.config != "" {
		s.Background = append(s.Background, f.follow(command, c, what))
	}
	return s.Run(command.Context())
}

// follow returns what keeps the rules in step with the file.
func (f *serveFlags) follow(command *cobra.Command, started settings.Server, what served) func(context.Context) {
	adapt := func(file *settings.File) error { return f.override(command, file) }
	apply := func(file *settings.File) {
		if err := what.apply(file); err != nil {
			what.log.Error("not reloaded", "error", err.Error())
		}
		now, then := file.Server, started
		now.Upstreams, then.Upstreams = nil, nil
		if !reflect.DeepEqual(now, then) {
			what.log.Warn("the section server has changed: but for upstreams, restart to put it into force")
		}
	}
	follower := what.limits.Follow(f.config, adapt, apply)
	return func(ctx context.Context) {
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
		follower.Run(ctx, hangups)
	}
}

// readToken reads the token from a file; no file, no token.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return settings.ReadToken(path)
}
