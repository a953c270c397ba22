package window

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every order of the steps of two calls, and for three that replace rings those with few
// interruptions: TestLogSteps, which needs steps that wait for it.
func TestLogInterleavings(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package once more")
	}
	t.Parallel()
	out, err := exec.Command("go", "test", "-tags=ringsteps", "-run=^TestLogSteps$", "-count=1", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// The ring's model, by spin: it holds, and each planted fault is found. Without -DCALLS=1
// and -DFEW there are more calls, instants and states.
func TestLogModel(t *testing.T) {
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			require.NotEqual(t, "never", os.Getenv("RATELIMIT_SKIP"), "%v", err)
			t.Skip(err)
		}
	}
	if testing.Short() {
		t.Skip("compiles a model eight times")
	}
	t.Parallel()
	model, err := filepath.Abs("testdata/models/ring.pml")
	require.NoError(t, err)
	check := func(flags ...string) string {
		dir := t.TempDir()
		run := func(name string, args ...string) string {
			c := exec.Command(name, args...)
			c.Dir = dir
			out, err := c.CombinedOutput()
			require.NoError(t, err, "%v\n%s", c, out)
			return string(out)
		}
		run("spin", append(append([]string{"-a"}, flags...), model)...)
		run("gcc", "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=1024", "-DMEMLIM=1500", "-o", "pan", "pan.c")
		out := run("./pan", "-m100000")
		_, err := os.Stat(filepath.Join(dir, "ring.pml.trail"))
		require.NotContains(t, out, "max search depth too small")
		require.NotContains(t, out, "reached -DMEMLIM")
		require.Contains(t, out, "State-vector")
		if err == nil {
			return "error"
		}
		require.Contains(t, out, "errors: 0")
		return "holds"
	}
	require.Equal(t, "holds", check("-DFEW", "-DCALLS=1"))
	faults := []struct{ fault, calls string }{
		{"LASTFIRST", "refunds"},
		{"UNCHECKED", "takes"},
		{"UNSEALED", "takes"},
		{"RETIRED", "retires"},
		{"BASELESS", "takes"},
		{"LAPLESS", "takes"},
		{"MARKLESS", "retires"},
	}
	for _, f := range faults {
		require.Equal(t, "error", check(append(strings.Fields("-DONLY="+f.calls), "-DFEW", "-D"+f.fault)...), f.fault)
	}
}
