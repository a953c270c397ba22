package atomicbucket

import (
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// The step must inline into its loop, scaled units included, wherever the compiler has 128-bit products of its own.
func TestTheStepInlines(t *testing.T) {
	if !slices.Contains([]string{"amd64", "arm64", "ppc64le", "riscv64", "s390x"}, runtime.GOARCH) {
		t.Skip("no such products on " + runtime.GOARCH)
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range []string{"can inline (*Params).V", "can inline (*Params).Take", "inlining call to (*Params).Take"} {
		if !strings.Contains(string(out), line) {
			t.Errorf("the compiler doesn't say %q", line)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	p := compile(t, 1e9, 1_000_000_007, second)
	to := p.Rebase(second)
	var b Bucket
	if n := testing.AllocsPerRun(100, func() {
		b.Take(&p, 5, 1)
		b.Outcome(&p, 5, 1)
		b.Refund(&p, 1)
		word := b.word.Load()
		p.Snapshot(word, 5)
		p.IdleAt(word)
		p.Convert(word, &to)
		p.Rebase(second)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAStepReadsOneCacheLine(t *testing.T) {
	if end := unsafe.Offsetof(Params{}.capacity) + unsafe.Sizeof(Params{}.capacity); end != 64 {
		t.Errorf("what a step reads ends at %d", end)
	}
}
