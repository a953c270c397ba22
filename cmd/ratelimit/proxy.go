package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/limits"
	"github.com/casgate/ratelimit/cmd/internal/settings"
	"github.com/casgate/ratelimit/cmd/internal/upstream"
	"github.com/casgate/ratelimit/rules"
)

const proxyHelp = `Stands before an HTTP server: passes on what is within the limits, and answers the rest with 429, a Retry-After and the
RateLimit fields. Streams, WebSockets, HTTP/2 and gRPC pass through.

One rule stands on the command line; more, for several plans, endpoints and upstreams, stand in a rule file.

Clients are told apart by the address that connects. Behind a load balancer or a CDN that is always the same one: name
it with --trusted-proxy, so that its X-Forwarded-For is believed. Nobody else's is.

On SIGTERM or SIGINT it stops accepting, answers what is under way within --grace, and exits with 0. On SIGHUP it reads
the rule file again; what clients have used stays.`

const proxyExamples = `  # 100 requests a minute for each address, of which 20 may come at once, before a built-in server
  ratelimit proxy --limit 100/minute --burst 20 --key ip

  # before your own server, by API key
  ratelimit proxy --limit 1000/hour --key header:X-API-Key --upstream http://127.0.0.1:3000

  # exactly 5 in any 10 seconds
  ratelimit proxy --limit 5/10s --algorithm sliding_window_log --upstream http://127.0.0.1:3000

  # behind a load balancer in 10.0.0.0/8, with TLS
  ratelimit proxy --config rules.yaml --listen :443 --tls-cert cert.pem --tls-key key.pem --trusted-proxy 10.0.0.0/8`

// newProxy returns the command proxy; clock is nil but in tests.
func newProxy(clock ratelimit.Clock) *cobra.Command {
	var f serveFlags
	var upstreams []string
	command := &cobra.Command{
		Use:     "proxy (--limit RATE | --config FILE) [--upstream URL]",
		Short:   "Stand before an HTTP server as a reverse proxy",
		Long:    proxyHelp,
		Example: proxyExamples,
		Args:    noArgs,
	}
	f.add(command, "127.0.0.1:8080")
	command.Flags().StringArrayVar(&upstreams, "upstream", nil,
		"`URL` of the server behind: http://host:port, https://host, h2c://host:port, unix:/path/to.sock (default: an echo)")
	_ = command.RegisterFlagCompletionFunc("upstream", cobra.NoFileCompletions)
	f.adapt = func(file *settings.File) error {
		if len(upstreams) > 1 {
			return usage("--upstream: several belong in a rule file, each with its host or path")
		}
		for _, url := range upstreams {
			target := upstream.Target{URL: url}
			if errs := target.Check(); errs != nil {
				return usage("--upstream: %v", errors.Unwrap(errs[0]))
			}
			file.Server.Upstreams = []upstream.Target{target}
		}
		return nil
	}
	command.RunE = func(command *cobra.Command, _ []string) error { return f.serve(command, clock, newGateway) }
	return command
}

// newGateway returns the way to the upstreams.
func newGateway(file *settings.File, l *limits.Limits, log *slog.Logger) (app, error) {
	router, err := upstream.NewSwitch(file.Server.Upstreams, l.FromProxy, log)
	if err != nil {
		return app{}, err
	}
	return app{
		handler: l.Wrap(router),
		lines:   describe(file),
		apply:   func(changed *settings.File) error { return router.Set(changed.Server.Upstreams) },
	}, nil
}

// describe says in words what stands behind the limits.
func describe(file *settings.File) [][2]string {
	var lines [][2]string
	if len(file.Server.Upstreams) == 0 {
		lines = append(lines, [2]string{"upstream", "the built-in echo (name yours with --upstream)"})
	}
	for _, t := range file.Server.Upstreams {
		lines = append(lines, [2]string{"upstream", t.URL})
	}
	return lines
}

// describeRules says in words what is limited.
func describeRules(file *settings.File) [][2]string {
	if len(file.Rules) > 5 {
		return [][2]string{{"limits", fmt.Sprintf("%d rules", len(file.Rules))}}
	}
	var lines [][2]string
	for _, r := range file.Rules {
		lines = append(lines, [2]string{"limit", describeRule(&r)})
	}
	return lines
}

func describeRule(r *rules.RuleSpec) string {
	var parts []string
	switch {
	case r.Mode == rules.Block:
		parts = append(parts, "none pass")
	case r.Limit == (ratelimit.Rate{}):
		parts = append(parts, "by plan")
	default:
		parts = append(parts, r.Limit.String())
	}
	if r.Burst != nil {
		parts = append(parts, fmt.Sprintf("%d at once", *r.Burst))
	}
	if len(r.Key) > 0 {
		parts = append(parts, "by "+strings.Join(r.Key, ", else by "))
	}
	text := strings.Join(parts, ", ")
	if len(r.Match) > 0 {
		text += ": " + strings.Join(r.Match, ", ")
	}
	return text
}
