package main

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit/cmd/internal/recent"
	"github.com/casgate/ratelimit/cmd/internal/server"
	"github.com/casgate/ratelimit/cmd/internal/settings"
	"github.com/casgate/ratelimit/rules"
)

// serveFlags are what the commands that serve have in common. What stands on the command line wins over the file.
type serveFlags struct {
	limitFlags
	config         string
	listen         []string
	admin          string
	adminTokenFile string
	trusted        []string
	redis          string
	tlsCert        string
	tlsKey         string
	drain          time.Duration
	grace          time.Duration
	logFormat      string
	logLevel       string

	trustedByDefault []string                   // proxies that are believed if neither the file nor a flag names any
	adapt            func(*settings.File) error // puts a command's own flags over the file; nil: it has none
}

func (f *serveFlags) add(command *cobra.Command, listen string) {
	flags := command.Flags()
	flags.SortFlags = false
	f.limitFlags.add(command)
	flags.StringVar(&f.config, "config", "", "a rule `FILE` instead of these four; reloaded when it changes and on SIGHUP")
	flags.StringSliceVar(&f.listen, "listen", []string{listen}, "`ADDRESS`: host:port, unix:/path/to.sock, systemd:NAME; may be repeated")
	flags.StringVar(&f.admin, "admin", "127.0.0.1:9090", "`ADDRESS` of the status page, /metrics, /healthz and /readyz; off for none")
	flags.StringVar(&f.adminTokenFile, "admin-token-file", "", "a `FILE` with the token that the admin address wants; needed off loopback")
	flags.StringSliceVar(&f.trusted, "trusted-proxy", nil, "a `PREFIX` whose X-Forwarded-For is believed: 10.0.0.0/8, loopback, private, unix")
	flags.StringVar(&f.redis, "redis", "", "`URL` of the Redis that the limits are shared over: redis://[user:password@]host:port[/db]")
	flags.StringVar(&f.tlsCert, "tls-cert", "", "a PEM `FILE` with the certificate to serve TLS with")
	flags.StringVar(&f.tlsKey, "tls-key", "", "a PEM `FILE` with its key")
	flags.DurationVar(&f.drain, "drain", 0, "`TIME` to go on accepting after SIGTERM, for a load balancer to notice /readyz")
	flags.DurationVar(&f.grace, "grace", 30*time.Second, "`TIME` that requests under way then have to end")
	flags.StringVar(&f.logFormat, "log-format", "text", "`FORMAT`: text or json")
	flags.StringVar(&f.logLevel, "log-level", "info", "`LEVEL`: debug, info, warn or error")
	_ = command.MarkFlagFilename("config", "yaml", "yml", "json")
	_ = command.RegisterFlagCompletionFunc("log-format", words("text", "json"))
	_ = command.RegisterFlagCompletionFunc("log-level", words("debug", "info", "warn", "error"))
	for _, name := range []string{"listen", "admin", "trusted-proxy", "redis", "drain", "grace"} {
		_ = command.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// file returns what to serve, from the rule file or the flags, complete and valid.
func (f *serveFlags) file(command *cobra.Command) (*settings.File, error) {
	file := &settings.File{}
	if f.config != "" {
		if flag := f.given(command); flag != "" {
			return nil, usage("--%s: stands in the rule file, if there is one", flag)
		}
		var err error
		if file, err = readFile(f.config, command.InOrStdin()); err != nil {
			return nil, err
		}
	} else {
		if f.limit == "" {
			return nil, usage("want --limit, such as --limit 100/minute, or --config FILE")
		}
		rule, err := f.rule(command)
		if err != nil {
			return nil, err
		}
		file.Rules = []rules.RuleSpec{rule}
	}
	if err := f.override(command, file); err != nil {
		return nil, err
	}
	return file, nil
}

// override puts the flags over what the file says, and defaults into the gaps.
func (f *serveFlags) override(command *cobra.Command, file *settings.File) error {
	changed := command.Flags().Changed
	s := &file.Server
	if changed("listen") || len(s.Listen) == 0 {
		s.Listen = f.listen
		for _, address := range s.Listen {
			if err := server.CheckAddress(address); err != nil {
				return usage("--listen: %v", err)
			}
		}
	}
	if changed("admin") || s.Admin == "" {
		s.Admin = f.admin
		if err := server.CheckAddress(s.Admin); err != nil && s.Admin != settings.AdminOff {
			return usage("--admin: %v, or off", err)
		}
	}
	if f.adminTokenFile != "" {
		s.AdminTokenFile = f.adminTokenFile
		if _, err := settings.ReadToken(s.AdminTokenFile); err != nil {
			return usage("--admin-token-file: %v", err)
		}
	}
	if f.tlsCert != "" || f.tlsKey != "" {
		if f.tlsCert == "" || f.tlsKey == "" {
			return usage("--tls-cert and --tls-key: want both or none")
		}
		s.TLS = &settings.TLS{Cert: f.tlsCert, Key: f.tlsKey}
	}
	for name, d := range map[string]*time.Duration{"drain": &f.drain, "grace": &f.grace} {
		if *d < 0 {
			return usage("--%s: %v: must not be negative", name, *d)
		}
	}
	if changed("drain") || s.Drain == 0 {
		s.Drain = f.drain
	}
	if changed("grace") || s.Grace == 0 {
		s.Grace = f.grace
	}
	if s.MaxKeys == 0 {
		s.MaxKeys = settings.DefaultMaxKeys
	}
	file.Proxies.Trusted = slices.Concat(file.Proxies.Trusted, f.trusted)
	if len(file.Proxies.Trusted) == 0 {
		file.Proxies.Trusted = f.trustedByDefault
	}
	if f.redis != "" {
		file.Store = f.redis
	}
	var broken *rules.Error
	set, err := rules.Compile(file.Spec)
	if errors.As(err, &broken) {
		return flagError(broken)
	}
	if err != nil {
		return err
	}
	if problems := settings.CheckStores(file.Spec, set); problems != nil {
		return flagError(&rules.Error{Problems: problems})
	}
	if f.adapt != nil {
		return f.adapt(file)
	}
	return nil
}

// logger returns the logger that the flags describe, which writes to stderr, and where it keeps its latest errors.
func (f *serveFlags) logger(command *cobra.Command) (*slog.Logger, *recent.Entries, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, nil, usage("--log-level: %q: want debug, info, warn or error", f.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch f.logFormat {
	case "text":
		handler = slog.NewTextHandler(command.ErrOrStderr(), options)
	case "json":
		handler = slog.NewJSONHandler(command.ErrOrStderr(), options)
	default:
		return nil, nil, usage("--log-format: %q: want text or json", f.logFormat)
	}
	keeping, entries := recent.NewHandler(handler)
	return slog.New(keeping), entries, nil
}
