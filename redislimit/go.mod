module github.com/casgate/ratelimit/redislimit

go 1.26.0

require (
	github.com/casgate/ratelimit v0.1.0
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/redis/rueidis v1.0.79
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
