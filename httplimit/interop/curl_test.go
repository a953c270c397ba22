package interop

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
)

// curl runs curl and returns what it printed: the header and the body.
func curl(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("curl")
	if err != nil {
		if os.Getenv("RATELIMIT_SKIP") == "never" {
			t.Fatal("curl isn't installed")
		}
		t.Skip("curl isn't installed")
	}
	out, err := exec.Command(path, append([]string{"--silent", "--show-error", "--insecure", "--include"}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.ReplaceAll(string(out), "\r", "")
}

func TestCurl(t *testing.T) {
	protocols(t, func(t *testing.T, http2 bool) {
		f := newFilter(t, httplimit.Rule{Name: "api", Limit: ratelimit.PerMinute(1).Burst(1), Key: httplimit.Header("X-API-Key")})
		url, _ := serve(t, f.Wrap(http.HandlerFunc(item)), http2)
		status := "HTTP/1.1 "
		if http2 {
			status = "HTTP/2 "
		}
		key := []string{"--header", "X-API-Key: k-1", url}
		passed := curl(t, key...)
		assert.True(t, strings.HasPrefix(passed, status+"200"), passed)
		assert.Contains(t, strings.ToLower(passed), "\nratelimit: \"api\";r=0;t=60\n")
		assert.True(t, strings.HasSuffix(passed, "\n\nitem\n"), passed)

		refused := curl(t, key...)
		assert.True(t, strings.HasPrefix(refused, status+"429"), refused)
		assert.Contains(t, strings.ToLower(refused), "\nretry-after: 60\n")
		assert.Contains(t, refused, "quota-exceeded")

		text := curl(t, append(key, "--header", "Accept: text/plain")...)
		assert.True(t, strings.HasSuffix(text, "\n\nToo Many Requests\n"), text)

		if http2 {
			return // where curl sends no header of that length
		}
		long := curl(t, "--header", "X-API-Key: "+strings.Repeat("k", 70<<10), url)
		assert.True(t, strings.HasPrefix(long, status+"431"), long[:min(len(long), 200)])
	})
}
