module github.com/casgate/ratelimit/proof

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/casgate/ratelimit v0.1.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
