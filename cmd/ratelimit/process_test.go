package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
)

// process is a command that serves, run within the test.
type process struct {
	url, admin string
	out, err   *buffer
	end        func() int // asks it to end, and returns its exit status
}

// start runs a command that serves, on ports of its own, until the test ends.
func start(t *testing.T, clock ratelimit.Clock, args ...string) *process {
	t.Helper()
	p := &process{out: newBuffer(), err: newBuffer()}
	ctx, cancel := context.WithCancel(context.Background())
	status := make(chan int, 1)
	args = append(args, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	go func() {
		ended := run(ctx, clock, args, p.out, p.err)
		p.out.end()
		status <- ended
	}()
	p.end = sync.OnceValue(func() int { cancel(); return <-status })
	t.Cleanup(func() { p.end() })
	for _, line := range []struct {
		word string
		to   *string
	}{{"listening", &p.url}, {"admin", &p.admin}} {
		var ok bool
		if *line.to, ok = p.out.wait(line.word + ` +(http\S+)`); !ok {
			t.Fatalf("%v doesn't say %s, but:\n%s%s", args, line.word, p.out, p.err)
		}
	}
	return p
}

// buffer is an io.Writer whose text can be waited for.
type buffer struct {
	mu    sync.Mutex
	grown *sync.Cond
	text  bytes.Buffer
	ended bool
}

func newBuffer() *buffer {
	b := &buffer{}
	b.grown = sync.NewCond(&b.mu)
	return b
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grown.Broadcast()
	return b.text.Write(p)
}

// end says that nothing more will come.
func (b *buffer) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.grown.Broadcast()
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// wait returns the last group of the pattern, once the text matches; false if it has ended and doesn't.
func (b *buffer) wait(pattern string) (string, bool) {
	want := regexp.MustCompile(pattern)
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if m := want.FindStringSubmatch(b.text.String()); m != nil {
			return m[len(m)-1], true
		}
		if b.ended {
			return "", false
		}
		b.grown.Wait()
	}
}

// get returns the response to a GET with these fields, and its body.
func get(t *testing.T, url string, fields ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	require.NoError(t, err)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

// fails runs a command that must fail, and returns what it says.
func fails(t *testing.T, status int, args ...string) string {
	t.Helper()
	var out, err bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // one that serves all the same ends at once
	require.Equal(t, status, run(ctx, nil, args, &out, &err), "%v: %s%s", args, &out, &err)
	return strings.TrimSuffix(err.String(), "\n")
}
