// Package admin is what operators see of a running process, on an address of its own: metrics, health, and the status
// page.
package admin

import (
	"io"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/casgate/ratelimit/cmd/internal/limits"
)

// Config says what there is to see.
type Config struct {
	Limits *limits.Limits
	// Ready reports whether requests are welcome.
	Ready func() bool
	Log   *slog.Logger
}

// New returns the handler of the admin address.
func New(c Config) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelError),
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if c.Ready() {
			plain(w, http.StatusOK, "ready")
		} else {
			plain(w, http.StatusServiceUnavailable, "not ready: starting or stopping")
		}
	})
	return mux, nil
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
