package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// Certificate is a certificate and key from two PEM files, which may be replaced while the server runs.
type Certificate struct {
	cert, key string
	current   atomic.Pointer[tls.Certificate]
}

// LoadCertificate reads the files.
func LoadCertificate(cert, key string) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key}
	return c, c.Reload()
}

// Reload reads the files again. On an error the certificate before stays in use.
func (c *Certificate) Reload() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", c.cert, c.key, err)
	}
	c.current.Store(&pair)
	return nil
}

// Follow reads the files again when one of them has changed, which it looks for every ten seconds, until ctx is done.
func (c *Certificate) Follow(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for seen := c.stamp(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := c.stamp()
		if now == seen {
			continue
		}
		if err := c.Reload(); err != nil { // half replaced, perhaps: look again
			log.Error("certificate not reloaded, the old one stands", "error", err.Error())
			continue
		}
		seen = now
		log.Info("certificate reloaded", "file", c.cert)
	}
}

// stamp tells whether the files have changed.
func (c *Certificate) stamp() (stamp [2]time.Time) {
	for i, path := range []string{c.cert, c.key} {
		if info, err := os.Stat(path); err == nil {
			stamp[i] = info.ModTime()
		}
	}
	return stamp
}

// Config returns the configuration of a server with this certificate: TLS 1.2 or later.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
