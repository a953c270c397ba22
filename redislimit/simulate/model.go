package main

import (
	"container/heap"
	"math/rand/v2"
	"slices"
)

const second = int64(1e9) // ns

// world is the traffic: clients by Zipf's law, each request at one of the servers that its client has connections to, in
// virtual time.
type world struct {
	servers, clients int
	connections      int     // of a client
	perSecond        int     // requests
	seconds          int     // virtual ones
	skew             float64 // exponent of the Zipf distribution
	seed             uint64
}

// request is one of them. late is how long it takes from its server to Redis.
type request struct {
	at, late int64
	client   uint32
	server   uint16
}

// rule is a token bucket for each client.
type rule struct {
	name        string
	rate, burst int64
}

// requests are the same for all strategies.
func (w world) requests() []request {
	random := rand.New(rand.NewPCG(w.seed, 1))
	zipf := rand.NewZipf(random, w.skew, 1, uint64(w.clients-1))
	all := make([]request, w.perSecond*w.seconds)
	for i := range all {
		client := zipf.Uint64()
		connection := uint64(random.IntN(w.connections))
		all[i] = request{
			at:     random.Int64N(int64(w.seconds) * second),
			late:   latency(random),
			client: uint32(client),
			server: uint16((client*0x9e3779b9 + connection*7919) % uint64(w.servers)),
		}
	}
	slices.SortFunc(all, func(a, b request) int { return int(a.at - b.at) })
	return all
}

// latency is half a round trip: 100 us and an exponential tail of 100 us, and 5 ms more once in a thousand.
func latency(r *rand.Rand) int64 {
	ns := 100_000 + int64(r.ExpFloat64()*100_000)
	if r.IntN(1000) == 0 {
		ns += 5_000_000
	}
	return ns
}

// bucket is a token bucket in billionths of a token, so that rate * ns is whole.
type bucket struct{ level, at int64 }

func (b *bucket) fill(r rule, now int64) {
	if b.at == 0 {
		*b = bucket{r.burst * second, now}
	}
	b.level = min(b.level+max(now-b.at, 0)*r.rate, r.burst*second)
	b.at = max(b.at, now)
}

func (b *bucket) take(r rule, now int64) bool {
	b.fill(r, now)
	if b.level < second {
		return false
	}
	b.level -= second
	return true
}

// drain takes what is there, at most n.
func (b *bucket) drain(r rule, now, n int64) int64 {
	b.fill(r, now)
	n = max(min(n, b.level/second), 0)
	b.level -= n * second
	return n
}

// wait is the time until a token is there.
func (b *bucket) wait(r rule) int64 { return (second - b.level + r.rate - 1) / r.rate }

// at is a client on a server.
type at struct {
	client uint32
	server uint16
}

// result is what a strategy has admitted of each client, and the calls that it made.
type result struct {
	admitted map[uint32]int64
	calls    int64
}

// redis is the state on the server.
type redis map[uint32]*bucket

func (s redis) of(client uint32) *bucket {
	b := s[client]
	if b == nil {
		b = &bucket{}
		s[client] = b
	}
	return b
}

// strict asks for each decision. With cache a refusal is repeated until its wait is over; what the server answers to a request
// counts from when the answer is there.
func strict(cache bool) func(world, rule, []request) result {
	return func(_ world, r rule, all []request) result {
		out, state, refused := result{admitted: map[uint32]int64{}}, redis{}, map[at]int64{}
		arrivals := slices.Clone(all)
		slices.SortStableFunc(arrivals, func(a, b request) int { return int(a.at + a.late - b.at - b.late) })
		for _, q := range arrivals {
			if cache && q.at < refused[at{q.client, q.server}] {
				continue
			}
			out.calls++
			b := state.of(q.client)
			if b.take(r, q.at+q.late) {
				out.admitted[q.client]++
			} else if cache {
				refused[at{q.client, q.server}] = q.at + 2*q.late + b.wait(r)
			}
		}
		return out
	}
}

// exact is a limiter without latency: what the others are compared to.
func exact(_ world, r rule, all []request) result {
	out, state := result{admitted: map[uint32]int64{}}, redis{}
	for _, q := range all {
		if state.of(q.client).take(r, q.at) {
			out.admitted[q.client]++
		}
	}
	return out
}

