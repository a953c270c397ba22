package chromium

import (
	"strings"

	"github.com/chromedp/cdproto/accessibility"
)

// LowContrast lists the texts whose colour is too near to the one behind them: below 4.5, which WCAG AA asks for.
func (tab *Tab) LowContrast() []string {
	tab.t.Helper()
	return Eval[[]string](tab, lowContrast)
}

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

// Names returns what a screen reader calls each element of each role: "button", "textbox", "image", ...
func (tab *Tab) Names() map[string][]string {
	tab.t.Helper()
	names := map[string][]string{}
	for _, n := range Ask(tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if !n.Ignored {
			names[text(n.Role)] = append(names[text(n.Role)], text(n.Name))
		}
	}
	return names
}

func text(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}
