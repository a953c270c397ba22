module github.com/casgate/ratelimit/bench/compare

go 1.26.0

require (
	github.com/casgate/ratelimit v0.1.0
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/sethvargo/go-limiter v0.7.1
	github.com/stretchr/testify v1.12.1
	github.com/throttled/throttled/v2 v2.15.0
	golang.org/x/time v0.16.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/hashicorp/golang-lru v0.5.4 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/casgate/ratelimit => ../..
