package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/casgate/ratelimit/cmd/internal/compare"
)

const compareHelp = `Plays one bursty client, in virtual time, to all four algorithms under the same limit, and draws what each lets through:
the fixed window's double burst across an edge, the token bucket's burst and then its even rate, the sliding log's
exactness and the sliding counter's estimate of it.`

const compareExamples = `  ratelimit compare
  ratelimit compare --svg algorithms.svg`

func newCompare() *cobra.Command {
	var svg string
	c := &cobra.Command{
		Use:     "compare",
		Short:   "Draw what each algorithm lets through",
		Long:    compareHelp,
		Example: compareExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			results, err := compare.Run()
			if err != nil {
				return err
			}
			if svg == "" {
				return compare.Terminal(c.OutOrStdout(), results)
			}
			return writeSVG(svg, results)
		},
	}
	c.Flags().StringVar(&svg, "svg", "", "write an SVG to this `FILE` instead")
	return c
}

func writeSVG(file string, results []compare.Result) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	return compare.SVG(f, results)
}
