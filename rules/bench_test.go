package rules_test

import (
	"fmt"
	"testing"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// manyRules is an API of n endpoints, each with a limit for each address, and one limit for all keys.
func manyRules(n int) rules.Spec {
	spec := rules.Spec{Rules: []rules.RuleSpec{{Name: "keys", Key: rules.List{"header:X-API-Key"}, Missing: rules.MissingSkip,
		Limit: ratelimit.PerMinute(1000)}}}
	shapes := []string{"GET /v1/r%d/{id}", "POST /v1/r%d", "/v2/{tenant}/r%d/", "DELETE api.test/v1/r%d/{id}/items/{item}"}
	for i := range n {
		spec.Rules = append(spec.Rules, rules.RuleSpec{
			Name: fmt.Sprintf("r%d", i), Match: rules.List{fmt.Sprintf(shapes[i%len(shapes)], i)}, Key: rules.List{"ip"},
			Limit: ratelimit.PerMinute(int64(1 + i)),
		})
	}
	return spec
}

// someRequests meet manyRules in several ways: by a literal, by wildcards, by a host, by the general rule only.
var someRequests = []struct{ method, host, path string }{
	{"GET", "api.test", "/v1/r5000/42"},
	{"POST", "api.test:8080", "/v1/r4001"},
	{"GET", "other.test", "/v2/acme/r9002/reports/2024"},
	{"DELETE", "api.test", "/v1/r7003/42/items/7"},
	{"GET", "api.test", "/somewhere/else/entirely"},
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{0, 10, 10_000} {
		set, err := rules.Compile(manyRules(n))
		if err != nil {
			b.Fatal(err)
		}
		for i, r := range someRequests {
			b.Run(fmt.Sprintf("rules=%d/request=%d", n, i), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var buf [8]rules.Match
					set.Match(buf[:0], 0, r.method, r.host, r.path, "")
				}
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	spec := manyRules(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rules.Compile(spec); err != nil {
			b.Fatal(err)
		}
	}
}
