// Package promlimit tells Prometheus what a filter, its rules and a remote store of limits have counted. No label holds a
// client's key; httplimit.Filter.Top tells who is refused most often.
package promlimit

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/rules"
)

// Config names what is to be told of. What is nil is left out; the zero value tells only of calls that ObserveBackend is
// told of.
type Config struct {
	// Filter gives ratelimit_requests_total, ratelimit_keys, ratelimit_keys_bytes and ratelimit_evictions_total.
	Filter *httplimit.Filter
	// Store gives ratelimit_config_reloads_total and ratelimit_config_version.
	Store *rules.Store
	// Backend gives ratelimit_breaker_open and ratelimit_leased_tokens_total; it is called at each scrape.
	Backend func() Backend
}

// Backend is what a remote store of limits tells, such as Store.Stats of redislimit.
type Backend struct {
	BreakerOpen bool // the server is not being asked, because it hasn't been answering
	Leases      []Lease
}

// Lease is the tokens that a rule has taken in leases so far.
type Lease struct {
	Rule            string // empty: all rules
	Taken, Returned uint64 // Returned: of the taken ones, those that came back unspent
}

// Collector is a prometheus.Collector. It reads the counters when it is asked, and is safe for concurrent use.
type Collector struct {
	config   Config
	duration prometheus.Histogram
	failures *prometheus.CounterVec
}

var (
	requests = prometheus.NewDesc("ratelimit_requests_total", "Requests that a rule was asked about, by what it said.", []string{"rule", "result"}, nil)
	keys     = prometheus.NewDesc("ratelimit_keys", "Clients that a rule remembers.", []string{"rule"}, nil)
	memory   = prometheus.NewDesc("ratelimit_keys_bytes", "Memory that holds them.", []string{"rule"}, nil)
	evicted  = prometheus.NewDesc("ratelimit_evictions_total", "Clients forgotten: limited ones, for want of room, and others, idle nearly all.", []string{"rule", "kind"}, nil)
	reloads  = prometheus.NewDesc("ratelimit_config_reloads_total", "Changes of the rules, the first included, and those that failed.", []string{"result"}, nil)
	version  = prometheus.NewDesc("ratelimit_config_version", "Version of the rules in force, from 1.", nil, nil)
	breaker  = prometheus.NewDesc("ratelimit_breaker_open", "1 while the remote store is not being asked.", nil, nil)
	leased   = prometheus.NewDesc("ratelimit_leased_tokens_total", "Tokens taken from the remote store in leases, and given back unspent.", []string{"rule", "event"}, nil)
)

// New returns the collector of what c names.
func New(c Config) *Collector {
	return &Collector{
		config: c,
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "ratelimit_backend_duration_seconds",
			Help:    "Time that calls to the remote store took.",
			Buckets: prometheus.ExponentialBucketsRange(100e-6, 1, 13),
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratelimit_backend_errors_total",
			Help: "Calls to the remote store that failed: too late, given up by the caller, or otherwise.",
		}, []string{"kind"}),
	}
}

// ObserveBackend counts a call to the remote store. It has the form of the Observe of redislimit's Config.
func (c *Collector) ObserveBackend(took time.Duration, err error) {
	c.duration.Observe(took.Seconds())
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		c.failures.WithLabelValues("timeout").Inc()
	case errors.Is(err, context.Canceled):
		c.failures.WithLabelValues("canceled").Inc()
	default:
		c.failures.WithLabelValues("failure").Inc()
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requests, keys, memory, evicted, reloads, version, breaker, leased} {
		out <- d
	}
	c.duration.Describe(out)
	c.failures.Describe(out)
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	if c.config.Filter != nil {
		for _, r := range c.config.Filter.Stats().Rules {
			collectRule(out, r)
		}
	}
	if c.config.Store != nil {
		s := c.config.Store.Stats()
		count(out, reloads, s.Updates, "ok")
		count(out, reloads, s.Failures, "error")
		gauge(out, version, float64(s.Version))
	}
	if c.config.Backend != nil {
		b, open := c.config.Backend(), 0.0
		if b.BreakerOpen {
			open = 1
		}
		gauge(out, breaker, open)
		for _, l := range b.Leases {
			count(out, leased, l.Taken, l.Rule, "taken")
			count(out, leased, l.Returned, l.Rule, "returned")
		}
	}
	c.duration.Collect(out)
	c.failures.Collect(out)
}

func collectRule(out chan<- prometheus.Metric, r httplimit.RuleStats) {
	count(out, requests, r.Allowed, r.Rule, "allowed")
	count(out, requests, r.Refused, r.Rule, "limited")
	count(out, requests, r.Shadow, r.Rule, "shadow")
	count(out, requests, r.ErrorAllowed, r.Rule, "error_allowed")
	count(out, requests, r.ErrorDenied, r.Rule, "error_denied")
	gauge(out, keys, float64(r.Keys.Keys), r.Rule)
	gauge(out, memory, float64(r.Keys.Bytes), r.Rule)
	count(out, evicted, r.Keys.Evicted-min(r.Keys.EvictedLimited, r.Keys.Evicted), r.Rule, "other")
	count(out, evicted, r.Keys.EvictedLimited, r.Rule, "limited")
}

func count(out chan<- prometheus.Metric, d *prometheus.Desc, n uint64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func gauge(out chan<- prometheus.Metric, d *prometheus.Desc, n float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
}
