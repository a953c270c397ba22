package upstream

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/casgate/ratelimit"
)

// proxy passes requests on to one Target.
type proxy struct {
	reverse   httputil.ReverseProxy
	transport *http.Transport
	to        *url.URL
	keepHost  bool
	believed  func(*http.Request) bool
	name      string // the Target's URL, for people
	log       *slog.Logger
	logged    ratelimit.Local // one line a second: an outage must not fill the disk
}

func newProxy(t Target, believed func(*http.Request) bool, log *slog.Logger) (*proxy, error) {
	transport, to, err := t.transport()
	if err != nil {
		return nil, err
	}
	logged, err := ratelimit.New(ratelimit.PerSecond(1).Burst(1), ratelimit.Config{})
	if err != nil {
		return nil, err
	}
	p := &proxy{transport: transport, to: to, keepHost: t.PreserveHost, believed: believed, name: t.URL, log: log, logged: logged}
	p.reverse = httputil.ReverseProxy{
		Rewrite:      p.rewrite,
		Transport:    transport,
		BufferPool:   buffers{},
		ErrorHandler: p.fail,
		ErrorLog:     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return p, nil
}

// ServeHTTP passes the request on. What stands in w's header before is lost if the upstream answers with a 1xx first:
// see httplimit.Filter.WrapProxy.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.reverse.ServeHTTP(w, r) }

// addressFields are those in which proxies and CDNs tell where a request comes from and what it was for, besides the ones
// that ReverseProxy itself takes out.
var addressFields = []string{"X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For", "True-Client-Ip",
	"Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Envoy-External-Address", "X-Azure-Clientip",
	"X-Forwarded", "X-Forwarded-By", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Scheme", "X-Forwarded-Server", "X-Forwarded-Ssl"}

// rewrite addresses the request to the upstream and tells it of the client. What a believed proxy has said of the client
// is kept, with the peer added to it; what anybody else says is dropped, because the upstream would believe it from us.
func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.to)
	if upgrade := r.Out.Header.Get("Upgrade"); upgrade != "" && !strings.EqualFold(upgrade, "websocket") {
		// Within h2c, for one, are more requests, which no limit would see. A server may ignore what it is offered.
		delete(r.Out.Header, "Upgrade")
		delete(r.Out.Header, "Connection")
		delete(r.Out.Header, "Http2-Settings")
	}
	if r.Out.Body != nil {
		r.Out.Body = &body{ReadCloser: r.Out.Body}
	}
	if p.keepHost {
		r.Out.Host = r.In.Host
	}
	if !p.believed(r.In) {
		for _, name := range addressFields {
			delete(r.Out.Header, name)
		}
		r.SetXForwarded()
		return
	}
	said := r.In.Header["X-Forwarded-For"]
	r.Out.Header["X-Forwarded-For"] = said
	r.SetXForwarded()
	if len(r.Out.Header["X-Forwarded-For"]) == 0 && len(said) > 0 {
		r.Out.Header["X-Forwarded-For"] = said // a peer on a Unix socket has no address to add, and all was dropped
	}
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
		if earlier := r.In.Header[name]; len(earlier) > 0 {
			r.Out.Header[name] = earlier
		}
	}
}

// body is a request's, which remembers whether reading it failed.
type body struct {
	io.ReadCloser
	failed atomic.Bool // as the transport reads it on a goroutine of its own
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.failed.Store(true)
	}
	return n, err
}

// fail answers a request that the upstream didn't.
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // the client has gone, and nobody reads the answer
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if b, ok := r.Body.(*body); ok && b.failed.Load() { // no fault of the upstream's, nor one that gives tokens back
		http.Error(w, "400: the request's body can't be read to its end", http.StatusBadRequest)
		return
	}
	status, text, hint := http.StatusBadGateway, "502: the upstream can't be reached", explain(err)
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		status, text = http.StatusGatewayTimeout, "504: the upstream doesn't answer in time"
		hint = "it is slow or stuck: look at its own log, or raise connect_timeout or timeout"
	}
	if p.logged.TryAcquire("") {
		p.log.Error("upstream failed", "upstream", p.name, "error", err.Error(), "hint", hint)
	}
	http.Error(w, text, status)
}

// explain says what to do about err.
func explain(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return "nothing listens there: is it running, and is this its address?"
	case strings.Contains(err.Error(), "tls:"), strings.Contains(err.Error(), "x509:"):
		return "its certificate isn't accepted: check the name in the URL, or name its issuer in ca"
	case strings.Contains(err.Error(), "no such host"):
		return "the name doesn't resolve: check its spelling and this machine's DNS"
	}
	return "look at the upstream's own log"
}

// buffers lends the 32 KiB through which bodies are copied.
type buffers struct{}

var bufferPool = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (buffers) Get() []byte  { return bufferPool.Get().(*[32 << 10]byte)[:] }
func (buffers) Put(b []byte) { bufferPool.Put((*[32 << 10]byte)(b)) }
