package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/explain"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/rules"
)

// status is what the page shows.
type status struct {
	Version string `json:"version"`
	Started int64  `json:"started_ms"` // Unix
	Now     int64  `json:"now_ms"`
	Ready   bool   `json:"ready"`
	Passed  uint64 `json:"passed"`
	Refused uint64 `json:"refused"`
	Blocked uint64 `json:"blocked"` // of these, for being on the block list
	Keys    int    `json:"keys"`
	Bytes   int64  `json:"bytes"`

	PassedRate  float64 `json:"passed_rate"` // a second, over the last ten
	RefusedRate float64 `json:"refused_rate"`

	Step          float64  `json:"step_seconds"`
	SeriesOf      string   `json:"series_of"` // a rule's name; empty: all
	PassedSeries  []uint32 `json:"passed_series"`
	RefusedSeries []uint32 `json:"refused_series"`

	Rules     []ruleStatus  `json:"rules"`
	MoreRules int           `json:"more_rules"`
	Top       []topStatus   `json:"top"`
	Reloads   reloadStatus  `json:"reloads"`
	Stores    []storeStatus `json:"stores"`
	Errors    []errorEntry  `json:"errors"`
}

type ruleStatus struct {
	Name    string        `json:"name"`
	Mode    string        `json:"mode"`
	Match   []string      `json:"match"`
	Key     string        `json:"key"`
	Limits  []limitStatus `json:"limits"`
	Passed  uint64        `json:"passed"`
	Refused uint64        `json:"refused"`
	Shadow  uint64        `json:"shadow"`
	Errors  uint64        `json:"errors"`
	Unkeyed uint64        `json:"unkeyed"`
	Keys    int           `json:"keys"`
	Evicted uint64        `json:"evicted_limited"`
	Recent  [2]uint32     `json:"recent"` // passed and refused in the last minute
}

type limitStatus struct {
	Plan string `json:"plan"`
	Text string `json:"text"`
}

type topStatus struct {
	Rule    string `json:"rule"`
	Key     string `json:"key"`
	Refused uint64 `json:"refused"`
}

// storeStatus is a Redis that limits are shared over.
type storeStatus struct {
	Address  string `json:"address"`
	Answers  bool   `json:"answers"`
	Policy   string `json:"policy"` // that decides while it doesn't
	Servers  int    `json:"servers"`
	Calls    uint64 `json:"calls"`
	Errors   uint64 `json:"errors"`
	Replaced uint64 `json:"replaced"` // decisions by the policy
}

type reloadStatus struct {
	Version  uint64   `json:"version"`
	Updates  uint64   `json:"updates"`
	Failures uint64   `json:"failures"`
	Error    string   `json:"error"` // of the last one; empty if it succeeded
	Changes  []change `json:"changes"`
}

type change struct {
	At      int64  `json:"at_ms"`
	Version uint64 `json:"version"`
	Error   string `json:"error"`
}

type errorEntry struct {
	At      int64  `json:"at_ms"`
	Level   string `json:"level"`
	Message string `json:"message"`
	Detail  string `json:"detail"`
}

const (
	ms  = 1_000_000 // ns
	top = 20
)

// status answers with the state; ?rule=NAME asks for the series of one rule.
func (a *Admin) status(w http.ResponseWriter, r *http.Request) {
	answer(w, a.state(r.URL.Query().Get("rule")))
}

func (a *Admin) state(rule string) *status {
	l := a.config.Limits
	stats := l.Filter.Stats()
	s := &status{
		Version: a.config.Version,
		Started: a.started / ms,
		Now:     ratelimit.SystemClock().NanoTime() / ms,
		Ready:   a.config.Ready(),
		Passed:  l.Passed(),
		Refused: l.Refused(),
		Blocked: stats.Blocked,
		Step:    step.Seconds(),
		Top:     []topStatus{},
		Errors:  []errorEntry{},
		Stores:  []storeStatus{},
	}
	if a.config.Fleet != nil {
		for _, f := range a.config.Fleet.Status() {
			s.Stores = append(s.Stores, storeStatus{f.Address, !f.BreakerOpen, f.Policy, f.Servers, f.Calls, f.Timeouts + f.Failures,
				f.ErrorAllowed + f.ErrorDenied})
		}
	}
	lately := a.history.lately("", 10*time.Second)
	s.PassedRate, s.RefusedRate = float64(lately[0])/10, float64(lately[1])/10
	s.SeriesOf = rule
	if s.PassedSeries, s.RefusedSeries = a.history.of(rule); s.PassedSeries == nil {
		s.SeriesOf = ""
		s.PassedSeries, s.RefusedSeries = a.history.of("")
	}
	s.rules(a.history, l.Store.Current(), stats.Rules)
	for _, k := range l.Filter.Top(top) {
		s.Top = append(s.Top, topStatus{k.Rule, k.Key, k.Refused})
	}
	s.reloads(a)
	for _, e := range slices.Backward(a.config.Errors.All()) {
		s.Errors = append(s.Errors, errorEntry{e.At / ms, e.Level.String(), e.Message, e.Detail})
	}
	return s
}

func (s *status) rules(h *history, set *rules.Set, stats []httplimit.RuleStats) {
	byName := make(map[string]*rules.Rule, len(set.Rules()))
	for _, r := range set.Rules() {
		byName[r.Name] = r
	}
	texts := map[string][]limitStatus{}
	for _, limit := range set.Limits() {
		text := "no limit"
		if limit.Limit != (ratelimit.Rule{}) {
			text = explain.LimitText(limit.Limit)
		}
		texts[limit.Rule.Name] = append(texts[limit.Rule.Name], limitStatus{limit.Plan, text})
	}
	s.Rules = []ruleStatus{}
	for i, c := range stats {
		s.Keys += c.Keys.Keys
		s.Bytes += c.Keys.Bytes
		rule := byName[c.Rule]
		if i >= maxRules || rule == nil { // nil: a reload is under way
			s.MoreRules++
			continue
		}
		row := ruleStatus{
			Name: c.Rule, Mode: c.Mode.String(), Match: []string{}, Key: rule.Key.String(), Limits: texts[c.Rule],
			Passed: c.Allowed + c.ErrorAllowed, Refused: c.Refused + c.ErrorDenied, Shadow: c.Shadow,
			Errors: c.ErrorAllowed + c.ErrorDenied, Unkeyed: c.Unkeyed, Keys: c.Keys.Keys, Evicted: c.Keys.EvictedLimited,
			Recent: h.lately(c.Rule, time.Minute),
		}
		for _, p := range rule.Patterns {
			row.Match = append(row.Match, p.String())
		}
		s.Rules = append(s.Rules, row)
	}
}

func (s *status) reloads(a *Admin) {
	stats := a.config.Limits.Store.Stats()
	s.Reloads = reloadStatus{Version: stats.Version, Updates: stats.Updates, Failures: stats.Failures}
	if stats.LastError != nil {
		s.Reloads.Error = stats.LastError.Error()
	}
	for _, c := range slices.Backward(a.config.Limits.Changes()) {
		entry := change{At: c.At / ms, Version: c.Version}
		if c.Error != nil {
			entry.Error = c.Error.Error()
		}
		s.Reloads.Changes = append(s.Reloads.Changes, entry)
	}
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client has gone, if that fails
}
