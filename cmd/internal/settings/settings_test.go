package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

const rule = "rules:\n- {name: a, key: ip, limit: 100/minute}\n"

func TestParse(t *testing.T) {
	file, err := Parse([]byte(rule + `
server:
  listen: [127.0.0.1:8080, "unix:/run/ratelimit.sock"]
  admin: off
  upstreams:
  - {url: http://127.0.0.1:3000, timeout: 2m}
  - {host: api.example.com, path: /v1, url: h2c://127.0.0.1:4000, preserve_host: true}
  grace: 10s
  max_keys: 1000
`))
	require.NoError(t, err)
	require.Equal(t, rules.List{"127.0.0.1:8080", "unix:/run/ratelimit.sock"}, file.Server.Listen)
	require.Equal(t, AdminOff, file.Server.Admin)
	require.Equal(t, 2*time.Minute, file.Server.Upstreams[0].Timeout)
	require.True(t, file.Server.Upstreams[1].PreserveHost)
	require.Equal(t, 10*time.Second, file.Server.Grace)
	require.Equal(t, 1000, file.Server.MaxKeys)
	require.Equal(t, ratelimit.PerMinute(100), file.Rules[0].Limit)
}

func TestJSONIsYAML(t *testing.T) {
	file, err := Parse([]byte(`{"rules": [{"name": "a", "key": ["ip"], "limit": "10/s", "burst": 3}], "server": {"listen": ":80"}}`))
	require.NoError(t, err)
	require.Equal(t, int64(3), *file.Rules[0].Burst)
	require.Equal(t, rules.List{":80"}, file.Server.Listen)
}

func TestFileWithAByteOrderMark(t *testing.T) {
	for _, text := range []string{rule, `{"rules": [{"name": "a", "key": ["ip"], "limit": "10/s"}]}`} {
		want, err := Parse([]byte(text))
		require.NoError(t, err)
		got, err := Parse([]byte("\ufeff" + text))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestEveryMistakeIsToldWithItsLine(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // a line each
	}{
		"empty":    {"", "line 1: the file is empty: it needs rules at least"},
		"comments": {"# nothing\n", "line 1: the file is empty: it needs rules at least"},
		"scalar":   {"rules", "line 1: the file must be a mapping, with rules at least"},
		"torn":     {"rules: [\n", "line 2: did not find expected node content"},
		"tab":      {"rules:\n\t- a\n", "line 2: found character that cannot start any token"},
		"latin1":   {"# comment\nrules: \xff\n", "line 2: is not UTF-8 text"},
		"two":      {rule + "---\na: 1\n", "line 3: a second document starts here: a rule file is one"},
		"no rules": {"server: {listen: :80}\n", "line 1: rules: there are none: nothing would be limited"},
		"unknown": {rule + "serer: {}\nserver:\n  lissen: :80\n",
			`line 3: serer: "serer": there is no such field here
			line 5: server.lissen: "lissen": there is no such field here`},
		"kinds": {rule + "server:\n  grace: 5\n  max_keys: many\n  listen: {a: b}\n  upstreams: x\n",
			`line 4: server.grace: "5": want a duration, such as 30s or 2m
			line 5: server.max_keys: "many": want a whole number
			line 6: server.listen: want a text or a list of texts
			line 7: server.upstreams: "x": want a list`},
		"duplicate": {"rules:\n- name: a\n  key: ip\n  limit: 1/s\n  limit: 2/s\n- name: b\n  key: ipp\n  limit: 1/s\n",
			`line 5: rules[0].limit: stands on line 4 already
			line 7: rules[1].key (b): "ipp": want one of ip, header, cookie, query, user, host, method, route, path, func, global`},
		"a rule that is none": {"rules:\n- 3\n- {name: b, key: ip}\n", `line 2: rules[0]: "3": want a mapping`},
		"limit": {"rules:\n- name: a\n  key: ip\n  limit: 100/mnute\n- name: b\n  key: ip\n  limit: {tokens: 1}\n  match: /b\n",
			`line 4: rules[0].limit: "100/mnute": the time must be a unit (s, minute, hour, day), a number of them, or a duration, 1ns to 106751 days
			line 7: rules[1].limit: a mapping: want a rate, such as 100/minute`},
		"through an anchor": {"rules:\n- &a {name: a, key: ip, limit: 1/s, match: /a}\n- <<: *a\n  name: b\n  match: /b\n  burst: 0\n",
			"line 6: rules[1].burst (b): 0: must be at least 1; 0 would let nothing pass"},
		"server": {rule + "server:\n  listen: [8080]\n  admin: x\n  admin_token_file: /nowhere\n  tls: {cert: a.pem}\n  upstreams:\n  - url: localhost\n    path: x\n  drain: -1s\n  max_keys: -1\n",
			`line 4: server.listen[0]: "8080": want host:port, :port, unix:/path/to.sock or systemd:NAME
			line 5: server.admin: "x": want host:port, :port, unix:/path/to.sock or systemd:NAME, or off
			line 6: server.admin_token_file: open /nowhere: no such file or directory
			line 7: server.tls: needs both cert and key
			line 9: server.upstreams[0].url: "localhost": want http://host:port, https://host, h2c://host:port or unix:/path/to.sock
			line 10: server.upstreams[0].path: "x": must start with /
			line 11: server.drain: -1s: must not be negative
			line 12: server.max_keys: -1: must be at least 1, or 0 for 1048576`},
		"upstreams that get nothing": {rule + "server:\n  upstreams:\n  - {url: http://a, host: A.test, path: /v1}\n  - {url: http://b}\n  - {url: http://c, host: a.test, path: /v1/}\n  - url: http://d\n",
			`line 7: server.upstreams[2]: gets no request: upstreams[0] has the same host and path, and gets them all
			line 8: server.upstreams[3]: gets no request: upstreams[1] has the same host and path, and gets them all`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			var broken *rules.Error
			require.ErrorAs(t, err, &broken)
			var got []string
			for _, p := range broken.Problems {
				got = append(got, p.Error())
			}
			require.Equal(t, strings.ReplaceAll(c.want, "\t", ""), strings.Join(got, "\n"))
		})
	}
}

