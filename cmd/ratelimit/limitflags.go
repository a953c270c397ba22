package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit"
)

// limitFlags are the one rule of a command line without a rule file.
type limitFlags struct {
	limit     string
	burst     int64
	algorithm string
	keys      []string
}

func (f *limitFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.limit, "limit", "", "how many requests a client may make over time: 100/minute, 10/s, 5/2h, 1000/day")
	flags.Int64Var(&f.burst, "burst", 0, "how many of them at once (token bucket only; default: the limit's number)")
	flags.StringVar(&f.algorithm, "algorithm", "token_bucket", "token_bucket, fixed_window, sliding_window_log or sliding_window_counter")
	flags.StringSliceVar(&f.keys, "key", []string{"ip"}, "what a client is: ip, or header:NAME (requests without that field: by address)")
	fixed := func(values ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	_ = command.RegisterFlagCompletionFunc("algorithm", fixed("token_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"))
	_ = command.RegisterFlagCompletionFunc("key", fixed("ip", "header:X-API-Key", "header:Authorization"))
	_ = command.RegisterFlagCompletionFunc("limit", fixed("10/s", "100/minute", "1000/hour", "10000/day"))
	_ = command.RegisterFlagCompletionFunc("burst", cobra.NoFileCompletions)
}

// rule returns the limit that the flags describe.
func (f *limitFlags) rule(command *cobra.Command) (ratelimit.Rule, error) {
	rate, err := ratelimit.ParseRate(f.limit)
	if err != nil {
		return ratelimit.Rule{}, usage("--limit: %s", reason(err))
	}
	rule := rate.Burst(rate.Tokens)
	if err := rule.Algorithm.UnmarshalText([]byte(strings.ToUpper(f.algorithm))); err != nil {
		return ratelimit.Rule{}, usage("--algorithm: %q: want token_bucket, fixed_window, sliding_window_log or sliding_window_counter", f.algorithm)
	}
	if command.Flags().Changed("burst") {
		if rule.Algorithm != ratelimit.TokenBucket {
			return ratelimit.Rule{}, usage("--burst: %d: only a token_bucket has a burst; a %s lets its whole limit pass at once", f.burst, f.algorithm)
		}
		if f.burst < 1 {
			return ratelimit.Rule{}, usage("--burst: %d: must be at least 1", f.burst)
		}
		rule.Capacity = f.burst
	}
	if err := rule.Validate(); err != nil {
		return ratelimit.Rule{}, usage("--limit %s: %s", f.limit, reason(err))
	}
	return rule, nil
}

// reason returns what err says, without the words that say it's about a rule.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), fmt.Sprintf("%v: ", ratelimit.ErrInvalidRule))
}
