package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// progress is a bar on a terminal.
type progress struct {
	w       io.Writer // nil: not a terminal
	percent int64
	shown   bool
}

func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{percent: -1}
	if file, ok := w.(*os.File); ok && !quiet {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

// show draws how far the reading is; total 0: nobody knows how much there is.
func (p *progress) show(done, total int64) {
	if p.w == nil {
		return
	}
	if total == 0 {
		if mb := done >> 20; mb != p.percent {
			p.percent, p.shown = mb, true
			_, _ = fmt.Fprintf(p.w, "\r%d MB", mb)
		}
		return
	}
	if percent := min(100*done/total, 100); percent != p.percent {
		const width = 40
		full := int(percent * width / 100)
		p.percent, p.shown = percent, true
		_, _ = fmt.Fprintf(p.w, "\r[%s%s] %3d %%", strings.Repeat("=", full), strings.Repeat(" ", width-full), percent)
	}
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.shown {
		_, _ = fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", 60))
	}
}
