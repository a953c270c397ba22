// Command generate writes the sample log of the tests to stdout.
//
//	go run ./cmd/internal/samplelog/generate | gzip -9n > testdata/logs/shop.log.gz
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/casgate/ratelimit/cmd/internal/samplelog"
)

func main() {
	seed := flag.Uint64("seed", 0, "another log")
	visitors := flag.Int("visitors", 300, "how many")
	length := flag.Duration("for", 3*time.Hour, "how long the log is")
	flag.Parse()
	if err := samplelog.Write(os.Stdout, samplelog.Config{Seed: *seed, Visitors: *visitors, For: *length, Junk: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
