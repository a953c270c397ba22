package suggest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/replay"
	"github.com/casgate/ratelimit/rules"
)

const (
	maxEndpoints = 1 << 13
	// leastShare of the requests an endpoint must have for a rule of its own, unless it changes something.
	leastShare = 0.005
	// Rest is the name of the rule for all requests that have none of their own.
	Rest = "everything-else"
)

type endpoint struct {
	pattern  string
	requests int
}

// endpointRules returns rules for the busiest endpoints and for the rest. Their limits are to be found.
func (c *Config) endpointRules(result *Result) (rules.Spec, error) {
	seen := map[string]int{}
	total := 0
	request := replay.NewRequest(c.Host)
	var name []byte
	err := c.pass(result, func(e *accesslog.Entry) {
		if !request.Set(e) {
			return
		}
		total++
		name = replay.AppendEndpoint(name[:0], e.Method, request.HTTP.URL.Path)
		if _, ok := seen[string(name)]; !ok && len(seen) == maxEndpoints {
			for _, few := range busiest(seen)[maxEndpoints/2:] {
				delete(seen, few.pattern)
			}
		}
		seen[string(name)]++
	})
	if err != nil || total == 0 {
		return rules.Spec{}, err
	}
	unset := ratelimit.PerMinute(1)
	missing := rules.MissingUnset
	if key, err := rules.ParseKey(c.Key...); err == nil {
		last := key.Alternatives[len(key.Alternatives)-1]
		if slices.ContainsFunc(last, rules.Part.Optional) {
			missing = rules.MissingSkip
		}
	}
	spec := rules.Spec{Rules: []rules.RuleSpec{{Name: Rest, Key: c.Key, Limit: unset, Missing: missing}}}
	if _, err := rules.Compile(spec); err != nil {
		return rules.Spec{}, err
	}
	for _, e := range busiest(seen) {
		if len(spec.Rules) > c.Endpoints {
			break
		}
		method, _, _ := strings.Cut(e.pattern, " ")
		least := leastShare
		if method != "GET" && method != "HEAD" {
			least /= 10
		}
		if float64(e.requests) < least*float64(total) {
			continue
		}
		rule := rules.RuleSpec{Name: ruleName(e.pattern), Match: rules.List{e.pattern}, Key: c.Key, Limit: unset, Missing: missing}
		next := spec
		next.Rules = append(slices.Clone(spec.Rules), rule)
		if _, err := rules.Compile(next); err == nil { // else it can't be a pattern, or conflicts with a busier one
			spec = next
		}
	}
	return spec, nil
}

// busiest returns the endpoints, those with most requests first.
func busiest(seen map[string]int) []endpoint {
	all := make([]endpoint, 0, len(seen))
	for pattern, n := range seen {
		all = append(all, endpoint{pattern, n})
	}
	slices.SortFunc(all, func(a, b endpoint) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), cmp.Compare(a.pattern, b.pattern))
	})
	return all
}

// ruleName makes a name of a pattern: get-products-id.
func ruleName(pattern string) string {
	var b strings.Builder
	for _, c := range []byte(strings.ToLower(pattern)) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteByte(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-")
	if name == "get" || name == "post" || name == "head" {
		name += "-root"
	}
	return name[:min(len(name), 64)]
}
