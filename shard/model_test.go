package shard

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The protocol of one key's word, by spin: it holds, and each planted fault is found. These variants take seconds;
// together they cover every process of the model. Larger ones (-DEVICT -DMOVE -DMOVE2) take minutes and gigabytes.
func TestModel(t *testing.T) {
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("RATELIMIT_SKIP") == "never" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	if testing.Short() {
		t.Skip("explores millions of states")
	}
	model, err := filepath.Abs("testdata/models/word.pml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variant string
		holds   bool
	}{
		{"MOVE", true},
		{"EVICT RESET", true},
		{"BLINDCARRY MOVE MOVE2", false},
		{"LOSEWORD EVICT", false},
		{"NOSEAL MOVE EVICT", false},
		{"ONEFLAG MOVE", false},
	} {
		t.Run(c.variant, func(t *testing.T) {
			if holds := explore(t, model, strings.Fields(c.variant)); holds != c.holds {
				t.Errorf("the model holds: %v, want %v", holds, c.holds)
			}
		})
	}
}

// explore runs spin to completion, or to the first error, and reports whether there was none.
func explore(t *testing.T, model string, macros []string) bool {
	t.Helper()
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
		return string(out)
	}
	args := []string{"-a"}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	run("spin", append(args, model)...)
	run("gcc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=1024", "-DMEMLIM=3000", "-o", "pan", "pan.c")
	out := run("./pan", "-m1000000")
	if strings.Contains(out, "max search depth too small") || strings.Contains(out, "reached -DMEMLIM") || !strings.Contains(out, "State-vector") {
		t.Fatalf("the search is not complete:\n%s", out)
	}
	return strings.Contains(out, "errors: 0")
}
