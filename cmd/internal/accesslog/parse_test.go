package accesslog

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parsed reads one line.
func parsed(t *testing.T, line string) Entry {
	t.Helper()
	var p parser
	text := []byte(line)
	r, err := p.parse(text)
	require.NoError(t, err, line)
	var e Entry
	r.entry(text, &e)
	return e
}

func at(text string) int64 {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t.UnixNano()
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       Entry
	}{
		{"common", `192.0.2.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a?b=c HTTP/1.0" 200 2326`,
			Entry{Client: "192.0.2.1", User: "frank", Time: at("2000-10-10T20:55:36Z"), Method: "GET", Target: "/a?b=c", Status: 200}},
		{"combined", `2001:db8::1 - - [10/Oct/2000:13:55:36 +0000] "POST / HTTP/2.0" 429 - "https://x.example/" "curl/8 \"x\""`,
			Entry{Client: "2001:db8::1", Time: at("2000-10-10T13:55:36Z"), Method: "POST", Target: "/", Status: 429, Refer: "https://x.example/", Agent: `curl/8 "x"`}},
		{"nginx main", `192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "-" "198.51.100.7, 10.0.0.1"`,
			Entry{Client: "192.0.2.1", Time: at("2000-10-10T13:55:36Z"), Method: "GET", Target: "/", Status: 200, Forwarded: "198.51.100.7, 10.0.0.1"}},
		{"virtual host first", `shop.example:443 192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 5`,
			Entry{Host: "shop.example:443", Client: "192.0.2.1", Time: at("2000-10-10T13:55:36Z"), Method: "GET", Target: "/", Status: 200}},
		{"user with spaces", `192.0.2.1 - Frank N. Stein [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 5`,
			Entry{Client: "192.0.2.1", User: "Frank N. Stein", Time: at("2000-10-10T13:55:36Z"), Method: "GET", Target: "/", Status: 200}},
		{"escapes", `192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET /\x22\xc3\xa4 \\ HTTP/1.1" 200 5 "" "a\\"`,
			Entry{Client: "192.0.2.1", Time: at("2000-10-10T13:55:36Z"), Method: "GET", Target: "/\"ä \\", Status: 200, Agent: `a\`}},
		{"nginx JSON", `{"time_iso8601":"2000-10-10T13:55:36+02:00","remote_addr":"192.0.2.1","remote_user":"frank","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"curl","http_x_forwarded_for":"-","http_x_api_key":"k\u002d1","host":"h"}`,
			Entry{Client: "192.0.2.1", User: "frank", Time: at("2000-10-10T11:55:36Z"), Method: "GET", Target: "/a", Status: 200, Agent: "curl", Host: "h", Fields: []Field{{"X-Api-Key", "k-1"}}}},
		{"nginx msec", `{"msec":"971186136.123","uri":"/index.html","request_uri":"/?x","method":"GET","remote_addr":"192.0.2.1"}`,
			Entry{Client: "192.0.2.1", Time: at("2000-10-10T13:55:36.123Z"), Method: "GET", Target: "/?x"}},
		{"Caddy", `{"level":"info","ts":971186136.1234567,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"10.0.0.1","remote_port":"41342","client_ip":"192.0.2.1","proto":"HTTP/2.0","method":"GET","host":"h.example","uri":"/a?b","headers":{"User-Agent":["curl/7"],"X-Api-Key":["k1","k2"],"Accept":["*/*"]},"tls":{"resumed":false,"version":772}},"user_id":"","duration":0.0009,"status":200,"resp_headers":{"Server":["Caddy"]}}`,
			Entry{Client: "192.0.2.1", Time: at("2000-10-10T13:55:36.1234567Z"), Method: "GET", Target: "/a?b", Host: "h.example", Agent: "curl/7", Status: 200, Fields: []Field{{"X-Api-Key", "k1"}, {"Accept", "*/*"}}}},
		{"Traefik", `{"ClientAddr":"192.0.2.1:4711","ClientHost":"192.0.2.1","ClientUsername":"-","DownstreamStatus":404,"RequestHost":"h.example","RequestMethod":"GET","RequestPath":"/a","RequestProtocol":"HTTP/1.1","StartUTC":"2000-10-10T13:55:36.5Z","StartLocal":"2000-10-10T15:55:36.5+02:00","request_User-Agent":"curl","request_X-Api-Key":"k1","time":"2000-10-10T13:55:37Z","level":"info","msg":""}`,
			Entry{Client: "192.0.2.1", Time: at("2000-10-10T13:55:36.5Z"), Method: "GET", Target: "/a", Host: "h.example", Agent: "curl", Status: 404, Fields: []Field{{"X-Api-Key", "k1"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parsed(t, c.line)
			if len(got.Fields) == 0 {
				got.Fields = nil
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestUnreadable(t *testing.T) {
	for line, want := range map[string]error{
		"":                     errEmpty,
		"2026/03/02 [error] 1": errNoTime,
		`1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "-" 408 0`:               errNoRequest,
		`1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1`:         errNoRequest,
		`1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" - 0`:    errNoStatus,
		`1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1"`:        errNoStatus,
		`1.2.3.4 - - [10/Foo/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 0`:  errNoTime,
		`1.2.3.4 - - [10/Oct/2000:13:55:99 +0000] "GET / HTTP/1.1" 200 0`:  errNoTime,
		`1.2.3.4 [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 0`:      errNoTime,
		`1.2.3.4 - - [31/Dec/1969:23:59:36 +0000] "GET / HTTP/1.1" 200 0`:  errNoTime,
		`1.2.3.4 - - [10/Oct/2160:13:55:36 +0000] "GET / HTTP/1.1" 200 0`:  errNoTime,
		`{"ts":1.5,"request":{"uri":"/"}}`:                                 errNoRequest,
		`{"request":{"method":"GET","uri":"/"}}`:                           errJSONTime,
		`{"ts":99999999999999999999,"request":{"method":"GET","uri":"/"}}`: errJSONTime,
		`{"ts":1.5,"request":{"method":"GET","uri":"/"}} x`:                errJSON,
		`{"ts":1.5,"request":{"method":"GET","uri":"\q"}}`:                 errJSON,
		`{"ts":1.5,"request":{"method":"GET","uri":"/`:                     errJSON,
		`{"ts":1.5,"request":[[[[{`:                                        errJSON,
	} {
		var p parser
		_, err := p.parse([]byte(line))
		assert.Equal(t, want, err, line)
	}
}

func TestUnixTimes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1e9, "1646861401.5241024": 1646861401524102400, "1646861401524": 1646861401524000000,
		"1646861401524102": 1646861401524102000, "1646861401524102400": 1646861401524102400, "1646861401524.25": 1646861401524250000,
	} {
		got, ok := parseUnix([]byte(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "x", "1.5x", "-1", "1e9", "5995814400", "9300000000", "50000000000", "99999999999", "50000000000000"} {
		_, ok := parseUnix([]byte(text))
		assert.False(t, ok, text)
	}
}

// No line, whatever is in it, ends the reading; and a record's parts are within the line.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET /\x22\ HTTP/1.1" 200 5 "" "a\\"`))
	f.Add([]byte(`{"ts":1.5,"request":{"method":"GET","uri":"/\ud83d\ude00","headers":{"a_b":["c",{}]}},"x":[1,{"y":"}"}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var p parser
		if r, err := p.parse(line); err == nil {
			var e Entry
			r.entry(line, &e)
			_ = fmt.Sprint(e)
		}
	})
}
