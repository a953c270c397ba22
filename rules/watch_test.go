package rules_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watched is a store that follows a file.
type watched struct {
	*testing.T
	path    string
	store   *rules.Store
	watcher *rules.Watcher
	errors  []error
}

func fileOf(limit string) string {
	return fmt.Sprintf("{\"rules\": [\n{\"name\": \"api\", \"key\": \"ip\", \"limit\": %q}\n]}", limit)
}

func watch(t *testing.T, c rules.WatchConfig) *watched {
	t.Helper()
	w := &watched{T: t, path: filepath.Join(t.TempDir(), "rules.json")}
	w.write(fileOf("1/s"))
	spec, err := rules.LoadFile(w.path, nil)
	require.NoError(t, err)
	w.store, err = rules.NewStore(spec, rules.Config{OnError: func(err error) { w.errors = append(w.errors, err) }})
	require.NoError(t, err)
	c.Path = w.path
	w.watcher = rules.NewWatcher(w.store, c)
	w.polls(2)
	require.EqualValues(t, 1, w.store.Stats().Version, "the file that is loaded already changes nothing")
	return w
}

func (w *watched) write(text string) {
	w.Helper()
	require.NoError(w, os.WriteFile(w.path, []byte(text), 0o600))
}

// replace puts another file at the path, as editors do.
func (w *watched) replace(text string) {
	w.Helper()
	require.NoError(w, os.WriteFile(w.path+".new", []byte(text), 0o600))
	require.NoError(w, os.Rename(w.path+".new", w.path))
}

func (w *watched) polls(n int) (err error) {
	for range n {
		err = w.watcher.Poll()
	}
	return err
}

func (w *watched) limit() string { return w.store.Current().Limits()[0].Limit.Refill.String() }

func TestWatchLoadsWhatHasSettled(t *testing.T) {
	w := watch(t, rules.WatchConfig{})
	w.write(fileOf("2/s"))
	w.polls(1)
	assert.Equal(t, "1/s", w.limit(), "it may still be being written")
	w.polls(1)
	assert.Equal(t, "2/s", w.limit())
	w.replace(fileOf("3/s"))
	w.polls(2)
	assert.Equal(t, "3/s", w.limit())
	w.polls(5)
	assert.EqualValues(t, 3, w.store.Stats().Version, "nothing changes by itself")
	assert.Empty(t, w.errors)
}

// A file that keeps its size and its time, as a copy that preserves times does, is seen to change.
func TestWatchSeesMoreThanSizeAndTime(t *testing.T) {
	w := watch(t, rules.WatchConfig{})
	info, err := os.Stat(w.path)
	require.NoError(t, err)
	w.write(fileOf("2/s"))
	require.NoError(t, os.Chtimes(w.path, info.ModTime(), info.ModTime()))
	w.polls(2)
	assert.Equal(t, "2/s", w.limit())
	require.NoError(t, os.Chtimes(w.path, time.Unix(1, 0), time.Unix(1, 0)))
	w.polls(3)
	assert.EqualValues(t, 2, w.store.Stats().Version, "another time is no other content")
}

func TestWatchFollowsLinks(t *testing.T) { // as Kubernetes mounts a ConfigMap
	w := watch(t, rules.WatchConfig{})
	dir := filepath.Dir(w.path)
	for _, limit := range []string{"2/s", "3/s"} {
		version := filepath.Join(dir, "..data_"+limit[:1])
		require.NoError(t, os.Mkdir(version, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(version, "rules.json"), []byte(fileOf(limit)), 0o600))
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
		if limit == "2/s" {
			require.NoError(t, os.Remove(w.path))
			require.NoError(t, os.Symlink(filepath.Join("..data", "rules.json"), w.path))
		}
		w.polls(2)
		assert.Equal(t, limit, w.limit())
	}
}

