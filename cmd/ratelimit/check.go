package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/forwardauth"
	"github.com/casgate/ratelimit/cmd/internal/limits"
	"github.com/casgate/ratelimit/cmd/internal/settings"
)

const checkHelp = `Answers another server that asks, before it passes a request on, whether the request is within the limits: 200 if it is,
else 429 with a Retry-After and the RateLimit fields. It has an endpoint for each:

  /nginx     for auth_request, with X-Original-Method and X-Original-URI. nginx takes only 403 for a refusal, so that is
             what it gets, and X-RateLimit-Status says what the client is to get.
  /caddy     for forward_auth
  /traefik   for ForwardAuth

Only trusted proxies may ask, as a question uses up the client's limit. Unless --trusted-proxy or the rule file's
proxies.trusted names others, those are this machine's. The client's address is the one that they write into
X-Forwarded-For.

It never learns how a request was answered: a rule's refund gives nothing back here, and all its requests count.`

const checkExamples = `  # for nginx on this machine: 100 requests a minute for each address
  ratelimit check --limit 100/minute --burst 20 --key ip

  # location / {
  #     auth_request /_limit;
  #     error_page 403 = @limited;
  #     proxy_pass http://127.0.0.1:3000;
  # }
  # location = /_limit {
  #     internal;
  #     proxy_pass http://127.0.0.1:8081/nginx;
  #     proxy_pass_request_body off;
  #     proxy_set_header Content-Length "";
  #     proxy_set_header Host $host;
  #     proxy_set_header X-Original-Method $request_method;
  #     proxy_set_header X-Original-URI $request_uri;
  #     proxy_set_header X-Forwarded-For $remote_addr;
  # }
  # location @limited { return 429; }

  # for Caddy:  forward_auth 127.0.0.1:8081 { uri /caddy }

  # by a rule file, on a socket
  ratelimit check --config rules.yaml --listen unix:/run/ratelimit/check.sock`

// newCheck returns the command check; clock is nil but in tests.
func newCheck(clock ratelimit.Clock) *cobra.Command {
	var f serveFlags
	command := &cobra.Command{
		Use:     "check (--limit RATE | --config FILE)",
		Short:   "Answer nginx, Caddy or Traefik, which ask before they pass a request on",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    noArgs,
	}
	f.add(command, "127.0.0.1:8081")
	f.trustedByDefault = []string{"loopback", "unix"}
	command.RunE = func(command *cobra.Command, _ []string) error { return f.serve(command, clock, newForwardAuth) }
	return command
}

// newForwardAuth returns the endpoints that other servers ask at.
func newForwardAuth(file *settings.File, l *limits.Limits, log *slog.Logger) (app, error) {
	handler, err := forwardauth.New(l, log)
	warn := func(file *settings.File) error {
		var names []string
		for _, r := range file.Rules {
			if len(r.Refund) > 0 {
				names = append(names, r.Name)
			}
		}
		if names != nil {
			log.Warn("nothing is refunded here: who asks never tells how a request was answered, so all count", "rules", names)
		}
		return nil
	}
	_ = warn(file)
	return app{handler: handler, lines: [][2]string{{"endpoints", "/nginx, /caddy, /traefik"}}, apply: warn}, err
}
