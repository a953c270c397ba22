package rules_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

func ExampleParseJSON() {
	spec, err := rules.ParseJSON([]byte(`{
		"rules": [
			{"name": "api", "key": ["header:X-API-Key", "ip"], "limit": "100/minute", "burst": 20}
		]
	}`))
	fmt.Println(spec.Rules[0].Limit, *spec.Rules[0].Burst, err)
	// Output: 100/minute 20 <nil>
}

func ExampleError() {
	_, err := rules.ParseJSON([]byte(`{
		"rules": [
			{"name": "search", "match": "get /search", "key": "ip", "limit": "0/s"},
			{"name": "login", "match": "POST /login", "key": "ip", "limit": "5/minute", "burts": 5},
			{"name": "uploads", "match": "POST /{where}", "key": "ip", "limit": "1/s"}
		]
	}`))
	fmt.Println(err)
	var e *rules.Error
	if errors.As(err, &e) {
		fmt.Println(e.Problems[2].Path, errors.Is(e.Problems[2], rules.ErrUnknownField))
	}
	// Output:
	// rules: 3 problems:
	// 	line 3: rules[0].limit: Refill: "0/s": the number of tokens must be 1 to 9223372036854775807, in digits
	// 	line 3: rules[0].match[0] (search): "get /search" never matches: methods are written in capitals, GET
	// 	line 4: rules[1].burts: unknown field; here are: name, match, key, missing, limit, burst, algorithm, plans, cost, mode, refund, share, store, layer
	// rules[1].burts true
}

func ExampleSet_Match() {
	set, err := rules.Compile(rules.Spec{Rules: []rules.RuleSpec{
		{Name: "per-address", Key: rules.List{"ip"}, Limit: ratelimit.PerMinute(600)},
		{Name: "per-user", Key: rules.List{"user"}, Missing: rules.MissingSkip, Limit: ratelimit.PerMinute(100)},
		{Name: "items", Match: rules.List{"GET /items/{id}"}, Key: rules.List{"ip"}, Limit: ratelimit.PerMinute(60)},
	}})
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"/", "/items/7"} {
		var buf [8]rules.Match
		for _, m := range set.Match(buf[:0], 0, "GET", "example.com", path, "") {
			fmt.Println(path, m.Limit.Rule.Name, m.Limit.Limit.Refill, m.Pattern)
		}
	}
	// Output:
	// / per-address 600/minute /
	// / per-user 100/minute /
	// /items/7 per-user 100/minute /
	// /items/7 items 60/minute GET /items/{id}
}

func ExampleStore() {
	spec := rules.Spec{Rules: []rules.RuleSpec{{Name: "api", Key: rules.List{"ip"}, Limit: ratelimit.PerHour(3)}}}
	store, err := rules.NewStore(spec, rules.Config{})
	if err != nil {
		panic(err)
	}
	limiter := func() ratelimit.Limiter { return store.Current().Limits()[0].Limiter }
	for range 4 {
		fmt.Println(limiter().TryAcquire("192.0.2.1"))
	}
	spec.Rules[0].Limit = ratelimit.PerHour(1000)
	fmt.Println(store.Update(spec), store.Current().Version())
	fmt.Println(limiter().TryAcquire("192.0.2.1"), limiter().TryAcquire("192.0.2.2"))
	// Output:
	// true
	// true
	// true
	// false
	// <nil> 2
	// false true
}

func ExampleParseKey() {
	key, err := rules.ParseKey("header:x-api-key", "ip/56 + route")
	if err != nil {
		panic(err)
	}
	for _, parts := range key.Alternatives {
		fmt.Println(parts)
	}
	fmt.Println(key)
	// Output:
	// [header:X-Api-Key]
	// [ip/56 route]
	// header:X-Api-Key, ip/56+route
}

func ExamplePattern() {
	p, err := rules.ParsePattern("GET /v1/{tenant}/files/{path...}")
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Matches("GET", "example.com", "/v1/acme/files/2024/report.pdf", ""))
	fmt.Println(p.Value("tenant", "/v1/acme/files/2024/report.pdf", ""), p.Value("path", "/v1/acme/files/2024/report.pdf", ""))
	// Output:
	// true
	// acme 2024/report.pdf
}

func ExampleWatcher() {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("rules-%d.json", os.Getpid()))
	defer os.Remove(path)
	write := func(limit string) {
		text := fmt.Sprintf(`{"rules": [{"name": "api", "key": "ip", "limit": %q}]}`, limit)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	write("10/s")
	spec, err := rules.LoadFile(path, nil)
	if err != nil {
		panic(err)
	}
	store, err := rules.NewStore(spec, rules.Config{})
	if err != nil {
		panic(err)
	}
	watcher := rules.NewWatcher(store, rules.WatchConfig{Path: path}) // a program lets it Run
	write("20/s")
	fmt.Println(watcher.Reload(), store.Current().Limits()[0].Limit.Refill)
	write("20/fortnight")
	fmt.Println(watcher.Reload() != nil, store.Current().Limits()[0].Limit.Refill, store.Stats().Failures)
	// Output:
	// <nil> 20/s
	// true 20/s 1
}

func ExampleAddrSet() {
	prefixes, err := rules.ParsePrefixes("private", "2001:db8::/32")
	if err != nil {
		panic(err)
	}
	set, err := rules.NewAddrSet(prefixes)
	if err != nil {
		panic(err)
	}
	for _, addr := range []string{"10.1.2.3", "::ffff:192.168.7.7", "192.0.2.1", "2001:db8::7"} {
		fmt.Println(addr, set.Contains(netip.MustParseAddr(addr)))
	}
	// Output:
	// 10.1.2.3 true
	// ::ffff:192.168.7.7 true
	// 192.0.2.1 false
	// 2001:db8::7 true
}
