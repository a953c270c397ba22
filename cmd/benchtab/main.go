// Benchtab measures, and writes the tables of BENCHMARKS.md from what was measured.
//
//	benchtab measure [-quick] [-only SET] [-passes N] [-out DIR]
//		runs the benchmarks; the raw results go to DIR, testdata/bench by default
//	benchtab tables [-in DIR] [-doc FILE]  replaces the tables between the markers in FILE, BENCHMARKS.md by default
//
// Run it in the repository's root. A pass measures every contender once, one after the other, and passes follow one
// another: what disturbs the machine for a while disturbs all of them.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchtab:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	switch verb {
	case "measure":
		quick := flags.Bool("quick", false, "lock-free against the textbooks only, up to a million keys: some minutes")
		passes := flags.Int("passes", 0, "passes of each set; 0: as many as the set wants")
		only := flags.String("only", "", "measure one set: "+setNames())
		out := flags.String("out", filepath.Join("testdata", "bench"), "directory for the raw results")
		if err := flags.Parse(args); err != nil {
			return err
		}
		return measure(*quick, *passes, *only, *out)
	case "tables":
		in := flags.String("in", filepath.Join("testdata", "bench"), "directory of the raw results")
		doc := flags.String("doc", "BENCHMARKS.md", "file with the tables' markers")
		if err := flags.Parse(args); err != nil {
			return err
		}
		return rewrite(*in, *doc)
	}
	return fmt.Errorf("want measure or tables, not %q", verb)
}

// rewrite replaces doc's tables by those of the raw results in dir.
func rewrite(dir, doc string) error {
	text, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	samples, err := readSamples(dir)
	if err != nil {
		return err
	}
	next, err := withTables(string(text), samples)
	if err != nil {
		return fmt.Errorf("%s: %w", doc, err)
	}
	return os.WriteFile(doc, []byte(next), 0o644)
}
