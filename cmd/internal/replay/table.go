package replay

import (
	"cmp"
	"slices"
)

// row is what is counted of one client or endpoint.
type row struct {
	Counts
	name  string
	first int64 // refusal
	last  int64
	seen  int64 // the last request
	rule  int32 // by which most of its refusals are, found by majority vote
	votes int64
	over  *series // of refusals; nil: none, or not among those that have one
	agent string  // as sent with its first refusal
}

// Counts adds up what became of requests.
type Counts struct {
	Requests uint64 `json:"requests"`
	Refused  uint64 `json:"refused"`
	Shadow   uint64 `json:"would_refuse_in_shadow,omitempty"`
	// Against is what the other rule file refuses, and Only what only one of the two does.
	Against     uint64 `json:"against_refused,omitempty"`
	OnlyConfig  uint64 `json:"only_config_refuses,omitempty"`
	OnlyAgainst uint64 `json:"only_against_refuses,omitempty"`
}

// add counts one request; second is nil without another rule file.
func (c *Counts) add(first outcome, second *outcome) {
	c.Requests++
	if first.refused() {
		c.Refused++
	}
	if first.shadows {
		c.Shadow++
	}
	if second == nil {
		return
	}
	switch {
	case second.refused() && first.refused():
		c.Against++
	case second.refused():
		c.Against++
		c.OnlyAgainst++
	case first.refused():
		c.OnlyConfig++
	}
}

// plus adds d to c.
func (c *Counts) plus(d Counts) {
	c.Requests += d.Requests
	c.Refused += d.Refused
	c.Shadow += d.Shadow
	c.Against += d.Against
	c.OnlyConfig += d.OnlyConfig
	c.OnlyAgainst += d.OnlyAgainst
}

// weight says how noteworthy a row is: what is refused by either file.
func (c *Counts) weight() uint64 { return c.Refused + c.OnlyAgainst }

// hurt reports whether anything is refused, be it in shadow mode.
func (c *Counts) hurt() bool { return c.Refused+c.OnlyAgainst+c.Shadow > 0 }

// table counts rows by name, at most max of them.
type table struct {
	rows    map[string]*row
	max     int
	others  Counts // of the rows that were forgotten
	forgot  int    // how many
	hurt    int    // how many of them had been refused
	hurtToo int    // and how many by the other rules
}

func newTable(max int) *table { return &table{rows: map[string]*row{}, max: max} }

// at returns the row of that name, which is copied if it's new.
func (t *table) at(name []byte) *row {
	if r := t.rows[string(name)]; r != nil { // which doesn't allocate
		return r
	}
	return t.add(string(name))
}

func (t *table) add(name string) *row {
	if len(t.rows) >= t.max {
		t.forget()
	}
	r := &row{name: name, rule: -1}
	t.rows[name] = r
	return r
}

// forget drops the less noteworthy half of the rows: those with fewer refusals, and among these those not seen for long.
func (t *table) forget() {
	for _, r := range t.sorted()[t.max/2:] {
		t.others.plus(r.Counts)
		t.forgot++
		if r.Refused > 0 {
			t.hurt++
		}
		if r.Against > 0 {
			t.hurtToo++
		}
		delete(t.rows, r.name)
	}
}

// sorted returns the rows, the most noteworthy first.
func (t *table) sorted() []*row {
	rows := make([]*row, 0, len(t.rows))
	for _, r := range t.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(b.Shadow, a.Shadow),
			cmp.Compare(b.Requests, a.Requests), cmp.Compare(b.seen, a.seen), cmp.Compare(a.name, b.name))
	})
	return rows
}

// vote makes rule the one that most of the row's refusals are by, if it is.
func (r *row) vote(rule int32) {
	switch {
	case r.votes == 0:
		r.rule, r.votes = rule, 1
	case r.rule == rule:
		r.votes++
	default:
		r.votes--
	}
}
