package server

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready tells systemd that the service is up (Type=notify), and keeps its watchdog content until ctx is done. Without
// systemd it does nothing.
func Ready(ctx context.Context, status string) {
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady+"\nSTATUS="+status)
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil || interval <= 0 {
		return
	}
	go func() {
		ticker := time.NewTicker(interval / 2)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
			}
		}
	}()
}

// Stopping tells systemd that the service is about to end.
func Stopping() { _, _ = daemon.SdNotify(false, daemon.SdNotifyStopping) }
