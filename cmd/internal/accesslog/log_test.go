package accesslog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clf returns a line of the common log format, sec seconds after noon.
func clf(client string, sec int) string {
	at := time.Date(2026, 3, 2, 12, 0, sec, 0, time.UTC)
	return fmt.Sprintf("%s - - [%s] \"GET /%s HTTP/1.1\" 200 5\n", client, at.Format("02/Jan/2006:15:04:05 -0700"), client)
}

// clients reads text and returns the clients of its requests in order, and the log at its end.
func clients(t *testing.T, text string, c Config) ([]string, *Log) {
	t.Helper()
	c.Stdin = strings.NewReader(text)
	log, err := Open([]string{"-"}, c)
	require.NoError(t, err)
	return read(log), log
}

func read(log *Log) (clients []string) {
	var e Entry
	last := int64(0)
	for log.Next(&e) {
		if e.Time < last {
			clients = append(clients, "TIME GOES BACK")
		}
		last = e.Time
		clients = append(clients, strings.Clone(e.Client))
	}
	return clients
}

func TestLinesComeInOrder(t *testing.T) {
	got, log := clients(t, clf("b", 30)+clf("d", 70)+clf("a", 10)+clf("c", 30)+clf("e", 71), Config{})
	assert.Equal(t, []string{"a", "b", "c", "d", "e"}, got, "those of one second in their own order")
	assert.Equal(t, Stats{Lines: 5, Bytes: log.Stats().Bytes}, log.Stats())
}

func TestALineTooLateIsLeftOut(t *testing.T) {
	got, log := clients(t, clf("a", 0)+clf("c", 100)+clf("late", 39)+clf("b", 40), Config{})
	assert.Equal(t, []string{"a", "b", "c"}, got)
	assert.EqualValues(t, 1, log.Stats().OutOfTime)
	assert.EqualValues(t, 3, log.Stats().Samples[0].Line)
}

func TestALeapInTime(t *testing.T) {
	const years = 20 * 365 * 86400
	got, log := clients(t, clf("a", 0)+clf("wrong clock", years)+clf("b", 1), Config{})
	assert.Equal(t, []string{"a", "b"}, got, "one line with a wrong clock doesn't stop the log")
	assert.EqualValues(t, 1, log.Stats().OutOfTime)
	assert.Contains(t, log.Stats().Samples[0].Text, "wrong clock")

	got, log = clients(t, clf("wrong clock", years)+clf("a", 1)+clf("b", 0)+clf("c", 2), Config{})
	assert.Equal(t, []string{"b", "a", "c"}, got, "nor does the first")
	assert.EqualValues(t, 1, log.Stats().OutOfTime)
	got, _ = clients(t, clf("a", 3000)+clf("b", 3001)+clf("late", 0)+clf("c", 3002), Config{})
	assert.Equal(t, []string{"a", "b", "c"}, got)
	got, _ = clients(t, clf("a", 0), Config{})
	assert.Equal(t, []string{"a"}, got)

	got, log = clients(t, clf("a", 0)+clf("b", years)+clf("c", years+1), Config{})
	assert.Equal(t, []string{"a", "b", "c"}, got, "years apart, but going on from there")
	got, _ = clients(t, clf("a", 0)+clf("b", years), Config{})
	assert.Equal(t, []string{"a", "b"}, got)
	got, _ = clients(t, clf("a", 0)+clf("b", 3*years)+clf("c", years), Config{})
	assert.Equal(t, []string{"a", "c"}, got)
	assert.Zero(t, log.Stats().OutOfTime)
}

func TestBadLinesAreCountedAndTheFirstShown(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	text := clf("a", 0) + "no log line\n" + long + "\n" + "\x00\xff\x16\x03\n" + "\n" + clf("b", 1) + `{"ts":1}` + "\n" + `{"ts":` + "\n" +
		`1.2.3.4 - - [02/Mar/2026:12:00:00 +0000] "\x16\x03\"` + "\n" + clf("c", 2)
	got, log := clients(t, text, Config{})
	assert.Equal(t, []string{"a", "b", "c"}, got)
	s := log.Stats()
	assert.EqualValues(t, 10, s.Lines)
	assert.EqualValues(t, 7, s.Unreadable)
	require.Len(t, s.Samples, maxSamples)
	assert.Equal(t, Sample{"stdin", 2, errNoTime.Error(), "no log line"}, s.Samples[0])
	assert.Equal(t, errLong.Error(), s.Samples[1].Why)
	assert.LessOrEqual(t, len(s.Samples[1].Text), maxSample)
	assert.Equal(t, errEmpty.Error(), s.Samples[3].Why)
}

// packed writes text to a file, compressed.
func packed(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	if strings.HasSuffix(name, ".gz") {
		w = gzip.NewWriter(&b)
	} else {
		z, err := zstd.NewWriter(&b)
		require.NoError(t, err)
		w = z
	}
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

func TestFilesAreMergedByTime(t *testing.T) {
	log, err := Open([]string{
		packed(t, "access.log.zst", clf("e", 5)+clf("c", 3)),
		packed(t, "access.log.1.gz", clf("a", 1)+clf("d", 4)),
		"-",
	}, Config{Stdin: strings.NewReader(clf("b", 2))})
	require.NoError(t, err)
	defer log.Close()
	assert.Equal(t, []string{"a", "b", "c", "d", "e"}, read(log))
	assert.NoError(t, log.Err())
}

func TestACutFileTellsAndWhatWasReadIsGood(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		text.WriteString(clf(fmt.Sprint("client", i*i), i/10))
	}
	for _, name := range []string{"a.log.gz", "a.log.zst"} {
		file := packed(t, name, text.String())
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, whole[:len(whole)*2/3], 0o600))
		log, err := Open([]string{file}, Config{})
		require.NoError(t, err)
		got := read(log)
		if name == "a.log.gz" { // zstd's blocks are larger than this log
			assert.Greater(t, len(got), 1000)
		}
		assert.ErrorContains(t, log.Err(), name+": is cut off after line")
		s := log.Stats()
		assert.EqualValues(t, s.Lines, uint64(len(got))+s.Unreadable+s.OutOfTime)
		log.Close()
	}
	empty := filepath.Join(t.TempDir(), "b.gz")
	require.NoError(t, os.WriteFile(empty, []byte{0x1f, 0x8b, 8}, 0o600))
	_, err := Open([]string{empty}, Config{})
	assert.ErrorContains(t, err, "cut off")
}

func TestHeldLinesAreBounded(t *testing.T) {
	o := newOrder(time.Hour)
	o.maxed = 1000
	line := make([]byte, 100)
	most := 0
	for i := range 500 {
		r := record{time: int64(i) * int64(time.Second)}
		o.begin(r.time)
		var e Entry
		for o.ripe(false) {
			for o.take(&e) {
			}
		}
		o.add(&r, line)
		most = max(most, o.held)
	}
	assert.LessOrEqual(t, most, 1200)
}

func TestReadingDoesntAllocate(t *testing.T) {
	text := combined(20_000)
	log, err := Open([]string{"-"}, Config{Stdin: bytes.NewReader(text)})
	require.NoError(t, err)
	var e Entry
	for range 10_000 { // until the window's seconds have been used once
		log.Next(&e)
	}
	assert.Zero(t, testing.AllocsPerRun(9000, func() {
		if !log.Next(&e) {
			t.Fatal("too few lines")
		}
	}))
}