func TestKindsOfMistakes(t *testing.T) {
	for text, want := range map[string]error{
		"rules: [":                             rules.ErrSyntax,
		rule + "x: 1":                          rules.ErrUnknownField,
		"rules: 3":                             rules.ErrType,
		"rules: [{name: a, limit: 0/s}]":       ratelimit.ErrInvalidRule,
		rule + "headers: {when: now}":          rules.ErrValue,
		rule + "server: {admin: x}":            ErrServer,
		"rules: [{name: a, name: b}]":          rules.ErrDuplicate,
		"rules: [{name: a, limit: 1/s}]":       rules.ErrRequired,
		rule + "proxies: {trusted: 0.0.0.0/0}": rules.ErrTrust,
	} {
		_, err := Parse([]byte(text))
		require.ErrorIs(t, err, want, text)
	}
}

// A few aliases of aliases stand for billions of nodes.
func TestAliasesDontExplode(t *testing.T) {
	text := "a0: &a0 [x]\n"
	for i := range 30 {
		ref := "*a" + string(rune('0'+i%10))
		text += "a" + string(rune('0'+(i+1)%10)) + strings.Repeat("_", i/9) + ": &a" + string(rune('0'+(i+1)%10)) + " [" + strings.Repeat(ref+",", 9) + "]\n"
	}
	_, err := Parse([]byte(text))
	require.Error(t, err)
}

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for text, ok := range map[string]bool{
		"0123456789abcdef0123456789abcdef\n": true,
		"short\n":                            false,
		"two words of enough bytes":          false,
		"":                                   false,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		token, err := ReadToken(path)
		require.Equal(t, ok, err == nil, text)
		if ok {
			require.Equal(t, strings.TrimSpace(text), token)
		}
	}
}

func TestReadMissingFile(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "none.yaml"))
	require.True(t, errors.Is(err, os.ErrNotExist))
}

// Whatever a file holds, it is used or refused with lines that exist.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "a", "rules: [", rule, rule + "server: {listen: :80, tls: {}}\n", "a: &a [*a]\n", "<<: {rules: 1}\n",
		"rules:\n- &a {name: a}\n- <<: *a\n", "? [a]\n: b\n", "rules: !!binary x\n", "---\n---\n", "\t", "rules:\n- {name: a, name: b}\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse([]byte(text))
		if err == nil {
			require.NotNil(t, file)
			return
		}
		var broken *rules.Error
		require.ErrorAs(t, err, &broken)
		for _, p := range broken.Problems {
			require.Positive(t, p.Line)
			require.LessOrEqual(t, p.Line, strings.Count(text, "\n")+strings.Count(text, "\r")+2)
			require.NotEmpty(t, p.Text)
		}
	})
}
