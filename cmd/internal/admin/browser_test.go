package admin

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// browser returns the context of a tab in a real Chromium; without one the test is skipped, but not in CI. Each URL that
// the page asks for is added to asked.
func browser(t *testing.T, asked *urls) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		path, err = exec.LookPath("google-chrome")
	}
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
			asked.add(e.Request.URL)
		}
	}))
	return ctx
}

type urls struct {
	mu   sync.Mutex
	list []string
}

func (u *urls) add(url string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = append(u.list, url)
}

// do runs actions in the tab.
func do(t *testing.T, ctx context.Context, actions ...action) {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, actions...))
}

type action = chromedp.Action[chromedp.Void]

// call is a command of the browser's own protocol.
func call[P, R any](command cdp.Command[P, R], params P) action {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, command, params)
		return err
	})
}

// until waits until an expression is true in the page.
func until(expression string) action {
	return chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(20*time.Millisecond))
}

// eval returns what an expression is in the page.
func eval[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(t, err, expression)
	return value
}

func text(selector string) string {
	return fmt.Sprintf("(document.querySelector(%q)?.textContent ?? '')", selector)
}

func TestPageInChromium(t *testing.T) {
	s := newSite(t)
	s.requests(t, "192.0.2.1", 8) // of which 5 pass
	s.take()
	asked := &urls{}
	ctx := browser(t, asked)
	do(t, ctx, call(network.Enable, network.EnableParams{}), chromedp.Navigate(s.url), until(text("#state-text")+" === 'live'"))

	t.Run("shows what there is", func(t *testing.T) {
		require.Equal(t, "3", eval[string](t, ctx, text("#refused-total")))
		require.Equal(t, "default5/minute, 5 at onceip5331", eval[string](t, ctx, text("#rules tr")))
		require.Equal(t, "ip=192.0.2.1default3", eval[string](t, ctx, text("#top tr")))
		require.Contains(t, eval[string](t, ctx, text("#changes")), "version 1 in force")
	})
	t.Run("is live", func(t *testing.T) {
		do(t, ctx, chromedp.Evaluate[chromedp.Void]("document.querySelector('#rules tr').mark = 'same element'"))
		s.requests(t, "192.0.2.1", 4)
		s.take()
		do(t, ctx, until(text("#refused-total")+" === '7'"))
		require.Equal(t, "same element", eval[string](t, ctx, "document.querySelector('#rules tr').mark"), "rows stay, and with them the focus")
		require.Contains(t, eval[string](t, ctx, text("#chart-summary")), "All rules: 5 passed and 7 refused.")
	})
	t.Run("looks at a client and resets it, by keyboard alone", func(t *testing.T) {
		do(t, ctx, chromedp.Focus(chromedp.CSS("#from")), chromedp.KeyEvent("192.0.2.1"), chromedp.KeyEvent(kb.Enter),
			until(text("#answer td[data-label=Left]")+" === '0 of 5'"))
		require.Equal(t, "in 12 s", eval[string](t, ctx, text("#answer td[data-label=Passes]")))
		for range 20 {
			if eval[string](t, ctx, "document.activeElement.textContent") == "Reset" {
				break
			}
			do(t, ctx, chromedp.KeyEvent(kb.Tab))
		}
		do(t, ctx, chromedp.KeyEvent(kb.Enter), until(text("#answer td[data-label=Left]")+" === '5 of 5'"))
		require.Equal(t, "Reset", eval[string](t, ctx, "document.activeElement.textContent"), "the focus stays where it was")
		require.Equal(t, http.StatusOK, s.request(t, "192.0.2.1"))
	})
	t.Run("says what is wrong with a question", func(t *testing.T) {
		do(t, ctx, chromedp.SetValue(chromedp.CSS("#from"), "nowhere"), chromedp.Focus(chromedp.CSS("#from")), chromedp.KeyEvent(kb.Enter),
			until(text("#answer .error")+".includes('want an address')"))
	})
	t.Run("pauses", func(t *testing.T) {
		do(t, ctx, chromedp.Focus(chromedp.CSS("#pause")), chromedp.KeyEvent(" "), until(text("#state-text")+" === 'paused'"))
		require.Equal(t, "true", eval[string](t, ctx, "document.querySelector('#pause').getAttribute('aria-pressed')"))
		do(t, ctx, chromedp.KeyEvent(" "), until(text("#state-text")+" === 'live'"))
	})
	t.Run("has a name for each control, table and picture", func(t *testing.T) { namesEverything(t, ctx) })
	for _, look := range []struct {
		scheme        string
		width, height int64
	}{{"light", 1200, 1800}, {"dark", 1200, 1800}, {"light", 360, 2200}, {"dark", 360, 2200}} {
		t.Run(fmt.Sprintf("reads well %s at %d", look.scheme, look.width), func(t *testing.T) {
			do(t, ctx,
				call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}}),
				call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
					Width: look.width, Height: look.height, DeviceScaleFactor: 1, Mobile: look.width < 500}))
			require.LessOrEqual(t, eval[int64](t, ctx, "document.documentElement.scrollWidth"), look.width, "nothing sticks out")
			require.Empty(t, eval[[]string](t, ctx, lowContrast), "text that can't be told from what is behind it (WCAG AA: 4.5)")
			screenshot(t, ctx, fmt.Sprintf("status-%s-%d.png", look.scheme, look.width))
		})
	}
	t.Run("says when it gets no answer", func(t *testing.T) {
		s.server.CloseClientConnections()
		s.server.Close()
		do(t, ctx, until(text("#state-text")+".startsWith('no answer since')"))
	})
	for _, url := range asked.list {
		require.True(t, strings.HasPrefix(url, s.url), "asks nobody else: %s", url)
	}
}

// namesEverything checks that a screen reader has something to say for whatever it stops at.
func namesEverything(t *testing.T, ctx context.Context) {
	var tree accessibility.GetFullAXTreeResult
	do(t, ctx, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) (err error) {
		tree, err = cdp.Call(ctx, tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		return err
	}))
	want := map[string]int{"button": 2, "textbox": 3, "combobox": 1, "image": 1, "heading": 8, "link": 5, "status": 1, "main": 1}
	seen := map[string]int{}
	for _, n := range tree.Nodes {
		role := value(n.Role)
		if n.Ignored || want[role] == 0 {
			continue
		}
		seen[role]++
		if role != "main" && role != "status" {
			require.NotEmpty(t, value(n.Name), "a %s without a name", role)
		}
	}
	for role, least := range want {
		require.GreaterOrEqual(t, seen[role], least, role)
	}
}

func value(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}

// lowContrast lists the texts whose colour is too near to the one behind.
const lowContrast = `(() => {
  const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const e = n.parentElement;
    if (!n.textContent.trim() || !e.checkVisibility() || e.closest("script, noscript")) continue;
    const a = light(parse(getComputedStyle(e).color).slice(0, 3)), b = light(back(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(n.textContent.trim() + " " + ratio.toFixed(2));
  }
  return bad;
})()`

// screenshot keeps a picture in the folder that SCREENSHOTS names, for people to look at.
func screenshot(t *testing.T, ctx context.Context, name string) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), picture, 0o644))
}
