//go:build !race

package shard

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The protocol's models, each as it is built and with every fault that must be found in it. See the models' heads for
// what the macros mean.
var models = []struct {
	file   string
	runs   []string // must be searched to the end, without an error
	faults []string // must end in one
}{
	{
		file: "word.pml",
		runs: []string{"EVICT MARKS", "EVICT MOVE COARSE", "RESET MOVE COARSE", "MOVE MARKS COARSE", "MOVE BOUND COARSE", "MOVE MOVE2 COARSE"},
		faults: []string{"EVICT MOVE COARSE BLINDCARRY", "EVICT MOVE COARSE NOFLOOR", "EVICT MARKS LOSEWORD", "EVICT MOVE COARSE ONEFLAG",
			"EVICT MOVE COARSE NOSEAL", "EVICT MOVE COARSE STALEJUDGE", "MOVE MOVE2 COARSE EARLYMOVE"},
	},
	{
		file:   "insert.pml",
		runs:   []string{"", "CARRY", "MOVE", "MOVE CARRY"},
		faults: []string{"MOVE PASSUNDECIDED", "CARRY UNCLAIMED", "CARRY OVERWRITE"},
	},
	{file: "merge.pml", runs: []string{""}, faults: []string{"SKIPJOIN", "TWOHEIRS"}},
	{
		file:   "directory.pml",
		runs:   []string{"LOOK MERGE SPLIT", "SPLIT WALK", "LOOK SURFACE WALK", "MERGE SPLIT WALK", "MERGE SURFACE WALK"},
		faults: []string{"MERGE SPLIT RELOAD", "SURFACE WALK PASSBY", "SURFACE WALK UNTOLD", "SPLIT WALK NORECHECK", "MERGE SPLIT SHALLOW"},
	},
	{file: "places.pml", runs: []string{""}, faults: []string{"LATE", "FREED", "EARLY"}},
	{file: "idle.pml", runs: []string{""}, faults: []string{"ONEBOUND", "LOWERFIRST"}},
}

// Not under the race detector, which has nothing to say about models.
func TestModels(t *testing.T) {
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			require.NotEqual(t, "never", os.Getenv("RATELIMIT_SKIP"), "%v", err)
			t.Skip(err)
		}
	}
	if testing.Short() {
		t.Skip("a minute of search")
	}
	for _, m := range models {
		source, err := filepath.Abs(filepath.Join("testdata", "models", m.file))
		require.NoError(t, err)
		for _, macros := range m.runs {
			t.Run(m.file+"/"+macros, func(t *testing.T) {
				t.Parallel()
				out := verify(t, source, macros)
				require.Contains(t, out, "errors: 0\n")
				require.NotContains(t, out, "Search not completed")
				require.NotContains(t, out, "max search depth too small")
			})
		}
		for _, macros := range m.faults {
			t.Run(m.file+"/fault "+macros, func(t *testing.T) {
				t.Parallel()
				require.Contains(t, verify(t, source, macros), "assertion violated", "the model does not find this fault")
			})
		}
	}
}

// verify searches the model exhaustively, until the first error.
func verify(t *testing.T, source, macros string) string {
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	args := []string{"-a"}
	for _, m := range strings.Fields(macros) {
		args = append(args, "-D"+m)
	}
	run("spin", append(args, source)...)
	run("gcc", "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=4000", "-o", "pan", "pan.c")
	require.FileExists(t, filepath.Join(dir, "pan"))
	out := run(filepath.Join(dir, "pan"), "-m100000")
	_ = os.RemoveAll(dir)
	return out
}
