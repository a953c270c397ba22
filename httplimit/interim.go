package httplimit

import "github.com/casgate/ratelimit/rules"

// ParsePrefixes is rules.ParsePrefixes.
var ParsePrefixes = rules.ParsePrefixes
