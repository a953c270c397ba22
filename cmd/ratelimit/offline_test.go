package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// says runs a command that doesn't serve, and returns its exit status and what it prints.
func says(args ...string) (status int, out, err string) {
	var stdout, stderr bytes.Buffer
	status = run(context.Background(), nil, args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// write writes a rule file, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const plans = `
plans: {names: [free, premium], default: free, from: header:X-Plan}
proxies: {trusted: [10.0.0.0/8]}
allow: [192.0.2.1]
block: [203.0.113.7]
rules:
- {name: all, key: ip, limit: 1000/minute}
- name: search
  match: [GET /v1/search, /v1/find]
  key: [header:X-API-Key, ip]
  layer: search
  plans: {free: {limit: 10/s}, premium: {limit: 100/s, burst: 500}}
- {name: one, match: GET /v1/search/one, key: [header:X-API-Key, ip], layer: search, limit: 1/s}
- {name: login, match: POST /login, key: header:X-User, missing: refuse, limit: 5/10m, algorithm: sliding_window_counter}
`

func TestValidate(t *testing.T) {
	good, bad := write(t, plans), write(t, "rules:\n- name: a\n  key: ip\n  limit: 5\n  brust: 3\n")
	status, out, err := says("validate", good)
	require.Equal(t, exitDone, status, err)
	require.Equal(t, good+": valid: 4 rules, 2 plans\n", out)
	warning := good + ":2: warning: plans.from: whoever can write header:X-Plan chooses a plan: have a proxy remove it from what clients send, or list its values\n"
	require.Equal(t, warning, err)

	status, out, err = says("validate", good, bad, "/nowhere.yaml")
	require.Equal(t, exitInvalid, status)
	require.Contains(t, out, ": valid: ")
	require.Equal(t, warning+bad+`:4: rules[0].limit: "5": want a number, then / or per, then a time
`+bad+`:5: rules[0].brust: "brust": there is no such field here
/nowhere.yaml: no such file or directory
`, err)

	status, _, err = says("validate", write(t, "rules:\n- name: a\n  match: /v1/\n  key: [header:X-API-Key, ip]\n  limit: 1/s\n"))
	require.Equal(t, exitDone, status)
	require.Contains(t, err, ":4: warning: rules[0].key (a): header:X-Api-Key is what the sender says")

	status, _, err = says("validate")
	require.Equal(t, exitUsage, status)
	require.Contains(t, err, "want a rule file")
}

func TestExplain(t *testing.T) {
	file := write(t, plans)
	for name, c := range map[string]struct {
		args   []string
		status int
		want   []string
	}{
		"premium": {[]string{"--request", "GET /v1/search?q=1", "--header", "X-API-Key: k", "--header", "X-Plan: premium"}, 0, []string{
			"200: passed", "all applies: every request\n  key    ip=127.0.0.1\n", "search applies: matches GET /v1/search\n  key    header=#",
			"  by     header:X-Api-Key, ip\n  plan   premium\n  limit  100/s, 500 at once\n", "one doesn't apply: it matches only GET /v1/search/one\n",
		}},
		"by address":    {[]string{"--request", "/v1/find"}, 0, []string{"search applies: matches /v1/find\n  key    ip=127.0.0.1\n", "  plan   free\n"}},
		"more specific": {[]string{"--request", "https://api.example.com/v1/search/one"}, 0, []string{"one applies: matches GET /v1/search/one"}},
		"missing": {[]string{"--request", "POST /login"}, 1, []string{
			"400: key missing by login", "login applies: matches POST /login; the request has no header:X-User, so it is refused\n",
			"  limit  5/10m, sliding_window_counter\n",
		}},
		"behind a proxy": {[]string{"--request", "/", "--from", "10.1.1.1", "--header", "X-Forwarded-For: 198.51.100.9"}, 0, []string{"key    ip=198.51.100.9"}},
		"forged":         {[]string{"--request", "/", "--from", "11.1.1.1", "--header", "X-Forwarded-For: 198.51.100.9"}, 0, []string{"key    ip=11.1.1.1"}},
		"allow list":     {[]string{"--request", "/", "--from", "192.0.2.1"}, 0, []string{"200: passed: the client is on the allow list"}},
		"block list":     {[]string{"--request", "/", "--from", "203.0.113.7"}, 1, []string{"403: blocked: the client is on the block list"}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, err := says(append([]string{"explain", file}, c.args...)...)
			require.Equal(t, c.status, status, err)
			require.Empty(t, err)
			for _, want := range c.want {
				require.Contains(t, out, want)
			}
			status, out, _ = says(append([]string{"explain", file, "--json"}, c.args...)...)
			require.Equal(t, c.status, status)
			var answer report
			require.NoError(t, json.Unmarshal([]byte(out), &answer))
			require.Len(t, answer.Rules, 4)
		})
	}
}

func TestExplainSaysWhatItWants(t *testing.T) {
	file := write(t, plans)
	for args, want := range map[string]string{
		"":                                "want --request",
		"--request x":                     `--request: "x": want a method and a path, or a URL: GET /v1/x`,
		"--request / --header X":          `--header: "X": want NAME: VALUE`,
		"--request / --from here":         `--from: "here": want an address, or unix`,
		"--request / another.yaml":        "want one rule file",
		"--request http://[::1/x --json":  "want a method and a path, or a URL",
		"--request / --header :X --json=": `invalid argument "" for "--json"`,
	} {
		status, _, err := says(append([]string{"explain", file}, strings.Fields(args)...)...)
		require.Equal(t, exitUsage, status, args)
		require.Contains(t, err, want, args)
	}
}

func TestVersion(t *testing.T) {
	status, out, _ := says("version")
	require.Equal(t, exitDone, status)
	require.Regexp(t, `^ratelimit \S+ go1\.\S+ \w+/\w+\n$`, out)
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		status, out, _ := says("completion", shell)
		require.Equal(t, exitDone, status)
		require.Contains(t, out, "ratelimit")
	}
	_, out, _ := says("__complete", "proxy", "--algorithm", "")
	require.Contains(t, out, "sliding_window_log\n")
	_, out, _ = says("__complete", "va")
	require.Contains(t, out, "validate\t")
}

// Each command's help has an example, and each example a command that exists with flags that exist.
func TestHelpTeaches(t *testing.T) {
	invocation := regexp.MustCompile(`(?m)^ +(?:\S+ [<|] )?ratelimit (\w+)(.*?)(?: [|&].*)?$`)
	for _, command := range newRoot(nil).Commands() {
		if command.Name() == "completion" || command.Name() == "help" {
			continue
		}
		status, out, _ := says(command.Name(), "--help")
		require.Equal(t, exitDone, status)
		if command.Name() != "version" {
			require.Contains(t, out, "Examples:", command.Name())
		}
		for _, m := range invocation.FindAllStringSubmatch(command.Example+"\n"+rootHelp, -1) {
			named, _, err := newRoot(nil).Find([]string{m[1]})
			require.NoError(t, err, m[0])
			for _, flag := range regexp.MustCompile(`--([\w-]+)`).FindAllStringSubmatch(m[2], -1) {
				require.NotNil(t, named.Flags().Lookup(flag[1]), m[0])
			}
		}
	}
}
