package server

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"
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

// Config returns the configuration of a server with this certificate: TLS 1.2 or later.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
