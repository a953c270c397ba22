package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// set is one file of raw results: which benchmarks, and how often.
type set struct {
	name   string // of the file, without .txt
	bench  string
	cpu    string
	time   string
	passes int
}

// thorough is what BENCHMARKS.md is made from.
var thorough = []set{
	{"floor", "^BenchmarkFloor$", "1", "500ms", 10},
	{"one", "^BenchmarkTryAcquire$/keys=(1|1e3|1e6)$", "1", "300ms", 10},
	{"many", "^BenchmarkTryAcquire$/keys=1e7$/dist/keybytes/mode/clock=(given|system)", "1", "500ms", 5},
	{"parallel", "^BenchmarkParallel$/keys=(1|1e3|1e6)$/dist=uniform/keybytes=20", "1,2", "200ms", 6},
	{"algorithm", "^BenchmarkAlgorithm$", "1", "300ms", 10},
	{"batch", "^BenchmarkBatch$", "1", "300ms", 6},
	{"create", "^BenchmarkCreate$", "1", "1s", 6},
	{"memory", "^BenchmarkMemory$/keys=1e[67]$", "2", "3x", 5},
	{"octave", "^BenchmarkOctave$", "2", "1x", 1},
	{"grow", "^BenchmarkGrow$/keys=1e[67]$", "2", "1x", 3},
}

// quick compares with the textbooks only.
var quick = []set{
	{"floor", "^BenchmarkFloor$", "1", "300ms", 5},
	{"one", "^BenchmarkTryAcquire$/keys=(1|1e3|1e6)$/dist=uniform/keybytes=20", "1", "200ms", 5},
	{"parallel", "^BenchmarkParallel$/keys=(1|1e3)$/dist=uniform/keybytes=20/mode/clock=given", "1,2", "100ms", 5},
}

func setNames() string {
	var names []string
	for _, s := range thorough {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// measure runs the sets, or the one that is named, and writes their raw results to out. passes > 0 overrides theirs.
func measure(brief bool, passes int, only, out string) error {
	sets, pkg := thorough, "./bench/compare"
	if brief {
		sets, pkg = quick, "./bench"
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "benchtab")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	binary := filepath.Join(scratch, "bench.test")
	if err := command("go", "test", "-c", "-o", binary, pkg).Run(); err != nil {
		return fmt.Errorf("building %s: %w", pkg, err)
	}
	var found bool
	for _, s := range sets {
		if only == "" || only == s.name {
			found = true
			if passes > 0 {
				s.passes = passes
			}
			if err := s.measure(binary, filepath.Join(out, s.name+".txt")); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	if !found {
		return fmt.Errorf("no set is named %q", only)
	}
	return nil
}

// measure runs the set's passes one after another, into file and, to be watched, to the terminal.
func (s set) measure(binary, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprint(f, conditions())
	for pass := range s.passes {
		fmt.Printf("# %s, pass %d of %d\n", s.name, pass+1, s.passes)
		cmd := command(binary, "-test.run=^$", "-test.timeout=0", "-test.bench="+s.bench, "-test.cpu="+s.cpu, "-test.benchtime="+s.time)
		cmd.Stdout = io.MultiWriter(f, os.Stdout)
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return f.Close()
}

func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// conditions returns what was measured and with what, as lines of the benchmark format.
func conditions() string {
	return "commit: " + output("git", "describe", "--always", "--dirty", "--exclude=*") +
		"\ngo: " + strings.TrimPrefix(output("go", "env", "GOVERSION"), "go") +
		"\nkernel: " + output("uname", "-sr") + "\n"
}

// output returns what a command says, or that it can't be known.
func output(name string, args ...string) string {
	text, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}
