package rules_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// muxes is the oracle of the matcher: one http.ServeMux for each layer, asked as a client that follows redirects would.
type muxes []*http.ServeMux

// match returns the pattern that each layer's mux chooses; "" for none.
func (m muxes) match(method, host, path string) []string {
	chosen := make([]string, len(m))
	for i, mux := range m {
		u := &url.URL{Path: path}
		for range 3 {
			r := &http.Request{Method: method, Host: host, URL: u}
			handler, pattern := mux.Handler(r)
			chosen[i] = pattern
			location := redirect(handler, r)
			if location == nil {
				break
			}
			u = location
		}
	}
	return chosen
}

// redirect returns where the handler sends the client, if that is what it does.
func redirect(h http.Handler, r *http.Request) *url.URL {
	if _, ok := h.(registered); ok {
		return nil
	}
	w := &header{fields: http.Header{}}
	h.ServeHTTP(w, r)
	if w.status/100 != 3 {
		return nil
	}
	u, err := url.Parse(w.fields.Get("Location"))
	if err != nil {
		return nil
	}
	return u
}

// registered is what the oracle's patterns lead to.
type registered struct{}

func (registered) ServeHTTP(http.ResponseWriter, *http.Request) {}

type header struct {
	fields http.Header
	status int
}

func (h *header) Header() http.Header         { return h.fields }
func (h *header) Write(b []byte) (int, error) { return len(b), nil }
func (h *header) WriteHeader(status int)      { h.status = status }

// register adds a pattern to a mux, and reports whether it took it: it panics on bad and on conflicting ones.
func register(mux *http.ServeMux, pattern string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	mux.Handle(pattern, registered{})
	return nil
}

// corpus is made of few words, so that patterns and paths meet often.
var (
	corpusMethods = []string{"", "GET", "HEAD", "POST"}
	corpusHosts   = []string{"", "a.test", "b.test"}
	corpusSteps   = []string{"a", "b", "c", "{x}", "{y}", "{$}", "{rest...}", ""}
	corpusPaths   = []string{"a", "b", "c", "d", "", ".", ".."}
)

// draw takes choices from fuzz data.
type draw []byte

func (d *draw) below(n int) int {
	if len(*d) == 0 {
		return 0
	}
	b := (*d)[0]
	*d = (*d)[1:]
	return int(b) % n
}

func (d *draw) of(words []string) string { return words[d.below(len(words))] }

func (d *draw) path(words []string) string {
	steps := make([]string, 1+d.below(4))
	for i := range steps {
		steps[i] = d.of(words)
	}
	return "/" + strings.Join(steps, "/")
}

func (d *draw) pattern() string {
	pattern := d.of(corpusHosts) + d.path(corpusSteps)
	if method := d.of(corpusMethods); method != "" {
		pattern = method + " " + pattern
	}
	return pattern
}

