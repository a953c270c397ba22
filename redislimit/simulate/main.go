// Command simulate shows what a fleet of 1,000 servers and ten million clients makes of one limit, by each way to share it:
// how many requests too many and too few are admitted, and how many calls Redis gets. Time is virtual, and Redis is a model of
// its latency. It prints a Markdown table, and with -svg writes a picture of it; the same every time.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

var (
	fleet = world{servers: 1000, clients: 10_000_000, connections: 20, perSecond: 150_000, seconds: 4, skew: 1.1, seed: 1}
	rules = []rule{
		{name: "100/s, burst 100", rate: 100, burst: 100},
		{name: "5,000/s, burst 32,000", rate: 5000, burst: 32_000},
	}
	strategies = []struct {
		name string
		run  func(world, rule, []request) result
	}{
		{"strict", strict(false)},
		{"deny cache", strict(true)},
		{"lease", leased},
		{"limit/N, no Redis", divided},
		{"reports once a second", reports},
	}
)

// row is one strategy under one rule. Shares are of what an exact limiter without latency admits, in percent.
type row struct {
	rule, strategy   string
	over, under      float64
	calls, admitting float64 // calls a second; the largest client's admitted requests a second
}

func simulate(w world) []row {
	all := w.requests()
	var rows []row
	for _, r := range rules {
		ideal := exact(w, r, all)
		var total int64
		for _, n := range ideal.admitted {
			total += n
		}
		for _, s := range strategies {
			got := s.run(w, r, all)
			var over, under int64
			for client, n := range ideal.admitted { // whole numbers: their sum has no order
				over += max(got.admitted[client]-n, 0)
				under += max(n-got.admitted[client], 0)
			}
			rows = append(rows, row{r.name, s.name, percent(over, total), percent(under, total),
				float64(got.calls) / float64(w.seconds), float64(got.admitted[0]) / float64(w.seconds)})
		}
	}
	return rows
}

func percent(n, of int64) float64 { return 100 * float64(n) / float64(of) }

// table is rows in Markdown.
func table(w world, rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d servers, %d clients (Zipf, exponent %.1f) with connections to %d servers each, %d requests/s, %d s.\n\n",
		w.servers, w.clients, w.skew, w.connections, w.perSecond, w.seconds)
	b.WriteString("| limit of a client | strategy | admitted too many | too few | Redis calls/s | the busiest client gets |\n|---|---|---:|---:|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %.2f %% | %.2f %% | %.0f | %.0f/s |\n", r.rule, r.strategy, r.over, r.under, r.calls, r.admitting)
	}
	return b.String()
}

func main() {
	picture := flag.String("svg", "", "write a picture to this `file`")
	flag.Parse()
	rows := simulate(fleet)
	fmt.Print(table(fleet, rows))
	if *picture != "" {
		if err := os.WriteFile(*picture, []byte(svg(rows)), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
