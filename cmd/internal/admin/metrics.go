package admin

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/casgate/ratelimit/cmd/internal/limits"
	"github.com/casgate/ratelimit/promlimit"
)

// metrics returns the registry of all that is measured.
func metrics(l *limits.Limits) (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		promlimit.New(promlimit.Config{Filter: l.Filter, Store: l.Store}),
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return registry, nil
}
