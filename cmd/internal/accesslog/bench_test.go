package accesslog

import (
	"bytes"
	"fmt"
	"testing"
)

// combined returns n lines of the combined format, ten a second.
func combined(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		s := i / 10
		fmt.Fprintf(&b, `192.0.2.%d - - [17/May/2015:%02d:%02d:%02d +0000] "GET /products/%d?page=2 HTTP/1.1" 200 5316 "https://shop.example/products" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36"`+"\n",
			i%250, s/3600%24, s/60%60, s%60, i%977)
	}
	return b.Bytes()
}

func BenchmarkRead(b *testing.B) {
	text := combined(50_000)
	lines := 0
	b.ReportAllocs()
	for b.Loop() {
		log, err := Open([]string{"-"}, Config{Stdin: bytes.NewReader(text)})
		if err != nil {
			b.Fatal(err)
		}
		var e Entry
		for log.Next(&e) {
			lines++
		}
		if log.Err() != nil || log.Stats().Unreadable > 0 {
			b.Fatal(log.Err(), log.Stats())
		}
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}
