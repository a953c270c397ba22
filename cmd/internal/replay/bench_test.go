package replay

import (
	"bytes"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/samplelog"
)

// packedLog is the sample's kind of log, longer, compressed.
var packedLog = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := samplelog.Write(w, samplelog.Config{Visitors: 10_000, For: 24 * time.Hour}); err != nil {
		panic(err)
	}
	_ = w.Close()
	return b.Bytes()
})

// processorTime returns the processor time that the process has used.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Lines a second, from the compressed log to the report; -cpu 1 for those of one core. Beside it: `zcat | wc -l`.
func BenchmarkReplay(b *testing.B) {
	for name, rules := range map[string]string{"rules=1": "rules: [{name: address, key: ip, limit: 60/minute}]", "rules=2": kind} {
		b.Run("format=combined/"+name, func(b *testing.B) {
			text := packedLog()
			file := parsed(b, rules)
			lines := uint64(0)
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				log, err := accesslog.Open([]string{"-"}, accesslog.Config{Stdin: bytes.NewReader(text)})
				if err != nil {
					b.Fatal(err)
				}
				report, err := Run(log, Config{File: file})
				if err != nil || log.Err() != nil || report.Log.Decided != report.Log.Lines {
					b.Fatal(err, log.Err(), report.Log)
				}
				lines += report.Log.Lines
			}
			b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
			b.ReportMetric(float64(lines)/(processorTime(b)-before).Seconds(), "lines/cpu-s") // where others use the machine too
		})
	}
}