// FuzzMatch draws patterns for two layers and some requests, and compares with http.ServeMux: which patterns it takes,
// which conflict, and which one matches.
func FuzzMatch(f *testing.F) {
	f.Add([]byte("a few bytes"))
	f.Add([]byte{8, 1, 0, 2, 0, 1, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(checkAgainstServeMux)
}

func checkAgainstServeMux(t *testing.T, data []byte) {
	d := (*draw)(&data)
	layers := muxes{http.NewServeMux(), http.NewServeMux()}
	var spec rules.Spec
	for range 1 + d.below(12) {
		layer, pattern := d.below(len(layers)), d.pattern()
		rule := rules.RuleSpec{Name: fmt.Sprintf("r%d", len(spec.Rules)), Match: rules.List{pattern}, Mode: rules.Block,
			Layer: fmt.Sprintf("layer%d", layer)}
		with := spec
		with.Rules = append(spec.Rules[:len(spec.Rules):len(spec.Rules)], rule)
		ours := with.Validate()
		if strings.Contains(pattern, "//") { // ServeMux takes some of these, which no clean path matches
			require.ErrorIs(t, ours, rules.ErrPattern)
			continue
		}
		theirs := register(layers[layer], pattern)
		require.Equal(t, theirs == nil, ours == nil, "%q: ServeMux says %v, we say %v", pattern, theirs, ours)
		if ours == nil {
			spec = with
		}
	}
	if len(spec.Rules) == 0 {
		return
	}
	set, err := rules.Compile(spec)
	require.NoError(t, err)
	for range 8 {
		method, host, path := d.of(corpusMethods[1:]), d.of(corpusHosts[1:]), d.path(corpusPaths)
		want := layers.match(method, host, path)
		got := make([]string, len(layers))
		for _, m := range set.Match(nil, 0, method, host, path, "") {
			layer := int(m.Limit.Rule.Layer[len("layer")] - '0')
			require.Empty(t, got[layer], "two rules of a layer")
			got[layer] = m.Pattern.String()
		}
		require.Equal(t, want, got, "%s %s%s among %v", method, host, path, patternsOf(spec))
		// However its slashes are written, a path meets what it meets with plain ones.
		raw := []byte(path[:1])
		for _, c := range []byte(path[1:]) {
			if c == '/' && d.below(2) == 1 {
				raw = append(raw, "%2F"...)
			} else {
				raw = append(raw, c)
			}
		}
		met := map[string]bool{"": true}
		for _, m := range set.Match(nil, 0, method, host, path, string(raw)) {
			met[m.Limit.Rule.Layer+" "+m.Pattern.String()] = true
			require.True(t, m.Pattern.Matches(method, host, path, string(raw)), "%s against %s", m.Pattern, raw)
		}
		for layer, pattern := range want {
			require.True(t, pattern == "" || met[fmt.Sprintf("layer%d %s", layer, pattern)], "%s %s%s among %v", method, host, raw, patternsOf(spec))
		}
		matched := make([]bool, len(layers))
		for _, r := range set.Rules() {
			layer := int(r.Layer[len("layer")] - '0')
			matched[layer] = matched[layer] || r.Patterns[0].Matches(method, host, path, "")
		}
		for layer := range layers {
			require.Equal(t, matched[layer], got[layer] != "", "a layer has an answer if one of its patterns matches")
		}
	}
}

func patternsOf(spec rules.Spec) (all []string) {
	for _, r := range spec.Rules {
		all = append(all, r.Layer+": "+r.Match[0])
	}
	return all
}

// The cases in which a redirect of one pattern meets the match of another are rare among random ones.
func TestRedirectsAgainstServeMux(t *testing.T) {
	for _, patterns := range [][]string{
		{"a.test/a/", "a.test/", "/a"},
		{"a.test/a/", "/a"},
		{"/a/", "/{x}"},
		{"/a/", "/{x...}"},
		{"/a/{$}", "/{x...}"},
		{"/a/{$}", "/a/", "/"},
		{"GET /a/", "/a", "/"},
		{"GET /a/", "POST /a"},
		{"/{x}/b/", "/a/{$}", "/a/b/{y...}"},
	} {
		mux, spec := http.NewServeMux(), rules.Spec{}
		for i, p := range patterns {
			require.NoError(t, register(mux, p))
			spec.Rules = append(spec.Rules, rules.RuleSpec{Name: fmt.Sprintf("r%d", i), Match: rules.List{p}, Mode: rules.Block})
		}
		set := compiled(t, spec)
		for _, method := range []string{"GET", "POST"} {
			for _, path := range []string{"/", "/a", "/a/", "/a/b", "/b", "//a", "/a/./"} {
				got := ""
				for _, m := range set.Match(nil, 0, method, "a.test", path, "") {
					got = m.Pattern.String()
				}
				assert.Equal(t, muxes{mux}.match(method, "a.test", path)[0], got, "%s %s among %q", method, path, patterns)
			}
		}
	}
}

func TestMatchAgainstServeMux(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 300)
	for range 1000 {
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		checkAgainstServeMux(t, data)
	}
}