// divided gives each server rate/N and burst/N, at least 1, and asks nobody.
func divided(w world, r rule, all []request) result {
	out, state := result{admitted: map[uint32]int64{}}, map[at]*bucket{}
	n := int64(w.servers)
	for _, q := range all {
		b := state[at{q.client, q.server}]
		if b == nil { // N times the time, so that rate/N is whole
			b = &bucket{max(r.burst/n, 1) * second * n, q.at}
			state[at{q.client, q.server}] = b
		}
		b.level = min(b.level+(q.at-b.at)*r.rate, max(r.burst/n, 1)*second*n)
		b.at = q.at
		if b.level >= second*n {
			b.level -= second * n
			out.admitted[q.client]++
		}
	}
	return out
}

// reported is a server's own count of a client, and the fleet's as of the last report.
type reported struct {
	bucket
	unreported, next int64
}

// reports lets each server decide by what it last heard, and tell what it admitted once a second.
func reports(_ world, r rule, all []request) result {
	out, state, seen := result{admitted: map[uint32]int64{}}, redis{}, map[at]*reported{}
	for _, q := range all {
		v := seen[at{q.client, q.server}]
		if v == nil {
			v = &reported{next: q.at}
			seen[at{q.client, q.server}] = v
		}
		if q.at >= v.next {
			out.calls++
			b := state.of(q.client)
			b.fill(r, q.at)
			b.level -= v.unreported * second // below 0: admitted too many
			*v = reported{bucket: *b, next: q.at + second}
		}
		if v.take(r, q.at) {
			v.unreported++
			out.admitted[q.client]++
		}
	}
	return out
}

// lease is what a server holds of a client.
type lease struct {
	left, used, heat, since int64
	filling                 bool
	refused                 int64 // until then
}

// filled is a call for a lease that has its answer at the time.
type filled struct {
	time   int64
	n      int64
	holder *lease
}

type answers []filled

func (a answers) Len() int           { return len(a) }
func (a answers) Less(i, j int) bool { return a[i].time < a[j].time }
func (a answers) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *answers) Push(x any)        { *a = append(*a, x.(filled)) }
func (a *answers) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

const (
	heatPeriod = 4 * second // as in redislimit
	leaseAfter = 4
	leaseIdle  = 2 * second
)

// leased takes tokens of clients that are busy on a server beforehand, at most burst/(8N).
func leased(w world, r rule, all []request) result {
	size := r.burst / (8 * int64(w.servers))
	if size < 2 {
		return strict(true)(w, r, all)
	}
	out, state, held := result{admitted: map[uint32]int64{}}, redis{}, map[at]*lease{}
	var pending answers
	for _, q := range all {
		for len(pending) > 0 && pending[0].time <= q.at {
			f := heap.Pop(&pending).(filled)
			f.holder.left, f.holder.filling = f.holder.left+f.n, false
		}
		l := held[at{q.client, q.server}]
		if l == nil {
			l = &lease{since: q.at}
			held[at{q.client, q.server}] = l
		}
		b := state.of(q.client)
		if q.at-l.used > leaseIdle && l.left > 0 { // given back
			b.fill(r, q.at)
			b.level = min(b.level+l.left*second, r.burst*second)
			l.left = 0
			out.calls++
		}
		refill := func() {
			if !l.filling && l.left < max(size/2, 1) {
				out.calls++
				heap.Push(&pending, filled{q.at + 2*q.late, b.drain(r, q.at+q.late, size-l.left), l})
				l.filling = true
			}
		}
		switch {
		case l.left > 0:
			l.left--
			l.used = q.at
			out.admitted[q.client]++
			refill()
		case q.at < l.refused:
		default:
			out.calls++
			if q.at-l.since > heatPeriod {
				l.heat, l.since = 0, q.at
			}
			if !b.take(r, q.at+q.late) {
				l.refused = q.at + 2*q.late + b.wait(r)
				break
			}
			out.admitted[q.client]++
			if l.heat++; l.heat >= leaseAfter {
				l.used = q.at
				refill()
			}
		}
	}
	return out
}
