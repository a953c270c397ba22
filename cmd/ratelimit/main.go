package main

import (
	_ "github.com/casgate/ratelimit"
	_ "github.com/casgate/ratelimit/cmd/internal/server"
	_ "github.com/casgate/ratelimit/cmd/internal/upstream"
	_ "github.com/spf13/cobra"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "go.yaml.in/yaml/v4"
)

func main() {}
