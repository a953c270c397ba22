package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"
)

// Target is one server behind the proxy, and which requests are its.
type Target struct {
	// Host is the requests' host, "*.example.com" for all names below it; empty for any host.
	Host string `yaml:"host" json:"host,omitempty"`
	// Path is the path at or below which requests are this server's; empty for any path.
	Path string `yaml:"path" json:"path,omitempty"`
	// URL says where it is: http://host:port, https://host, h2c://host:port (HTTP/2 without TLS), or unix:/path/to.sock.
	// A path in it goes before the request's own.
	URL string `yaml:"url" json:"url"`
	// PreserveHost sends it the client's Host, where it would see that of URL.
	PreserveHost bool `yaml:"preserve_host" json:"preserve_host,omitempty"`
	// CA is a file of PEM certificates that an https server's must be signed by; empty for the system's.
	CA string `yaml:"ca" json:"ca,omitempty"`
	// Connect is how long connecting may take; 0 is DefaultConnect.
	Connect time.Duration `yaml:"connect_timeout" json:"connect_timeout,omitempty"`
	// Timeout is how long its response may take to begin; 0 is DefaultTimeout. A response that has begun may take for ever.
	Timeout time.Duration `yaml:"timeout" json:"timeout,omitempty"`
}

// The times of a Target that names none.
const (
	DefaultConnect = 5 * time.Second
	DefaultTimeout = 60 * time.Second
)

// FieldError says which field of a Target is at fault.
type FieldError struct {
	Field string // as in the file, "url"
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// Check returns what is wrong with t, each error a *FieldError.
func (t Target) Check() []error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Errorf(format, args...)})
	}
	if _, _, err := t.parse(); err != nil {
		bad("url", "%w", err)
	}
	if strings.ContainsAny(t.Host, "/ :") || strings.Contains(strings.TrimPrefix(t.Host, "*."), "*") {
		bad("host", "%q: want a name such as api.example.com, or *.example.com, without a port", t.Host)
	} else if strings.HasSuffix(t.Host, ".") {
		bad("host", "%q: never matches: a dot at the end is cut off before", t.Host)
	}
	switch {
	case t.Path == "":
	case t.Path[0] != '/':
		bad("path", "%q: must start with /", t.Path)
	case strings.ContainsAny(t.Path, "*{}?#%"):
		bad("path", "%q: want a path without wildcards, query or escapes: all below it is the server's, too", t.Path)
	case path.Clean(t.Path) != t.Path && path.Clean(t.Path)+"/" != t.Path:
		bad("path", "%q: never matches: paths are cleaned before, to %s", t.Path, path.Clean(t.Path))
	}
	if t.CA != "" {
		if _, err := t.roots(); err != nil {
			bad("ca", "%w", err)
		}
	}
	if t.Connect < 0 {
		bad("connect_timeout", "%v: must not be negative", t.Connect)
	}
	if t.Timeout < 0 {
		bad("timeout", "%v: must not be negative", t.Timeout)
	}
	return errs
}

// Claim names the requests that are t's: two targets that have the same can't both get them.
func (t Target) Claim() string { return strings.ToLower(t.Host) + strings.TrimRight(t.Path, "/") + "/" }

// parse returns the URL that requests are sent to, and the unix socket they go through, if that's where the server is.
func (t Target) parse() (to *url.URL, socket string, err error) {
	if t.URL == "" {
		return nil, "", errors.New("is missing: want http://host:port, https://host, h2c://host:port or unix:/path/to.sock")
	}
	if socket, ok := strings.CutPrefix(t.URL, "unix:"); ok {
		socket = strings.TrimPrefix(socket, "//")
		if socket == "" || socket[0] != '/' {
			return nil, "", fmt.Errorf("%q: want unix:/path/to.sock, from the root", t.URL)
		}
		return &url.URL{Scheme: "http", Host: "localhost"}, socket, nil
	}
	to, err = url.Parse(t.URL)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%q: is not a URL", t.URL)
	case to.Scheme != "http" && to.Scheme != "https" && to.Scheme != "h2c" || to.Host == "":
		return nil, "", fmt.Errorf("%q: want http://host:port, https://host, h2c://host:port or unix:/path/to.sock", t.URL)
	case to.User != nil || to.RawQuery != "" || to.Fragment != "":
		return nil, "", fmt.Errorf("%q: a user, a query and a fragment have no place here", to.Redacted())
	}
	return to, "", nil
}

// roots returns the certificates that the server's must be signed by; nil for the system's.
func (t Target) roots() (*x509.CertPool, error) {
	if t.CA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: holds no PEM certificate", t.CA)
	}
	return pool, nil
}

// transport returns the connections to t, and the URL to write into the requests.
func (t Target) transport() (*http.Transport, *url.URL, error) {
	to, socket, err := t.parse()
	if err != nil {
		return nil, nil, &FieldError{"url", err}
	}
	roots, err := t.roots()
	if err != nil {
		return nil, nil, &FieldError{"ca", err}
	}
	dialer := &net.Dialer{Timeout: or(t.Connect, DefaultConnect), KeepAlive: 30 * time.Second}
	transport := &http.Transport{
		DialContext:           dialer.DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   or(t.Connect, DefaultConnect),
		ResponseHeaderTimeout: or(t.Timeout, DefaultTimeout),
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // the client's own Accept-Encoding decides
		MaxIdleConnsPerHost:   512,  // one server; the default of 2 would open a connection for most requests
		IdleConnTimeout:       90 * time.Second,
	}
	if socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}
	}
	if to.Scheme == "h2c" {
		to.Scheme = "http"
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	return transport, to, nil
}

func or(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
