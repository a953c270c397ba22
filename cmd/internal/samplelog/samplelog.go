// Package samplelog makes the access log of a shop that never was, of which it is known who is who: visitors, crawlers, a
// monitor and an office behind one address, who must not be refused, and a scraper and an attack on the log-in, who
// should be. Equal seeds make equal logs.
package samplelog

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"
)

// Kind says who a client is.
type Kind string

const (
	Visitor Kind = "visitor" // a person with a browser: pages with their images, a cart, a log-in now and then
	Office  Kind = "office"  // eight people behind one address, all at once
	Crawler Kind = "crawler" // a search engine, polite
	Monitor Kind = "monitor" // asks /healthz every half minute
	Scraper Kind = "scraper" // takes all products, four a second
	Attack  Kind = "attack"  // forty addresses that try passwords, each one a second
)

// Honest reports whether such clients must not be refused.
func (k Kind) Honest() bool { return k != Scraper && k != Attack }

var (
	officeAddr  = netip.MustParseAddr("198.51.100.1")
	monitorAddr = netip.MustParseAddr("198.51.100.9")
	scraperAddr = netip.MustParseAddr("203.0.113.7")
	crawlers    = netip.MustParsePrefix("192.0.2.0/24")
	attackers   = netip.MustParsePrefix("203.0.113.64/26")
)

// KindOf returns who a client of the log is, by its address.
func KindOf(client string) Kind {
	addr, err := netip.ParseAddr(client)
	switch {
	case err != nil:
		return Visitor // an IPv6 prefix: only visitors have these
	case addr == officeAddr:
		return Office
	case addr == monitorAddr:
		return Monitor
	case addr == scraperAddr:
		return Scraper
	case crawlers.Contains(addr):
		return Crawler
	case attackers.Contains(addr):
		return Attack
	}
	return Visitor
}

// Config says what log to make. The zero value is the sample that the tests use.
type Config struct {
	Seed     uint64
	Visitors int           // 0: 300
	For      time.Duration // how long the log is; 0: three hours
	Junk     bool          // lines that are no request: a TLS handshake, a client that said nothing
}

// Start is when the log begins.
var Start = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// line is a request: it stands in the log by the time it was answered, and tells the time it came.
type line struct {
	at, done time.Duration // since Start
	text     string
}

// Write writes the log in the combined format.
func Write(w io.Writer, c Config) error {
	g := &shop{rand: rand.New(rand.NewPCG(c.Seed, 1)), length: cmp.Or(c.For, 3*time.Hour)}
	for i := range cmp.Or(c.Visitors, 300) {
		g.visitor(i)
	}
	g.office()
	g.crawler("192.0.2.17", "Mozilla/5.0 (compatible; ExampleBot/2.1; +http://bot.example/)")
	g.crawler("192.0.2.99", "Mozilla/5.0 (compatible; SearchSpider/1.0)")
	g.monitor()
	g.scraper()
	for i := range 40 {
		g.attacker(i)
	}
	if c.Junk {
		g.request("203.0.113.250", g.length/3, "\\x16\\x03\\x01\\x02", 400, "-")
		g.request("203.0.113.251", g.length/2, "-", 408, "-")
	}
	slices.SortStableFunc(g.lines, func(a, b line) int { return cmp.Compare(a.done, b.done) })
	out := bufio.NewWriter(w)
	for _, l := range g.lines {
		_, _ = out.WriteString(l.text)
	}
	return out.Flush()
}

type shop struct {
	rand   *rand.Rand
	length time.Duration
	lines  []line
}

// request adds a line.
func (g *shop) request(client string, at time.Duration, request string, status int, agent string) {
	if at > g.length {
		return
	}
	took := time.Duration(g.rand.ExpFloat64() * float64(80*time.Millisecond))
	if g.rand.IntN(500) == 0 {
		took += time.Duration(g.rand.IntN(20)) * time.Second
	}
	text := fmt.Sprintf("%s - - [%s] \"%s\" %d %d \"-\" \"%s\"\n", client, Start.Add(at).Format("02/Jan/2006:15:04:05 -0700"), request,
		status, 200+g.rand.IntN(20000), agent)
	g.lines = append(g.lines, line{at, at + took, text})
}

