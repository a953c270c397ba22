package settings

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/fleet"
	"github.com/casgate/ratelimit/redislimit"
	"github.com/casgate/ratelimit/rules"
)

// fieldError is a mistake in a field of Redis.
type fieldError struct {
	name string
	err  error
}

func (e *fieldError) Error() string { return e.name + ": " + e.err.Error() }

var (
	modes    = []string{"strict", "deny_cache", "lease"}
	policies = []string{"local", "open", "closed"}
)

// Config returns what r means to redislimit. The error is a *fieldError.
func (r *Redis) Config() (c redislimit.Config, mode redislimit.Mode, err error) {
	bad := func(name, format string, args ...any) (redislimit.Config, redislimit.Mode, error) {
		return c, mode, &fieldError{name, fmt.Errorf(format, args...)}
	}
	at := slices.Index(modes, cmp.Or(r.Mode, modes[0]))
	if at < 0 {
		return bad("mode", "%q: want strict, deny_cache or lease", r.Mode)
	}
	mode = redislimit.Mode(at)
	if at = slices.Index(policies, cmp.Or(r.OnError, policies[0])); at < 0 {
		return bad("on_error", "%q: want local, open or closed", r.OnError)
	}
	c = redislimit.Config{Prefix: r.Prefix, Budget: r.Budget, OnError: redislimit.Policy(at), Servers: r.Servers}
	switch {
	case r.Budget < 0:
		return bad("budget", "%v: must not be negative", r.Budget)
	case r.Servers < 0 || r.Servers > redislimit.MaxServers:
		return bad("servers", "%d: must be 1 to %d, or 0 to learn it", r.Servers, redislimit.MaxServers)
	case strings.ContainsAny(r.Prefix, "{}"):
		return bad("prefix", "%q: must not contain braces", r.Prefix)
	}
	if r.SecretFile != "" {
		if c.Secret, err = os.ReadFile(r.SecretFile); err != nil {
			return bad("secret_file", "%w", err)
		}
		if len(c.Secret) < minToken {
			return bad("secret_file", "%s: want at least %d bytes", r.SecretFile, minToken)
		}
	}
	return c, mode, nil
}

// CheckStores returns which rules can't be counted on the store that they name.
func CheckStores(spec rules.Spec, set *rules.Set) []rules.Problem {
	var problems []rules.Problem
	for i, r := range spec.Rules {
		store, path := cmp.Or(r.Store, spec.Store), fmt.Sprintf("rules[%d].store", i)
		if r.Store == "" {
			path = "store"
		}
		if store == "" || store == "local" {
			continue
		}
		for _, limit := range set.Limits() {
			if limit.Rule.Name != r.Name || limit.Limit == (ratelimit.Rule{}) {
				continue
			}
			if err := fleet.Check(rules.Build{Rule: r.Name, Plan: limit.Plan, Store: store, Limit: limit.Limit}); err != nil {
				text := strings.TrimPrefix(err.Error(), ratelimit.ErrInvalidRule.Error()+": ")
				problems = append(problems, rules.Problem{Path: path, Rule: r.Name, Kind: rules.ErrLimiter, Text: text})
				break
			}
		}
	}
	return problems
}
