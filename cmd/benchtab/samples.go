package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// labels are what a benchmark's name and its file's head say: "name" and "procs", and each key=value.
type labels map[string]string

// sample is all that was measured of one benchmark in one unit.
type sample struct {
	labels labels
	unit   string // as it was written, such as ns/op
	values []float64
}

// readSamples reads the raw results in dir.
func readSamples(dir string) ([]*sample, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no raw results in %s", dir)
	}
	var all []*sample
	known := map[string]*sample{}
	for _, path := range paths {
		files := benchfmt.Files{Paths: []string{path}}
		for files.Scan() {
			switch record := files.Result().(type) {
			case *benchfmt.SyntaxError:
				return nil, record
			case *benchfmt.Result:
				for _, v := range record.Values {
					id := path + string(record.Name) + v.Unit
					s := known[id]
					if s == nil {
						s = &sample{labels: labelsOf(record), unit: unitOf(v)}
						known[id] = s
						all = append(all, s)
					}
					s.values = append(s.values, valueOf(v))
				}
			}
		}
		if err := files.Err(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// unitOf and valueOf undo what the reader does to units that it knows: ns become seconds there.

func unitOf(v benchfmt.Value) string {
	if v.OrigUnit != "" {
		return v.OrigUnit
	}
	return v.Unit
}

func valueOf(v benchfmt.Value) float64 {
	if v.OrigUnit != "" {
		return v.OrigValue
	}
	return v.Value
}

func labelsOf(r *benchfmt.Result) labels {
	base, parts := r.Name.Parts()
	l := labels{"name": string(base), "procs": "1"}
	for _, part := range parts {
		text := string(part)
		if key, value, ok := strings.Cut(strings.TrimPrefix(text, "/"), "="); ok {
			l[key] = value
		} else if procs, ok := strings.CutPrefix(text, "-"); ok {
			l["procs"] = procs
		}
	}
	for _, c := range r.Config {
		if c.File {
			l[c.Key] = string(c.Value)
		}
	}
	return l
}

// matches reports whether s has every label of want, and the unit.
func (s *sample) matches(unit string, want labels) bool {
	for key, value := range want {
		if s.labels[key] != value {
			return false
		}
	}
	return s.unit == unit
}

// summary is the median, and the interval that holds it with a probability of 95 %.
type summary struct{ center, low, high float64 }

func (s *sample) summary() summary {
	sum := benchmath.AssumeNothing.Summary(benchmath.NewSample(s.values, &benchmath.DefaultThresholds), 0.95)
	return summary{sum.Center, sum.Lo, sum.Hi}
}

// text returns the median, and how far the interval reaches from it, as a share of it, if there are values enough.
func (s summary) text(format func(float64) string) string {
	text := format(s.center)
	if spread := math.Max(s.high-s.center, s.center-s.low) / s.center; spread < 10 {
		text += fmt.Sprintf(" ±%.0f%%", 100*spread)
	}
	return text
}

// find returns the sample of that unit with these labels, nil if there is none.
func find(all []*sample, unit string, want labels) *sample {
	for _, s := range all {
		if s.matches(unit, want) {
			return s
		}
	}
	return nil
}
