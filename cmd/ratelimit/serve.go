package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/admin"
	"github.com/casgate/ratelimit/cmd/internal/fleet"
	"github.com/casgate/ratelimit/cmd/internal/limits"
	"github.com/casgate/ratelimit/cmd/internal/server"
	"github.com/casgate/ratelimit/cmd/internal/service"
	"github.com/casgate/ratelimit/cmd/internal/settings"
)

// app is what a command has behind its limits.
type app struct {
	handler http.Handler
	lines   [][2]string                // what to tell people at the start; see service.Service
	apply   func(*settings.File) error // puts what a changed file says into force, beside its rules; nil: nothing else
}

// serve makes the limits that the flags or their file describe, builds the app that they stand before, and serves it
// until it is told to end. clock is nil but in tests.
func (f *serveFlags) serve(command *cobra.Command, clock ratelimit.Clock,
	build func(*settings.File, *limits.Limits, *slog.Logger) (app, error)) error {
	file, err := f.file(command)
	if err != nil {
		return err
	}
	log, errors, err := f.logger(command)
	if err != nil {
		return err
	}
	c := file.Server
	redis, mode, err := c.Redis.Config()
	if err != nil {
		return err
	}
	shared := fleet.New(redis, mode, ratelimit.Config{Clock: clock, MaxKeys: c.MaxKeys}, log)
	defer shared.Close()
	l, err := limits.New(limits.Config{Spec: file.Spec, Log: log, NewLimiter: shared.NewLimiter})
	if err != nil {
		return err
	}
	defer l.Close()
	a, err := build(file, l, log)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(c.Listen, onSocket) && !slices.Contains(file.Proxies.Trusted, "unix") {
		log.Warn("who connects to a unix socket has no address, so that rules by ip refuse it",
			"hint", "trust the proxy there to name its clients: --trusted-proxy unix, or unix in proxies.trusted")
	}
	s := &service.Service{
		Listen:     c.Listen,
		Handler:    a.handler,
		ReadHeader: c.ReadHeader,
		Idle:       c.Idle,
		Drain:      c.Drain,
		Grace:      c.Grace,
		Lines:      append(a.lines, describeRules(file)...),
		Out:        command.OutOrStdout(),
		Log:        log,
	}
	if c.TLS != nil {
		cert, err := server.LoadCertificate(c.TLS.Cert, c.TLS.Key)
		if err != nil {
			return err
		}
		s.TLS = cert
		s.Background = append(s.Background, func(ctx context.Context) { cert.Follow(ctx, log) })
	}
	if c.Admin != settings.AdminOff {
		token, err := readToken(c.AdminTokenFile)
		if err != nil {
			return err
		}
		page, err := admin.New(admin.Config{
			Limits: l, Fleet: shared, Ready: s.Ready, Token: token, Version: version(), Errors: errors, Log: log,
		})
		if err != nil {
			return err
		}
		s.Admin, s.AdminHandler, s.AdminGuarded = c.Admin, page, token != ""
		s.Background = append(s.Background, page.Run)
	}
	if f.config != "" {
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP) // before anybody knows that the process is up, because it would end it
		defer signal.Stop(hangups)
		run := f.follow(command, c, l, a.apply, log).Run
		if f.config == "-" {
			run = func(ctx context.Context, reload <-chan os.Signal) { refuseReloads(ctx, reload, log) }
		}
		s.Background = append(s.Background, func(ctx context.Context) { run(ctx, hangups) })
	}
	return s.Run(command.Context())
}

// refuseReloads says, each time that a reload is asked for, that stdin can't be read again.
func refuseReloads(ctx context.Context, reload <-chan os.Signal, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
			log.Warn("the rules came from stdin, which can't be read again: the old ones stand")
		}
	}
}

// onSocket reports whether an address is a Unix socket's path.
func onSocket(address string) bool { return strings.HasPrefix(address, "unix:") }

// follow returns what keeps the limits, and by apply the app, in step with the file.
func (f *serveFlags) follow(command *cobra.Command, started settings.Server, l *limits.Limits,
	apply func(*settings.File) error, log *slog.Logger) *limits.Follower {
	return l.Follow(f.config,
		func(file *settings.File) error { return f.override(command, file) },
		func(file *settings.File) {
			if apply != nil {
				if err := apply(file); err != nil {
					log.Error("not reloaded", "error", err.Error())
				}
			}
			now, then := file.Server, started
			now.Upstreams, then.Upstreams = nil, nil
			if !reflect.DeepEqual(now, then) {
				log.Warn("the section server has changed: but for upstreams, restart to put it into force")
			}
		})
}

// readToken reads the token from a file; no file, no token.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return settings.ReadToken(path)
}
