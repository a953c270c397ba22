package admin

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/chromium"
)

// text is an expression: the text of the first element that a selector finds.
func text(selector string) string {
	return fmt.Sprintf("(document.querySelector(%q)?.textContent ?? '')", selector)
}

func TestPageInChromium(t *testing.T) {
	s := newSite(t)
	s.requests(t, "192.0.2.1", 8) // of which 5 pass
	s.take()
	tab := chromium.Open(t, s.url)
	eval := func(expression string) string { return chromium.Eval[string](tab, expression) }
	tab.Do(chromium.Until(text("#state-text") + " === 'live'"))

	t.Run("shows what there is", func(t *testing.T) {
		require.Equal(t, "3", eval(text("#refused-total")))
		require.Equal(t, "default5/minute, 5 at onceip5331", eval(text("#rules tr")))
		require.Equal(t, "ip=192.0.2.1default3", eval(text("#top tr")))
		require.Contains(t, eval(text("#changes")), "version 1 in force")
	})
	t.Run("is live", func(t *testing.T) {
		tab.Do(chromedp.Evaluate[chromedp.Void]("document.querySelector('#rules tr').mark = 'same element'"))
		s.requests(t, "192.0.2.1", 4)
		s.take()
		tab.Do(chromium.Until(text("#refused-total") + " === '7'"))
		require.Equal(t, "same element", eval("document.querySelector('#rules tr').mark"), "rows stay, and with them the focus")
		require.Contains(t, eval(text("#chart-summary")), "All rules: 5 passed and 7 refused.")
	})
	t.Run("looks at a client and resets it, by keyboard alone", func(t *testing.T) {
		left := text("#answer td[data-label=Left]")
		tab.Do(chromedp.Focus(chromedp.CSS("#from")), chromedp.KeyEvent("192.0.2.1"), chromedp.KeyEvent(kb.Enter), chromium.Until(left+" === '0 of 5'"))
		require.Equal(t, "in 12 s", eval(text("#answer td[data-label=Passes]")))
		for range 20 {
			if eval("document.activeElement.textContent") == "Reset" {
				break
			}
			tab.Do(chromedp.KeyEvent(kb.Tab))
		}
		tab.Do(chromedp.KeyEvent(kb.Enter), chromium.Until(left+" === '5 of 5'"))
		require.Equal(t, "Reset", eval("document.activeElement.textContent"), "the focus stays where it was")
		require.Equal(t, http.StatusOK, s.request(t, "192.0.2.1"))
	})
	t.Run("says what is wrong with a question", func(t *testing.T) {
		tab.Do(chromedp.SetValue(chromedp.CSS("#from"), "nowhere"), chromedp.Focus(chromedp.CSS("#from")), chromedp.KeyEvent(kb.Enter),
			chromium.Until(text("#answer .error")+".includes('want an address')"))
	})
	t.Run("pauses", func(t *testing.T) {
		tab.Do(chromedp.Focus(chromedp.CSS("#pause")), chromedp.KeyEvent(" "), chromium.Until(text("#state-text")+" === 'paused'"))
		require.Equal(t, "true", eval("document.querySelector('#pause').getAttribute('aria-pressed')"))
		tab.Do(chromedp.KeyEvent(" "), chromium.Until(text("#state-text")+" === 'live'"))
	})
	t.Run("has something to say to a screen reader wherever it stops", func(t *testing.T) {
		names := tab.Names()
		for role, least := range map[string]int{"button": 2, "textbox": 3, "combobox": 1, "image": 1, "heading": 8, "link": 5, "table": 2} {
			require.GreaterOrEqual(t, len(names[role]), least, role)
			if role != "table" { // the regions that they are in have names
				require.NotContains(t, names[role], "", role)
			}
		}
		require.Len(t, names["main"], 1)
		require.Len(t, names["status"], 1)
	})
	for _, look := range []struct {
		scheme        string
		width, height int64
	}{{"light", 1200, 1800}, {"dark", 1200, 1800}, {"light", 360, 2200}, {"dark", 360, 2200}} {
		t.Run(fmt.Sprintf("reads well %s at %d", look.scheme, look.width), func(t *testing.T) {
			tab.Look(look.scheme, look.width, look.height)
			require.LessOrEqual(t, chromium.Eval[int64](tab, "document.documentElement.scrollWidth"), look.width, "nothing sticks out")
			require.Empty(t, tab.LowContrast())
			tab.Screenshot(fmt.Sprintf("status-%s-%d.png", look.scheme, look.width))
		})
	}
	t.Run("says when it gets no answer", func(t *testing.T) {
		s.server.CloseClientConnections()
		s.server.Close()
		tab.Do(chromium.Until(text("#state-text") + ".startsWith('no answer since')"))
	})
	for _, url := range tab.Asked() {
		require.True(t, strings.HasPrefix(url, s.url), "asks nobody else: %s", url)
	}
}