func (g *shop) get(client string, at time.Duration, path, agent string) {
	g.request(client, at, "GET "+path+" HTTP/1.1", 200, agent)
}

// between returns a time from least to most.
func (g *shop) between(least, most time.Duration) time.Duration {
	return least + time.Duration(g.rand.Int64N(int64(most-least)))
}

var browsers = []string{
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
	"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
	"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
}

// visitor is a person's session.
func (g *shop) visitor(i int) {
	client := fmt.Sprintf("198.18.%d.%d", i/200, i%200+1)
	if i%7 == 3 {
		client = fmt.Sprintf("2001:db8:%x:1::%x", i+1, g.rand.IntN(1<<16))
	}
	g.session(client, g.between(0, g.length), 3+g.rand.IntN(8))
}

// session looks at pages, and perhaps logs in and buys.
func (g *shop) session(client string, at time.Duration, pages int) {
	agent := browsers[g.rand.IntN(len(browsers))]
	g.page(client, at, "/", 5, agent)
	for range pages {
		at += g.between(3*time.Second, 50*time.Second)
		product := 1 + g.rand.IntN(2000)
		g.page(client, at, fmt.Sprintf("/products/%d", product), 2+g.rand.IntN(3), agent)
		if g.rand.IntN(5) == 0 {
			g.request(client, at+g.between(2*time.Second, 9*time.Second), "POST /cart HTTP/1.1", 303, agent)
		}
	}
	if g.rand.IntN(3) == 0 {
		at += g.between(4*time.Second, 20*time.Second)
		for g.rand.IntN(4) == 0 { // a wrong password
			g.request(client, at, "POST /login HTTP/1.1", 401, agent)
			at += g.between(4*time.Second, 15*time.Second)
		}
		g.request(client, at, "POST /login HTTP/1.1", 303, agent)
		g.request(client, at+g.between(10*time.Second, time.Minute), "POST /checkout HTTP/1.1", 303, agent)
	}
}

// page is a page with what the browser loads for it.
func (g *shop) page(client string, at time.Duration, path string, assets int, agent string) {
	g.get(client, at, path, agent)
	for i := range assets {
		g.get(client, at+g.between(100*time.Millisecond, 900*time.Millisecond), fmt.Sprintf("/assets/%c.js", 'a'+i), agent)
	}
}

func (g *shop) office() {
	at := g.length / 2
	for range 8 {
		g.session(officeAddr.String(), at+g.between(0, 2*time.Minute), 6)
	}
}

func (g *shop) crawler(client, agent string) {
	g.get(client, 0, "/robots.txt", agent)
	for at := g.between(0, 10*time.Second); at < g.length; at += g.between(6*time.Second, 20*time.Second) {
		g.get(client, at, fmt.Sprintf("/products/%d", 1+g.rand.IntN(2000)), agent)
	}
}

func (g *shop) monitor() {
	for at := time.Duration(0); at < g.length; at += 30 * time.Second {
		g.get(monitorAddr.String(), at, "/healthz", "monitor/1.0")
	}
}

// scraper works for an eighth of the time.
func (g *shop) scraper() {
	product := 1
	for at := g.length / 4; at < g.length*3/8; at += g.between(150*time.Millisecond, 350*time.Millisecond) {
		g.get(scraperAddr.String(), at, fmt.Sprintf("/products/%d", product), "python-requests/2.32")
		product++
	}
}

// attacker tries passwords, for two minutes or so.
func (g *shop) attacker(i int) {
	client := attackers.Addr()
	for range i {
		client = client.Next()
	}
	start := g.length*2/3 + g.between(0, 20*time.Second)
	for at := start; at < start+2*time.Minute; at += g.between(500*time.Millisecond, 1500*time.Millisecond) {
		g.request(client.String(), at, "POST /login HTTP/1.1", 401, browsers[i%len(browsers)])
	}
}
