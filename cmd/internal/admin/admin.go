// Package admin is what operators see of a running process, on an address of its own: metrics, health, and a status page
// on which a client's state can be looked at and reset.
package admin

import (
	"context"
	"embed"
	"io"
	"io/fs"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/cmd/internal/fleet"
	"github.com/casgate/ratelimit/cmd/internal/limits"
	"github.com/casgate/ratelimit/cmd/internal/recent"
)

// Config says what there is to see.
type Config struct {
	Limits *limits.Limits
	// Fleet is the stores that the limits are shared over; nil: there are none.
	Fleet *fleet.Fleet
	// Ready reports whether requests are welcome.
	Ready func() bool
	// Token is what must be shown for all but health; empty: nothing, and then requests must name this machine by a
	// loopback address.
	Token string
	// Version is that of the program.
	Version string
	// Errors are the log's latest.
	Errors *recent.Entries
	Log    *slog.Logger
}

// Admin is the handler of the admin address.
type Admin struct {
	config  Config
	started int64 // Unix ns
	history *history
	http.Handler
}

//go:embed page
var page embed.FS

// New returns the handler. Its history grows while Run runs.
func New(c Config) (*Admin, error) {
	a := &Admin{config: c, started: ratelimit.SystemClock().NanoTime(), history: newHistory()}
	registry, err := metrics(&c)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(page, "page")
	if err != nil {
		return nil, err
	}
	guarded := http.NewServeMux()
	guarded.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelError),
	}))
	guarded.Handle("GET /", http.FileServerFS(files))
	guarded.HandleFunc("GET /status.json", a.status)
	guarded.HandleFunc("POST /keys", a.look)
	guarded.HandleFunc("POST /keys/reset", a.reset)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if c.Ready() {
			plain(w, http.StatusOK, "ready")
		} else {
			plain(w, http.StatusServiceUnavailable, "not ready: starting or stopping")
		}
	})
	mux.Handle("/", guard(guarded, c.Token))
	a.Handler = mux
	return a, nil
}

// Run keeps the history until ctx is done.
func (a *Admin) Run(ctx context.Context) { a.history.run(ctx, a.config.Limits) }

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
