// Package chromium looks at pages with a real Chromium, for tests.
package chromium

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Action is something to do in a tab; chromedp has most.
type Action = chromedp.Action[chromedp.Void]

// Tab is a tab of a browser of its own.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu    sync.Mutex
	asked []string
}

// Open opens a page in a new browser, which lives until the test ends. Without a browser the test is skipped, but not
// if RATELIMIT_SKIP is "never".
func Open(t testing.TB, url string) *Tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("RATELIMIT_SKIP") == "never" {
		t.Fatal("chromium is missing")
	}
	if err != nil {
		t.Skip("chromium is missing")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	tab := &Tab{t: t, ctx: ctx}
	err = chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			tab.mu.Lock()
			defer tab.mu.Unlock()
			tab.asked = append(tab.asked, e.Request.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	tab.Do(Call(network.Enable, network.EnableParams{}), chromedp.Navigate(url))
	return tab
}

// Do does one thing after the other; the test ends if one can't be done.
func (tab *Tab) Do(actions ...Action) {
	tab.t.Helper()
	if err := chromedp.Do(tab.ctx, actions...); err != nil {
		tab.t.Fatal(err)
	}
}

// Eval returns what a JavaScript expression is in the page.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	value, err := chromedp.Run(tab.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		tab.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Until waits until a JavaScript expression is true.
func Until(expression string) Action {
	return chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(20*time.Millisecond))
}

// Call is a command of the browser's own protocol.
func Call[P, R any](command cdp.Command[P, R], params P) Action {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, command, params)
		return err
	})
}

// Ask is Call for a command whose answer is wanted.
func Ask[P, R any](tab *Tab, command cdp.Command[P, R], params P) (answer R) {
	tab.t.Helper()
	tab.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) (err error) {
		answer, err = cdp.Call(ctx, target, command, params)
		return err
	}))
	return answer
}

// Look makes the page as large as this, on a phone if it is narrow, by day ("light") or by night ("dark").
func (tab *Tab) Look(scheme string, width, height int64) {
	tab.t.Helper()
	tab.Do(
		Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		Call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500}),
	)
}

// Asked returns the URLs that the page has asked for, itself included.
func (tab *Tab) Asked() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.asked)
}

// Screenshot keeps a picture in the folder that SCREENSHOTS names, if it does, for people to look at.
func (tab *Tab) Screenshot(name string) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	tab.t.Helper()
	picture, err := chromedp.Run(tab.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), picture, 0o644)
	}
	if err != nil {
		tab.t.Fatal(err)
	}
}
