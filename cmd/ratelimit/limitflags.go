package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// limitFlags are the one rule of a command line without a rule file.
type limitFlags struct {
	limit     string
	burst     int64
	algorithm string
	keys      []string
}

const algorithmWords = "token_bucket, fixed_window, sliding_window_log or sliding_window_counter"

func (f *limitFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.limit, "limit", "", "how many requests a client may make, a `RATE`: 100/minute, 10/s, 5/2h, 1000/day")
	flags.Int64Var(&f.burst, "burst", 0, "how many of them, `N`, at once (token_bucket only; default: the limit's number)")
	flags.StringVar(&f.algorithm, "algorithm", "token_bucket", "`NAME`: "+algorithmWords)
	flags.StringSliceVar(&f.keys, "key", []string{"ip"}, "what a client is, a `KEY`: ip, or header:NAME (requests without it: by address)")
	_ = command.RegisterFlagCompletionFunc("algorithm", words("token_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"))
	_ = command.RegisterFlagCompletionFunc("key", words("ip", "header:X-API-Key", "header:Authorization"))
	_ = command.RegisterFlagCompletionFunc("limit", words("10/s", "100/minute", "1000/hour", "10000/day"))
	_ = command.RegisterFlagCompletionFunc("burst", cobra.NoFileCompletions)
}

func words(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// given returns the first of the flags that stands on the command line.
func (f *limitFlags) given(command *cobra.Command) string {
	for _, name := range []string{"limit", "burst", "algorithm", "key"} {
		if command.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// rule returns the rule that the flags describe. What else is wrong with it, the rules' own validation finds.
func (f *limitFlags) rule(command *cobra.Command) (rules.RuleSpec, error) {
	rule := rules.RuleSpec{Name: "default", Key: f.keys}
	var err error
	if rule.Limit, err = ratelimit.ParseRate(f.limit); err != nil {
		return rule, usage("--limit: %s", reason(err))
	}
	if err := rule.Algorithm.UnmarshalText([]byte(f.algorithm)); err != nil {
		return rule, usage("--algorithm: %q: want %s", f.algorithm, algorithmWords)
	}
	if command.Flags().Changed("burst") {
		rule.Burst = &f.burst
	}
	if key, err := rules.ParseKey(f.keys...); err == nil && len(key.Alternatives) > 0 {
		if last := key.Alternatives[len(key.Alternatives)-1]; slices.ContainsFunc(last, rules.Part.Optional) {
			rule.Key = append(slices.Clone(rule.Key), "ip")
		}
	}
	return rule, nil
}

// flagError says in terms of flags what is wrong with a spec that was made of them.
func flagError(err *rules.Error) error {
	p := err.Problems[0]
	name := "limit"
	for field, flag := range map[string]string{"burst": "burst", "algorithm": "algorithm", "key": "key", "proxies": "trusted-proxy", "store": "redis"} {
		if strings.Contains(p.Path, field) {
			name = flag
		}
	}
	return usage("--%s: %s", name, p.Text)
}

// reason returns what err says, without the words that say it's about a rule.
func reason(err error) string {
	text := strings.TrimPrefix(err.Error(), ratelimit.ErrInvalidRule.Error()+": ")
	return strings.TrimPrefix(text, "Refill: ")
}
