package admin

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/casgate/ratelimit/promlimit"
)

// metrics returns the registry of all that is measured.
func metrics(c *Config) (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	limits := promlimit.Config{Filter: c.Limits.Filter, Store: c.Limits.Store}
	if c.Fleet != nil {
		limits.Backend = c.Fleet.Backend
	}
	collector := promlimit.New(limits)
	if c.Fleet != nil {
		c.Fleet.Observe(collector.ObserveBackend)
	}
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collector,
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return registry, nil
}
