package admin

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/casgate/ratelimit/cmd/internal/limits"
)

// metrics returns the registry of all that is measured.
func metrics(l *limits.Limits) (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{l},
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return registry, nil
}

// collector reads the counters of the limits when it is asked. No label holds a key.
type collector struct{ limits *limits.Limits }

var (
	requests = prometheus.NewDesc("ratelimit_requests_total", "Requests that a rule was asked about, by what it said.", []string{"rule", "result"}, nil)
	keys     = prometheus.NewDesc("ratelimit_keys", "Clients that a rule remembers.", []string{"rule"}, nil)
	memory   = prometheus.NewDesc("ratelimit_keys_bytes", "Memory that holds them.", []string{"rule"}, nil)
	evicted  = prometheus.NewDesc("ratelimit_evictions_total", "Clients forgotten: idle ones, which is harmless, and limited ones, for want of room.", []string{"rule", "kind"}, nil)
	reloads  = prometheus.NewDesc("ratelimit_config_reloads_total", "Changes of the rules, the first included, and files that couldn't be used.", []string{"result"}, nil)
	version  = prometheus.NewDesc("ratelimit_config_version", "Version of the rules in force, from 1.", nil, nil)
)

func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requests, keys, memory, evicted, reloads, version} {
		out <- d
	}
}

func (c *collector) Collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	for _, r := range c.limits.Filter.Stats().Rules {
		count(requests, r.Allowed, r.Rule, "allowed")
		count(requests, r.Refused, r.Rule, "limited")
		count(requests, r.Shadow, r.Rule, "shadow")
		count(requests, r.ErrorAllowed, r.Rule, "error_allowed")
		count(requests, r.ErrorDenied, r.Rule, "error_denied")
		gauge(keys, float64(r.Keys.Keys), r.Rule)
		gauge(memory, float64(r.Keys.Bytes), r.Rule)
		count(evicted, r.Keys.Evicted-r.Keys.EvictedLimited, r.Rule, "idle")
		count(evicted, r.Keys.EvictedLimited, r.Rule, "limited")
	}
	s := c.limits.Store.Stats()
	count(reloads, s.Updates, "ok")
	count(reloads, s.Failures, "error")
	gauge(version, float64(s.Version))
}