func TestWatchKeepsTheOldRules(t *testing.T) {
	w := watch(t, rules.WatchConfig{})
	for i, c := range []struct {
		text string
		kind error
		says string
	}{
		{"", rules.ErrSyntax, "empty"},
		{fileOf("2/s")[:40], rules.ErrSyntax, "still being written"},
		{fileOf("2 per fortnight"), rules.ErrInvalidSpec, "line 2: rules[0].limit"},
		{strings.Replace(fileOf("2/s"), "key", "keys", 1), rules.ErrUnknownField, "line 2: rules[0].keys"},
		{strings.Replace(fileOf("2/s"), "ip", "user", 1), rules.ErrRequired, "line 2: rules[0].missing (api)"},
	} {
		w.write(c.text)
		require.NoError(t, w.polls(1))
		err := w.polls(1)
		assert.ErrorIs(t, err, c.kind)
		assert.ErrorContains(t, err, c.says)
		assert.True(t, strings.HasPrefix(err.Error(), w.path+": "), "the file is named: %v", err)
		assert.NoError(t, w.polls(3), "said once")
		assert.Len(t, w.errors, i+1)
		assert.Equal(t, "1/s", w.limit())
		stats := w.store.Stats()
		assert.EqualValues(t, i+1, stats.Failures)
		assert.Equal(t, err, stats.LastError)
	}
	w.write(fileOf("1/s"))
	w.polls(2)
	stats := w.store.Stats()
	assert.NoError(t, stats.LastError, "the file is good again")
	assert.EqualValues(t, 1, stats.Version, "and as it was")
}

func TestWatchOfAFileThatIsGone(t *testing.T) {
	w := watch(t, rules.WatchConfig{})
	require.NoError(t, os.Remove(w.path))
	assert.ErrorIs(t, w.polls(3), fs.ErrNotExist)
	assert.Len(t, w.errors, 1, "said once")
	require.NoError(t, os.Mkdir(w.path, 0o700))
	assert.ErrorIs(t, w.polls(3), rules.ErrValue)
	assert.Len(t, w.errors, 2)
	assert.Equal(t, "1/s", w.limit())
	require.NoError(t, os.Remove(w.path))
	w.write(fileOf("1/s"))
	w.polls(2)
	assert.NoError(t, w.store.Stats().LastError, "it is back, the same as before")
}

func TestReloadDoesNotWait(t *testing.T) {
	w := watch(t, rules.WatchConfig{})
	w.write(fileOf("2/s"))
	require.NoError(t, w.watcher.Reload())
	assert.Equal(t, "2/s", w.limit())
	w.write("{")
	assert.ErrorIs(t, w.watcher.Reload(), rules.ErrSyntax)
	assert.ErrorIs(t, w.watcher.Reload(), rules.ErrSyntax)
	assert.Len(t, w.errors, 2, "each was asked for")
	require.NoError(t, os.Remove(w.path))
	assert.ErrorIs(t, w.watcher.Reload(), fs.ErrNotExist)
	assert.ErrorIs(t, w.watcher.Reload(), fs.ErrNotExist)
	assert.Len(t, w.errors, 4)
}

// Run looks at each tick and loads at each signal; a tick that is taken means that the one before it is done.
func TestWatchRuns(t *testing.T) {
	tick, reload := make(chan time.Time), make(chan os.Signal)
	w := watch(t, rules.WatchConfig{Tick: tick, Reload: reload})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.watcher.Run(ctx) }()
	w.write(fileOf("2/s"))
	for range 3 {
		tick <- time.Time{}
	}
	assert.Equal(t, "2/s", w.limit())
	w.write(fileOf("3/s"))
	reload <- syscall.SIGHUP
	tick <- time.Time{}
	assert.Equal(t, "3/s", w.limit())
	cancel()
	<-done
}

func TestWatchRunsByDefault(t *testing.T) {
	changed := make(chan struct{})
	w := watch(t, rules.WatchConfig{Every: time.Millisecond})
	_, err := w.store.Subscribe(func(next *rules.Set) (func(), error) {
		return func() {
			if next.Version() == 2 {
				close(changed)
			}
		}, nil
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.watcher.Run(ctx) }()
	w.replace(fileOf("2/s"))
	<-changed
	cancel()
	<-done
}

func TestLoadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	_, err := rules.LoadFile(path, nil)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte(fileOf("1/week")), 0o600))
	_, err = rules.LoadFile(path, nil)
	assert.ErrorContains(t, err, "line 2: rules[0].limit")

	// Another decoder needs no more than to fill a Spec; lines are its own affair.
	_, err = rules.LoadFile(path, func([]byte) (rules.Spec, func(string) int, error) { return rules.Spec{}, nil, nil })
	assert.ErrorIs(t, err, rules.ErrRequired)
	_, err = rules.LoadFile(path, func([]byte) (rules.Spec, func(string) int, error) {
		return rules.Spec{Rules: make([]rules.RuleSpec, 1)}, func(path string) int { return map[string]int{"rules[0]": 7}[path] }, nil
	})
	assert.Equal(t, 7, problemAt(t, err, "rules[0].name").Line, "a field that is missing is looked for where it should be")
}
