package replay

import (
	"fmt"
	"net/http"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/settings"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/rules"
)

// outcome is what the rules of a lane said of a request.
type outcome struct {
	rule    int32 // that refused it, an index into lane.names; -1: it passed
	shadows bool  // a rule in shadow mode would have refused it
}

func (o outcome) refused() bool { return o.rule >= 0 }

// lane is one rule file, the filter that it makes, and the clock of that.
type lane struct {
	file    string
	clock   *limittest.ManualClock
	store   *rules.Store
	filter  *httplimit.Filter
	handler http.Handler
	names   []string // of rules, in the file's order; the last is the block list
	index   map[string]int32
	shadows bool // some rule is in shadow mode
	refunds bool // some rule gives back by status

	// Of the request at hand.
	writer nullWriter
	status int
	user   string
	out    outcome
}

// BlockList stands for the block list where rules are named.
const BlockList = "(block list)"

func newLane(name string, file *settings.File) (*lane, error) {
	l := &lane{file: name, clock: new(limittest.ManualClock), index: map[string]int32{}}
	maxKeys := file.Server.MaxKeys
	if maxKeys == 0 {
		maxKeys = settings.DefaultMaxKeys
	}
	factory := ratelimit.NewFactory(ratelimit.Config{Clock: l.clock, MaxKeys: maxKeys})
	var err error
	l.store, err = rules.NewStore(file.Spec, rules.Config{
		// A rule that counts in a remote store counts here: the limit is the same.
		NewLimiter: func(b rules.Build) (ratelimit.Reversible, error) { return factory.Create(b.Limit) },
	})
	if err != nil {
		return nil, err
	}
	l.filter, err = httplimit.New(httplimit.Config{
		Store:   l.store,
		When:    httplimit.Never,
		User:    func(*http.Request) string { return l.user },
		Refuse:  func(http.ResponseWriter, *http.Request, httplimit.Verdict) {},
		OnLimit: l.refused,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, r := range l.store.Current().Rules() {
		l.names = append(l.names, r.Name)
		l.index[r.Name] = int32(i)
		l.shadows = l.shadows || r.Mode == rules.Shadow
		l.refunds = l.refunds || r.HasRefund()
	}
	l.index[""] = int32(len(l.names))
	l.names = append(l.names, BlockList)
	l.handler = l.filter.Wrap(http.HandlerFunc(l.passed))
	return l, nil
}

// decide sends r through the filter at the instant ns; status is how it was answered then.
func (l *lane) decide(r *http.Request, ns int64, status int, user string) outcome {
	l.clock.Set(ns)
	l.status, l.user = status, user
	l.out = outcome{rule: -1}
	l.handler.ServeHTTP(&l.writer, r)
	return l.out
}

// passed is the handler behind the filter. It answers as the log says that the request was answered.
func (l *lane) passed(w http.ResponseWriter, _ *http.Request) {
	if l.refunds && (l.status >= 200 || l.status == http.StatusSwitchingProtocols) {
		w.WriteHeader(l.status)
	}
}

// refused is called for each request that a rule refuses, in shadow mode or not.
func (l *lane) refused(_ *http.Request, v httplimit.Verdict) {
	if !v.Allowed {
		l.out.rule = l.index[v.Rule]
	}
	if !l.shadows {
		return
	}
	for _, r := range v.Results() {
		l.out.shadows = l.out.shadows || r.Mode == rules.Shadow && !r.Decision.Allowed && r.Decision.Limit > 0
	}
}

// nullWriter is a response that goes nowhere.
type nullWriter struct{ header http.Header }

func (w *nullWriter) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}
func (w *nullWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *nullWriter) WriteHeader(int)             {}
