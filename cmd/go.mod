module github.com/casgate/ratelimit/cmd

go 1.26.0

require github.com/casgate/ratelimit v0.1.0
