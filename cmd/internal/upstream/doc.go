// Package upstream passes requests on to the servers behind the proxy: which server (by host and path), over what
// (HTTP/1.1, HTTP/2, TLS, a unix socket), and what becomes of the header fields on the way there and back.
package upstream
