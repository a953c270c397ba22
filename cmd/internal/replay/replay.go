package replay

import (
	"net/netip"
	"strconv"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
	"github.com/casgate/ratelimit/cmd/internal/settings"
)

// Bounds of what is remembered.
const (
	maxClients   = 1 << 17
	maxEndpoints = 1 << 13
	maxPlotted   = 512 // clients whose refusals are known over time
	maxAgent     = 160 // bytes
)

// Config says what to try.
type Config struct {
	// File is the rule file, Against another to compare it with; nil: none. Their names are for the report.
	File, Against         *settings.File
	FileName, AgainstName string
	// Host stands for the Host of requests of which the log tells none.
	Host string
	// Decided, if not nil, is called for each request after the rules have decided: with the status that the client would
	// have got from the filter, 200 if it passed. It is for tests.
	Decided func(e *accesslog.Entry, refusedBy string)
}

// Run sends the requests of log through the rules. Its error is about the rules; what cuts the log short is for log.Err.
func Run(log *accesslog.Log, c Config) (*Report, error) {
	r := &run{config: c, request: NewRequest(c.Host), clients: newTable(maxClients), endpoints: newTable(maxEndpoints)}
	var err error
	if r.first, err = r.newSide(c.FileName, c.File); err != nil {
		return nil, err
	}
	if c.Against != nil {
		if r.second, err = r.newSide(c.AgainstName, c.Against); err != nil {
			return nil, err
		}
	}
	r.requests = r.axis.newSeries()
	var e accesslog.Entry
	for log.Next(&e) {
		r.entry(&e)
	}
	return r.report(log.Stats()), nil
}

// run is the state of Run.
type run struct {
	config        Config
	request       *Request
	first, second *side
	clients       *table
	endpoints     *table
	axis          axis
	requests      *series
	plotted       []*row
	total         Counts
	malformed     uint64
	from, to      int64
	name          []byte
}

// side is a lane and what is counted of it over time.
type side struct {
	lane    *lane
	refused *series
	shadow  *series
	byRule  []*series // by rule; nil while it refuses nobody
	by      []uint64  // refusals, by rule
}

func (r *run) newSide(name string, file *settings.File) (*side, error) {
	l, err := newLane(name, file)
	if err != nil {
		return nil, err
	}
	return &side{
		lane:    l,
		refused: r.axis.newSeries(), shadow: r.axis.newSeries(),
		byRule: make([]*series, len(l.names)), by: make([]uint64, len(l.names)),
	}, nil
}

// entry decides on one request and counts it.
func (r *run) entry(e *accesslog.Entry) {
	if !r.request.Set(e) {
		r.malformed++
		return
	}
	first := r.first.lane.decide(&r.request.HTTP, e.Time, e.Status, e.User)
	var second *outcome
	if r.second != nil {
		out := r.second.lane.decide(&r.request.HTTP, e.Time, e.Status, e.User)
		second = &out
	}
	if r.config.Decided != nil {
		by := ""
		if first.refused() {
			by = r.first.lane.names[first.rule]
		}
		r.config.Decided(e, by)
	}
	if r.total.Requests == 0 {
		r.from = e.Time
	}
	r.to = e.Time
	bucket := r.axis.at(e.Time)
	r.requests.add(bucket)
	r.first.count(&r.axis, first, bucket)
	if second != nil {
		r.second.count(&r.axis, *second, bucket)
	}
	r.total.add(first, second)

	r.name = AppendEndpoint(r.name[:0], e.Method, r.request.url.Path)
	endpoint := r.endpoints.at(r.name)
	endpoint.add(first, second)
	endpoint.seen = e.Time
	r.name = appendClient(r.name[:0], e.Client)
	client := r.clients.at(r.name)
	client.add(first, second)
	client.seen = e.Time
	if first.refused() || first.shadows || second != nil && second.refused() {
		r.hurt(client, e, first, second, bucket)
		if first.refused() {
			endpoint.vote(first.rule)
		}
	}
}

// count counts an outcome over time and by rule.
func (s *side) count(a *axis, out outcome, bucket int) {
	if out.shadows {
		s.shadow.add(bucket)
	}
	if !out.refused() {
		return
	}
	s.refused.add(bucket)
	s.by[out.rule]++
	if s.byRule[out.rule] == nil {
		if len(a.all) > 4*maxPlotted { // of that many rules, not all can be drawn
			return
		}
		s.byRule[out.rule] = a.newSeries()
	}
	s.byRule[out.rule].add(bucket)
}

// hurt notes when a client was refused, and by which rule.
func (r *run) hurt(client *row, e *accesslog.Entry, first outcome, second *outcome, bucket int) {
	if client.first == 0 {
		client.first = e.Time
		client.agent = string(append([]byte(nil), e.Agent[:min(len(e.Agent), maxAgent)]...))
	}
	client.last = e.Time
	switch {
	case first.refused():
		if client.Refused == 1 {
			client.votes = 0 // what the other file's rules did matters less
		}
		client.vote(first.rule)
	case second != nil && second.refused() && client.Refused == 0:
		client.vote(second.rule)
	}
	if client.over == nil {
		if len(r.plotted) == maxPlotted {
			r.unplot()
		}
		client.over = r.axis.newSeries()
		r.plotted = append(r.plotted, client)
	}
	client.over.add(bucket)
}

// unplot forgets the refusals over time of the less noteworthy half of those that have them.
func (r *run) unplot() {
	t := table{rows: map[string]*row{}}
	for _, c := range r.plotted {
		t.rows[c.name] = c
	}
	drop := map[*series]bool{}
	sorted := t.sorted()
	for _, c := range sorted[maxPlotted/2:] {
		drop[c.over] = true
		c.over = nil
	}
	r.plotted = append(r.plotted[:0], sorted[:maxPlotted/2]...)
	kept := r.axis.all[:0]
	for _, s := range r.axis.all {
		if !drop[s] {
			kept = append(kept, s)
		}
	}
	clear(r.axis.all[len(kept):])
	r.axis.all = kept
}

// maxClient is how much of what a log has for a client's address names it, in bytes.
const maxClient = 128

// appendClient appends the client's address as the tables name it: of IPv6 the /64, which is one client's. What is too
// long for an address, or has bytes that a terminal or a rule file's comment would take for something else, is quoted.
func appendClient(dst []byte, client string) []byte {
	if len(client) > maxClient {
		return strconv.AppendQuoteToASCII(dst, client[:maxClient])
	}
	for i := range len(client) {
		if c := client[i]; c <= ' ' || c >= 0x7f {
			return strconv.AppendQuoteToASCII(dst, client)
		}
	}
	for i := range len(client) {
		if client[i] == ':' {
			if addr, err := netip.ParseAddr(client); err == nil && !addr.Is4In6() {
				prefix, _ := addr.WithZone("").Prefix(64)
				return prefix.AppendTo(dst)
			}
			break
		}
	}
	if client == "" {
		return append(dst, "(unknown)"...)
	}
	return append(dst, client...)
}
