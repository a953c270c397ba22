package limits

import (
	"context"
	"os"
	"time"

	"github.com/casgate/ratelimit/cmd/internal/settings"
	"github.com/casgate/ratelimit/rules"
)

// Follower keeps Limits in step with a rule file.
type Follower struct {
	limits  *Limits
	watcher *rules.Watcher
	adapt   func(*settings.File) error
	apply   func(*settings.File)
	pending *settings.File // decoded, and not yet applied
}

// Follow returns a follower of the file at path. adapt puts what the command line says over what the file says, and may
// refuse it; apply puts the section server into force, after the rules.
func (l *Limits) Follow(path string, adapt func(*settings.File) error, apply func(*settings.File)) *Follower {
	f := &Follower{limits: l, adapt: adapt, apply: apply}
	f.watcher = rules.NewWatcher(l.Store, rules.WatchConfig{Path: path, Decode: f.decode})
	return f
}

func (f *Follower) decode(data []byte) (rules.Spec, func(string) int, error) {
	f.pending = nil
	file, err := settings.Parse(data)
	if err == nil {
		err = f.adapt(file)
	}
	if err != nil {
		return rules.Spec{}, nil, err
	}
	f.pending = file
	return file.Spec, nil, nil
}

// Run looks at the file once a second, and loads it when a signal comes, until ctx is done.
func (f *Follower) Run(ctx context.Context, reload <-chan os.Signal) {
	ticker := time.NewTicker(rules.DefaultPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look(f.watcher.Poll)
		case <-reload:
			f.look(f.watcher.Reload)
		}
	}
}

// look lets the watcher look, which counts and reports its errors, and applies what was loaded.
func (f *Follower) look(watch func() error) {
	err := watch()
	if file := f.pending; file != nil && err == nil {
		f.apply(file)
	}
	f.pending = nil
}
