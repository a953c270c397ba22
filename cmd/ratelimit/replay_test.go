package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/replay"
)

const (
	shopLog = "../../testdata/logs/shop.log.gz"
	byIP    = "rules: [{name: address, key: ip, limit: 30/minute}]"
)

// logFile writes a log of n requests of one client, ten a second, and returns its path.
func logFile(t *testing.T, name string, n int) string {
	t.Helper()
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "192.0.2.1 - - [02/Mar/2026:09:%02d:%02d +0000] \"GET /%x HTTP/1.1\" 200 5\n", i/600, i/10%60, i*i)
	}
	text := b.Bytes()
	if strings.HasSuffix(name, ".gz") {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write(text)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		text = packed.Bytes()
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func TestReplay(t *testing.T) {
	rules, page := write(t, byIP), filepath.Join(t.TempDir(), "report.html")
	status, out, errs := says("replay", shopLog, "--config", rules, "--html", page)
	require.Equal(t, exitDone, status, errs)
	require.Empty(t, errs)
	require.Contains(t, out, "22,373 lines = 22,371 decided + 2 unreadable")
	require.Contains(t, out, "203.0.113.7, by address")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "203.0.113.7")

	status, out, errs = says("replay", shopLog, "--config", rules, "--against", write(t, plans), "--format", "json")
	require.Equal(t, exitDone, status, errs)
	var report replay.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.EqualValues(t, 22371, report.Config.Passed+report.Config.Refused)
	require.NotNil(t, report.Against)
}

// Whatever is wrong with a log is one clear line, and what was read is reported all the same.
func TestReplayOfBadLogs(t *testing.T) {
	rules := write(t, byIP)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	whole, err := os.ReadFile(logFile(t, "access.log.gz", 5000))
	require.NoError(t, err)
	good, err := os.ReadFile(logFile(t, "access.log", 100))
	require.NoError(t, err)
	for _, c := range []struct {
		name, log string
		status    int
		err, out  string
	}{
		{"none there", "/nowhere.log", exitFailed, "ratelimit replay: /nowhere.log: no such file or directory\n", ""},
		{"a folder", t.TempDir(), exitFailed, "is a directory", ""},
		{"empty", file("empty.log", ""), exitFailed, "empty.log: empty\n", "no request"},
		{"another format", file("error.log", "2026/03/02 [error] 7#7: x\n2026/03/02 [error] 7#7: y\n"), exitFailed,
			"none of 2 lines is of the common or combined format", "2 lines = 0 decided + 2 unreadable"},
		{"binary", file("image.log", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\n\xff\n"), exitFailed, "none of ", "unreadable"},
		{"one line of 1 MB", file("long.log", strings.Repeat("x", 1<<20)), exitFailed, "longer than 64 KiB", "1 line = 0 decided"},
		{"cut gzip", file("cut.log.gz", string(whole[:len(whole)/2])), exitFailed, "cut.log.gz: is cut off after line", "address: 30/minute"},
		{"cut in gzip's head", file("head.log.gz", "\x1f\x8b\x08"), exitFailed, "head.log.gz: gzip: is cut off in its head", ""},
		{"some bad lines", file("some.log", string(good)+"junk\n"), exitDone, "", "101 lines = 100 decided + 1 unreadable"},
		{"years apart", file("years.log", string(good)+strings.ReplaceAll(string(good), "2026", "2036")), exitDone, "",
			"200 requests of 1 client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errs := says("replay", c.log, "--config", rules)
			assert.Equal(t, c.status, status, errs)
			assert.Contains(t, errs, c.err)
			if c.status != exitDone {
				assert.Equal(t, 1, strings.Count(errs, "\n"), "one line")
			}
			assert.Contains(t, out, c.out)
		})
	}
}

func TestReplayUsage(t *testing.T) {
	rules := write(t, byIP)
	for _, c := range []struct {
		args   []string
		status int
		err    string
	}{
		{[]string{"replay"}, exitUsage, "want an access log"},
		{[]string{"replay", shopLog}, exitUsage, "want --config"},
		{[]string{"replay", shopLog, shopLog, "--config", rules}, exitUsage, "given twice"},
		{[]string{"replay", "-", "--config", "-"}, exitUsage, "stdin can be only one"},
		{[]string{"suggest", "-", "--config", "-"}, exitUsage, "stdin can be only one"},
		{[]string{"replay", shopLog, "--config", rules, "--format", "xml"}, exitUsage, `--format: "xml"`},
		{[]string{"replay", shopLog, "--config", rules, "--window", "0s"}, exitUsage, "--window"},
		{[]string{"replay", shopLog, "--config", "/nowhere.yaml"}, exitInvalid, "/nowhere.yaml: no such file"},
		{[]string{"replay", shopLog, "--config", write(t, "rules: [{name: a, key: func:x, missing: skip, limit: 1/s}]")}, exitInvalid, `"x"`},
		{[]string{"replay", shopLog, "--config", rules, "--html", "/nowhere/report.html"}, exitFailed, "/nowhere/report.html"},
		{[]string{"suggest", shopLog, "--clients", "150%"}, exitUsage, "want a share"},
		{[]string{"suggest", shopLog, "--clients", "1%", "--requests", "1%"}, exitUsage, "only one of them"},
		{[]string{"suggest", shopLog, "--key", "foo:bar"}, exitUsage, "--key"},
		{[]string{"suggest", shopLog, "--headroom", "0"}, exitUsage, "--headroom"},
		{[]string{"suggest", "/nowhere.log"}, exitFailed, "/nowhere.log: no such file"},
		{[]string{"suggest", write(t, "junk\n")}, exitFailed, "none of 1 lines"},
		{[]string{"suggest", shopLog, "--config", write(t, "rules: [{name: a, match: /nobody, key: ip, limit: 1/s}]")}, exitFailed, "no request of the log meets a rule"},
	} {
		status, _, errs := says(c.args...)
		assert.Equal(t, c.status, status, "%v: %s", c.args, errs)
		assert.Contains(t, errs, c.err, c.args)
		assert.Equal(t, 1, strings.Count(errs, "\n"), "%v: %s", c.args, errs)
	}
}

// From a log to a rule in three commands, as the README has it: what suggest prints is valid, and the replay says the same.
func TestFromALogToARule(t *testing.T) {
	status, suggested, errs := says("suggest", shopLog)
	require.Equal(t, exitDone, status, errs)
	rules := write(t, suggested)
	status, _, errs = says("validate", rules)
	require.Equal(t, exitDone, status, errs)
	status, out, errs := says("replay", shopLog, "--config", rules)
	require.Equal(t, exitDone, status, errs)
	var confirmed string
	for line := range strings.Lines(out) {
		if i := strings.Index(line, " refuses "); i >= 0 {
			confirmed = strings.TrimSpace(line[i:])
			break
		}
	}
	require.NotEmpty(t, confirmed)
	require.Contains(t, suggested, confirmed)
}

func TestSuggestReadsStdin(t *testing.T) {
	text, err := os.ReadFile(logFile(t, "access.log.gz", 3000))
	require.NoError(t, err)
	root := newRoot(nil)
	var out bytes.Buffer
	root.SetArgs([]string{"suggest", "-", "--format", "json"})
	root.SetIn(bytes.NewReader(text))
	root.SetOut(&out)
	root.SetErr(&out)
	require.NoError(t, root.ExecuteContext(context.Background()))
	var result struct {
		Replay replay.Report `json:"replay"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &result))
	assert.EqualValues(t, 3000, result.Replay.Log.Decided)
}
