package httplimit

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
)

// Filter limits the requests that pass through it. Make one with New; Wrap puts it before a handler. It may stand
// before several handlers at once, which then share its limits. It is safe for concurrent use.
type Filter struct {
	// Immutable after New.
	maxKeyLen int
	skip      func(*http.Request) bool
	plan      func(*http.Request) string
	refuse    func(http.ResponseWriter, *http.Request, Verdict)
	onLimit   func(*http.Request, Verdict)
	secret    []byte
	stripes   int
	topKeys   int
	listed    *counts
	cancel    func() // ends the subscription to the Store

	// Accessed atomically.
	table    atomic.Pointer[table]
	visitors atomic.Uint64 // visits made so far

	visits sync.Pool // of *visit

	mu     sync.Mutex         // held while a table is put into force
	counts map[string]*counts // by rule; guarded by mu
}

// New returns a filter for c, or all that is wrong with c: errors that name the field, the value and the bound, and
// wrap ratelimit.ErrInvalidConfig or ratelimit.ErrInvalidRule.
func New(c Config) (*Filter, error) {
	f := &Filter{
		maxKeyLen: c.MaxKeyLen,
		skip:      c.Skip,
		plan:      c.Plan,
		refuse:    c.Refuse,
		onLimit:   c.OnLimit,
		secret:    newSecret(),
		stripes:   stripesOf(),
		topKeys:   cmp.Or(c.TopKeys, defaultTopKeys),
		cancel:    func() {},
	}
	if f.maxKeyLen == 0 || f.maxKeyLen > ratelimit.MaxKeyLen {
		f.maxKeyLen = ratelimit.MaxKeyLen
	}
	if f.refuse == nil {
		f.refuse = writeRefusal
	}
	f.listed = newCounts(f.stripes, 0)
	f.visits.New = func() any {
		return &visit{f: f, stripe: int(f.visitors.Add(1)) & (f.stripes - 1)}
	}
	if err := errors.Join(c.check(), f.follow(&c)); err != nil {
		f.Close()
		return nil, fmt.Errorf("httplimit: %w", err)
	}
	return f, nil
}

// follow puts the rules into force: those of c, or those of its Store, now and at each change.
func (f *Filter) follow(c *Config) error {
	if c.Store == nil {
		t, err := newTable(c)
		if err == nil {
			f.use(t)
		}
		return err
	}
	s := &sources{user: c.User, funcs: c.Funcs}
	if s.user == nil {
		s.user = basicUser
	}
	cancel, err := c.Store.Subscribe(func(next *rules.Set) (commit func(), err error) {
		t, err := newSetTable(c, next, s)
		if err != nil {
			return nil, fmt.Errorf("httplimit: %w", err)
		}
		return func() { f.use(t) }, nil
	})
	if err == nil {
		f.cancel = cancel
	}
	return err
}

// use puts t into force. Rules that were there before go on with their counts.
func (f *Filter) use(t *table) {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := make(map[string]*counts, len(t.rules))
	for _, r := range t.rules {
		c := cmp.Or(counts[r.name], f.counts[r.name])
		if c == nil {
			c = newCounts(f.stripes, f.topKeys)
		}
		counts[r.name], r.counts = c, c
	}
	f.counts = counts
	f.table.Store(t)
}

// Close ends the filter's part in its Store's changes; it goes on with the rules as they are. A filter without a Store
// needs no closing.
func (f *Filter) Close() { f.cancel() }

// maxClients is how many addresses PerIP remembers, some 40 MB of them.
const maxClients = 1 << 20

// PerIP returns a middleware that lets each client address make rate requests, of which all may come at once: a token
// bucket whose capacity is rate.Tokens. The address is the TCP peer's, of IPv6 the /64; behind a proxy that is the
// proxy's, so use New with Config.Proxies there. Of more than a million addresses at once, the one nearest to its full
// quota is forgotten.
//
// It panics on a rate that is out of range; New returns errors.
func PerIP(rate ratelimit.Rate) func(http.Handler) http.Handler {
	f, err := New(Config{
		Rules:    []Rule{{Name: "ip", Limit: rate.Burst(rate.Tokens)}},
		Limiters: ratelimit.Config{MaxKeys: maxClients},
	})
	if err != nil {
		panic(err)
	}
	return f.Wrap
}

// Wrap returns next behind the filter: next is called for the requests that pass, and for no others.
func (f *Filter) Wrap(next http.Handler) http.Handler { return &handler{filter: f, next: next} }

// Decide decides r and charges it, but writes nothing: for a proxy or an authorization endpoint, which answers for
// itself. See Verdict.SetHeaders and Filter.Refuse. Skip is heeded, OnLimit called.
func (f *Filter) Decide(r *http.Request) Verdict {
	if f.skip != nil && f.skip(r) {
		return Verdict{Allowed: true}
	}
	v := f.newVisit(r)
	v.decide()
	verdict, tell := v.verdict(), !v.unanimous && f.onLimit != nil
	v.release()
	if tell {
		f.onLimit(r, verdict)
	}
	return verdict
}

// FromProxy reports whether r comes from one of the trusted proxies, so that its forwarded headers are to be believed.
func (f *Filter) FromProxy(r *http.Request) bool {
	peer, ok := parseAddr(r.RemoteAddr)
	return trusts(f.table.Load().proxies, r, peer, ok)
}

// handler is a filter before a handler.
type handler struct {
	filter *Filter
	next   http.Handler
	proxy  bool // see WrapProxy
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := h.filter
	if f.skip != nil && f.skip(r) {
		h.next.ServeHTTP(w, r)
		return
	}
	v := f.newVisit(r)
	if v.t.plain && v.passes() {
		v.release()
		h.next.ServeHTTP(w, r)
		return
	}
	v.decide()
	if v.t.when != Never || v.reason != Passed {
		v.text = v.t.setHeaders(w.Header(), v.outs, v.binding, v.reason, v.text)
	}
	if v.unanimous && !v.refunds && !h.proxy {
		v.release()
		h.next.ServeHTTP(w, r)
		return
	}
	h.serveSlow(w, r, v)
}

// serveSlow serves the requests that a rule refuses, and those about which there is more to do. It releases v.
func (h *handler) serveSlow(w http.ResponseWriter, r *http.Request, v *visit) {
	f := h.filter
	var verdict Verdict
	if !v.unanimous {
		verdict = v.verdict()
	}
	passed, charges := v.reason == Passed, v.charges()
	tell := !v.unanimous && f.onLimit != nil
	v.release()
	if tell {
		f.onLimit(r, verdict)
	}
	switch {
	case !passed:
		f.refuse(w, r, verdict)
	case charges != nil || h.proxy:
		h.serve(w, r, charges)
	default:
		h.next.ServeHTTP(w, r)
	}
}
