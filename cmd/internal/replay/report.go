package replay

import (
	"time"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/explain"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/rules"
)

// Report is what a replay found. Its JSON is for scripts.
type Report struct {
	Log     Log   `json:"log"`
	Config  Side  `json:"config"`
	Against *Side `json:"against,omitempty"`
	// Requests adds up all decisions: of the clients, or of the endpoints, with their others.
	Requests  Counts `json:"requests"`
	Over      Over   `json:"over_time"`
	Clients   List   `json:"clients"`
	Endpoints List   `json:"endpoints"`
}

// Log says what was read. Lines = Decided + Malformed + Unreadable + OutOfTime.
type Log struct {
	Lines      uint64             `json:"lines"`
	Decided    uint64             `json:"decided"`
	Malformed  uint64             `json:"malformed_requests"` // that a server answers with 400 by itself
	Unreadable uint64             `json:"unreadable"`
	OutOfTime  uint64             `json:"out_of_time"`
	Samples    []accesslog.Sample `json:"left_out,omitempty"` // the first lines that were left out
	From       time.Time          `json:"from"`
	To         time.Time          `json:"to"`
	Bytes      int64              `json:"bytes"`
}

// Side is what one rule file did.
type Side struct {
	File    string `json:"file"`
	Passed  uint64 `json:"passed"`
	Refused uint64 `json:"refused"`
	Shadow  uint64 `json:"would_refuse_in_shadow"`
	// Clients is how many clients were refused at least once.
	Clients int                `json:"clients_refused"`
	Rules   []Rule             `json:"rules"`
	Keys    []httplimit.TopKey `json:"keys_refused_most,omitempty"`
}

// Rule is what one rule did.
type Rule struct {
	Name    string   `json:"name"`
	Mode    string   `json:"mode"`
	Key     string   `json:"key,omitempty"`
	Limit   string   `json:"limit,omitempty"`
	Asked   uint64   `json:"asked"`   // requests that it counted or refused
	Refused uint64   `json:"refused"` // by this rule, the one with the longest wait where several refuse
	Shadow  uint64   `json:"would_refuse,omitempty"`
	Unkeyed uint64   `json:"without_key,omitempty"`
	Over    []uint32 `json:"refused_over_time,omitempty"`
}

// Over is what became of requests over time, in buckets of Width from Start.
type Over struct {
	Start    time.Time `json:"start"`
	Width    Seconds   `json:"width_seconds"`
	Requests []uint32  `json:"requests"`
	Refused  []uint32  `json:"refused"`
	Shadow   []uint32  `json:"would_refuse_in_shadow,omitempty"`
	Against  []uint32  `json:"against_refused,omitempty"`
}

// Seconds is a duration, in JSON a whole number of seconds.
type Seconds int64

// Duration returns it as one.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// List is the rows of a table, those with most refusals first.
type List struct {
	// Count is how many there are. If About, some were forgotten, and counted again when they came back.
	Count int  `json:"count"`
	About bool `json:"count_is_about,omitempty"`
	// Refused is how many of them were refused at least once.
	Refused int    `json:"refused"`
	Rows    []Row  `json:"rows"`
	Others  Counts `json:"others"` // all that Rows doesn't list
}

// Row is one client or endpoint.
type Row struct {
	Name string `json:"name"`
	Counts
	Rule  string     `json:"mostly_by,omitempty"` // the rule of most of its refusals
	First *time.Time `json:"first_refused,omitempty"`
	Last  *time.Time `json:"last_refused,omitempty"`
	Agent string     `json:"user_agent,omitempty"`
	Over  []uint32   `json:"refused_over_time,omitempty"`
}

// maxRows is how many rows of a table the report lists.
const maxRows = 50

