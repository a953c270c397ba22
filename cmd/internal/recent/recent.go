// Package recent keeps the latest warnings and errors of a log, for people who look at the process and not at its log.
package recent

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Entry is one line of a log.
type Entry struct {
	At      int64 // Unix ns
	Level   slog.Level
	Message string
	Detail  string // its attributes, "name=value name=value"
}

// Entries are the latest of a log. It is safe for concurrent use.
type Entries struct {
	mu      sync.Mutex
	entries []Entry // the oldest first
}

const most = 50

// All returns the entries, the oldest first.
func (e *Entries) All() []Entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.entries)
}

func (e *Entries) add(entry Entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.entries) == most {
		e.entries = slices.Delete(e.entries, 0, 1)
	}
	e.entries = append(e.entries, entry)
}

// Handler passes records on to another handler, and keeps warnings and errors in Entries.
type Handler struct {
	slog.Handler
	entries *Entries
	with    string // what WithAttrs has added
}

// NewHandler returns a handler before next, and what it keeps.
func NewHandler(next slog.Handler) (*Handler, *Entries) {
	entries := &Entries{}
	return &Handler{Handler: next, entries: entries}, entries
}

// Enabled reports whether records of this level are kept or passed on.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

// Handle keeps the record if it is a warning or an error, and passes it on if it is wanted there.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		var b strings.Builder
		b.WriteString(h.with)
		r.Attrs(func(a slog.Attr) bool {
			write(&b, a)
			return true
		})
		h.entries.add(Entry{r.Time.UnixNano(), r.Level, r.Message, b.String()})
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler that adds attrs to each record.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.with)
	for _, a := range attrs {
		write(&b, a)
	}
	return &Handler{h.Handler.WithAttrs(attrs), h.entries, b.String()}
}

// WithGroup returns a handler whose records stand in a group. The group isn't kept.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.Handler.WithGroup(name), h.entries, h.with}
}

func write(b *strings.Builder, a slog.Attr) {
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(a.String())
}
