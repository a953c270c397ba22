package main

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../deploy", name))
	require.NoError(t, err)
	return string(text)
}

// Whatever the files for deployment run is a command that exists, with flags that exist.
func TestDeploymentsRunWhatExists(t *testing.T) {
	invocation := regexp.MustCompile(`(?:ratelimit |CMD \[")(proxy|check|validate|explain)\b([^\n]*(?:\\\n[^\n]*)*)`)
	for _, name := range []string{"nginx.conf", "Caddyfile", "traefik.yaml", "ratelimit.service", "Dockerfile", "rules.yaml"} {
		found := invocation.FindAllStringSubmatch(deployed(t, name), -1)
		require.NotEmpty(t, found, name)
		for _, m := range found {
			command, _, err := newRoot(nil).Find([]string{m[1]})
			require.NoError(t, err)
			for _, flag := range regexp.MustCompile(`--([\w-]+)`).FindAllStringSubmatch(m[2], -1) {
				require.NotNil(t, command.Flags().Lookup(flag[1]), "%s: %s", name, m[0])
			}
		}
	}
}

// What the Dockerfile's first stage runs builds a command that runs alone, as its second stage has it do. The stages' images
// aren't fetched.
func TestDockerfileBuildsACommandThatRunsAlone(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("builds the command once more, with other flags, for Linux")
	}
	text := deployed(t, "Dockerfile")
	line := func(pattern string) string {
		m := regexp.MustCompile(`(?m)^` + pattern + `$`).FindStringSubmatch(text)
		require.NotNil(t, m, pattern)
		return m[1]
	}
	module, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	require.Contains(t, string(module), "\ngo "+line(`FROM golang:([\d.]+) AS build`)+".", "the image's Go is the one that the module asks for")

	binary := filepath.Join(t.TempDir(), "ratelimit")
	build := strings.Replace(line(`RUN (.+ go build .+)`), " -o "+line(`COPY --from=build (\S+) /ratelimit`)+" ", " -o "+binary+" ", 1)
	require.Contains(t, build, binary)
	command := exec.Command("sh", "-c", build)
	command.Dir = "../.." // the root of the repository, as its comment says
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)

	file, err := elf.Open(binary)
	require.NoError(t, err)
	defer file.Close()
	for _, p := range file.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "it needs no loader, as there is none")
	}
	require.Equal(t, "/ratelimit", line(`ENTRYPOINT \["(\S+)"\]`))
	var args []string
	require.NoError(t, json.Unmarshal([]byte(line(`CMD (\[.+\])`)), &args))
	require.Equal(t, "/etc/ratelimit/rules.yaml", args[2], "where its comment mounts one")
	rules, err := filepath.Abs("../deploy/rules.yaml")
	require.NoError(t, err)
	said, err = exec.Command(binary, "validate", rules).CombinedOutput()
	require.NoError(t, err, "%s", said)
	args[2] = filepath.Join(t.TempDir(), "missing.yaml")
	said, err = exec.Command(binary, args...).CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, exitInvalid, exit.ExitCode(), "it takes the command line, and misses the file: %s", said)
}

func TestSocketHasTheNameThatTheServiceAsksFor(t *testing.T) {
	name := regexp.MustCompile(`(?m)^FileDescriptorName=(\w+)$`).FindStringSubmatch(deployed(t, "ratelimit.socket"))
	require.NotNil(t, name)
	require.Contains(t, deployed(t, "ratelimit.service"), "--listen systemd:"+name[1]+" ")
}

func TestRuleFileDoesWhatItSays(t *testing.T) {
	file := filepath.Join("../deploy", "rules.yaml")
	status, out, err := says("validate", file)
	require.Equal(t, exitDone, status, err)
	require.Contains(t, out, "4 rules, 2 plans, 3 upstreams")
	for _, c := range []struct {
		args    []string
		verdict string
		applies []string
	}{
		{[]string{"--request", "/"}, "200: passed", []string{"address"}},
		{[]string{"--request", "/v1/search", "--header", "X-Plan:premium"}, "200: passed", []string{"address", "search"}},
		{[]string{"--request", "POST /login"}, "200: passed", []string{"address", "login"}},
		{[]string{"--request", "/files/a/b"}, "200: passed", []string{"address", "downloads"}},
		{[]string{"--request", "/", "--from", "203.0.113.9"}, "403: blocked", nil},
		{[]string{"--request", "/", "--from", "10.0.0.1", "--header", "X-Forwarded-For:192.0.2.10"}, "allow list", nil},
	} {
		_, out, _ := says(append([]string{"explain", file}, c.args...)...)
		require.Contains(t, strings.SplitN(out, "\n", 2)[0], c.verdict, c.args)
		for _, rule := range c.applies {
			require.Contains(t, out, rule+" applies", c.args)
		}
	}
}