// report adds up.
func (r *run) report(s accesslog.Stats) *Report {
	width := widths[r.axis.width]
	p := &Report{
		Log: Log{Lines: s.Lines, Decided: r.total.Requests, Malformed: r.malformed, Unreadable: s.Unreadable, OutOfTime: s.OutOfTime,
			Samples: s.Samples, From: instant(r.from), To: instant(r.to), Bytes: s.Bytes},
		Requests: r.total,
		Over: Over{
			Start: time.Unix(r.axis.start, 0).UTC(), Width: Seconds(width),
			Requests: r.requests.full(r.axis.used), Refused: r.first.refused.full(r.axis.used),
		},
		Clients:   r.list(r.clients),
		Endpoints: r.list(r.endpoints),
		Config:    r.first.report(r.axis.used),
	}
	if r.total.Shadow > 0 {
		p.Over.Shadow = r.first.shadow.full(r.axis.used)
	}
	p.Config.Clients = p.Clients.Refused
	p.Config.Passed, p.Config.Refused, p.Config.Shadow = r.total.Requests-r.total.Refused, r.total.Refused, r.total.Shadow
	if r.second != nil {
		against := r.second.report(r.axis.used)
		against.Passed, against.Refused = r.total.Requests-r.total.Against, r.total.Against
		against.Clients = r.clients.hurtToo
		for _, c := range r.clients.rows {
			if c.Against > 0 {
				against.Clients++
			}
		}
		p.Against = &against
		p.Over.Against = r.second.refused.full(r.axis.used)
	}
	return p
}

func instant(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// report returns what the rules of a side did.
func (s *side) report(buckets int) Side {
	l := s.lane
	side := Side{File: l.file, Keys: l.filter.Top(10)}
	stats := map[string]httplimit.RuleStats{}
	for _, rs := range l.filter.Stats().Rules {
		stats[rs.Rule] = rs
	}
	for i, rule := range l.store.Current().Rules() {
		rs := stats[rule.Name]
		row := Rule{Name: rule.Name, Mode: rule.Mode.String(), Key: rule.Key.String(), Refused: s.by[i], Shadow: rs.Shadow,
			Unkeyed: rs.Unkeyed, Asked: rs.Allowed + rs.Refused + rs.Shadow}
		if rule.Mode == rules.Block {
			row.Key = ""
		}
		row.Limit = limitText(l.store.Current(), rule)
		if s.byRule[i] != nil {
			row.Over = s.byRule[i].full(buckets)
		}
		side.Rules = append(side.Rules, row)
	}
	if n := len(l.names) - 1; s.by[n] > 0 {
		row := Rule{Name: BlockList, Mode: rules.Block.String(), Asked: s.by[n], Refused: s.by[n]}
		if s.byRule[n] != nil {
			row.Over = s.byRule[n].full(buckets)
		}
		side.Rules = append(side.Rules, row)
	}
	return side
}

// limitText returns a rule's limits in words: its own, and those of plans.
func limitText(set *rules.Set, rule *rules.Rule) string {
	text := ""
	for _, l := range set.Limits() {
		if l.Rule != rule || rule.Mode == rules.Block {
			continue
		}
		if text != "" {
			text += "; "
		}
		if l.Plan != "" {
			text += l.Plan + ": "
		}
		if l.Unlimited {
			text += "unlimited"
		} else {
			text += explain.LimitText(l.Limit)
		}
	}
	return text
}

// list returns the rows of t that the report lists, and the sum of the others.
func (r *run) list(t *table) List {
	list := List{Count: len(t.rows) + t.forgot, About: t.forgot > 0, Refused: t.hurt, Others: t.others, Rows: []Row{}}
	for i, c := range t.sorted() {
		if c.Refused > 0 {
			list.Refused++
		}
		if i >= maxRows {
			list.Others.plus(c.Counts)
			continue
		}
		row := Row{Name: c.name, Counts: c.Counts, Agent: c.agent}
		if c.rule >= 0 {
			lane := r.first.lane
			if c.Refused == 0 && r.second != nil {
				lane = r.second.lane
			}
			if int(c.rule) < len(lane.names) {
				row.Rule = lane.names[c.rule]
			}
		}
		if c.first != 0 {
			first, last := instant(c.first), instant(c.last)
			row.First, row.Last = &first, &last
			if c.over != nil {
				row.Over = c.over.full(r.axis.used)
			}
		}
		list.Rows = append(list.Rows, row)
	}
	return list
}
