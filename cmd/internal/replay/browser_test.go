package replay

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tab opens a page in a real Chromium and returns its context; each URL that it asks for is added to asked.
func tab(t *testing.T, page string, asked func(url string)) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("RATELIMIT_SKIP") == "never" {
		t.Fatal("chromium is missing")
	}
	if err != nil {
		t.Skip("chromium is missing")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			asked(e.Request.URL)
		}
	}))
	require.NoError(t, chromedp.Do(ctx, send(network.Enable, network.EnableParams{}), chromedp.Navigate("file://"+page)))
	return ctx
}

// send is a command of the browser's own protocol.
func send[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, command, params)
		return err
	})
}

// On a desk and on a phone, by day and by night: nothing sticks out, who and when is on the first screen, the bars of a
// plot are as high as their numbers say, and nothing is asked for from elsewhere.
func TestThePageInChromium(t *testing.T) {
	p := replayed(t, Config{File: parsed(t, strict), FileName: "rules.yaml", Against: parsed(t, kind), AgainstName: "new.yaml"})
	file := filepath.Join(t.TempDir(), "report.html")
	out, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, p.HTML(out))
	require.NoError(t, out.Close())

	var mu sync.Mutex
	var asked []string
	ctx := tab(t, file, func(url string) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, url)
	})
	number := func(expression string) float64 {
		value, err := chromedp.Run(ctx, chromedp.Evaluate[float64](expression))
		require.NoError(t, err, expression)
		return value
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1200, 360} {
			t.Run(fmt.Sprintf("%s at %d", scheme, width), func(t *testing.T) {
				require.NoError(t, chromedp.Do(ctx,
					send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
						Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
					send(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
						Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 500})))
				assert.LessOrEqual(t, number("document.documentElement.scrollWidth"), float64(width), "nothing sticks out")
				assert.Less(t, number("document.querySelector('svg.bars').getBoundingClientRect().bottom"), 800.0, "when, on the first screen")
				assert.Zero(t, number(`[...document.querySelectorAll('.name, .figures, h1, h2')].filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display != 'inline').length`),
					"texts that are cut off")
				assert.InDelta(t, 100, number("Math.max(...[...document.querySelectorAll('svg.bars')[0].querySelectorAll('rect')].map(r => r.height.baseVal.value))"), 0.1,
					"the highest bar is as high as the plot")
			})
		}
	}
	assert.EqualValues(t, len(p.Over.Requests), number("document.querySelector('svg.bars').viewBox.baseVal.width"))
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []string{"file://" + file}, asked)
}
