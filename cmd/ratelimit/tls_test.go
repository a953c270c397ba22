package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/server"
)

// certificate writes a certificate for 127.0.0.1 with this serial number, and its key.
func certificate(t *testing.T, dir string, serial int64) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Unix(1<<33, 0),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

func TestTLSWithHTTP2(t *testing.T) {
	cert, key, pool := certificate(t, t.TempDir(), 1)
	p := start(t, nil, "proxy", "--limit", "10/s", "--tls-cert", cert, "--tls-key", key)
	require.True(t, strings.HasPrefix(p.url, "https://"), p.url)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(p.url + "/x")
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 2, response.ProtoMajor)
	require.Contains(t, string(body), "GET /x HTTP/2.0\n")
	require.NotEmpty(t, response.Header.Get("RateLimit"))

	old := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}}
	_, err = (&http.Client{Transport: old}).Get(p.url)
	require.ErrorContains(t, err, "protocol version", "TLS 1.1 is refused")
}

func TestBadCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, _, _ := certificate(t, dir, 1)
	other := filepath.Join(dir, "other")
	require.NoError(t, os.Mkdir(other, 0o700))
	_, key, _ := certificate(t, other, 2)
	said := fails(t, exitFailed, "proxy", "--limit", "1/s", "--tls-cert", cert, "--tls-key", key)
	require.Contains(t, said, "private key does not match public key")
	require.NotContains(t, said, "\n")
	said = fails(t, exitFailed, "proxy", "--limit", "1/s", "--tls-cert", cert, "--tls-key", "/nowhere.pem")
	require.Contains(t, said, "/nowhere.pem: no such file or directory")
}

func TestCertificateIsReplacedInPlace(t *testing.T) {
	dir := t.TempDir()
	cert, key, _ := certificate(t, dir, 1)
	c, err := server.LoadCertificate(cert, key)
	require.NoError(t, err)
	serial := func() int64 {
		pair, err := c.Config().GetCertificate(nil)
		require.NoError(t, err)
		return pair.Leaf.SerialNumber.Int64()
	}
	require.Equal(t, int64(1), serial())
	certificate(t, dir, 2)
	require.NoError(t, c.Reload())
	require.Equal(t, int64(2), serial())
	require.NoError(t, os.WriteFile(cert, []byte("half a file"), 0o600))
	require.Error(t, c.Reload())
	require.Equal(t, int64(2), serial(), "the one before stays")
}

// gRPC is HTTP/2 with a trailer that says how the call went; here without TLS on both sides.
func TestTrailersAndBodiesPassBothWays(t *testing.T) {
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("Grpc-Status", "0")
	}))
	app.Config.Protocols = new(http.Protocols)
	app.Config.Protocols.SetUnencryptedHTTP2(true)
	app.Start()
	defer app.Close()
	p := start(t, nil, "proxy", "--limit", "10/s", "--upstream", strings.Replace(app.URL, "http", "h2c", 1))
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	response, err := (&http.Client{Transport: transport}).Post(p.url, "application/grpc", bytes.NewReader(sent))
	require.NoError(t, err)
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 2, response.ProtoMajor)
	require.True(t, bytes.Equal(sent, got))
	require.Equal(t, "0", response.Trailer.Get("Grpc-Status"))
	require.NotEmpty(t, response.Header.Get("RateLimit"))
}

func TestAdminTokenLetsTheAdminAddressLeaveTheMachine(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600))
	c := prepare("run", "proxy", "--limit", "10/s", "--listen", "127.0.0.1:0", "--admin", "0.0.0.0:0", "--admin-token-file", token)
	c.start(t)
	admin, ok := c.out.wait(`admin +http://\S+:(\d+)`)
	require.True(t, ok)
	url := "http://127.0.0.1:" + admin
	response, _ := get(t, url+"/status.json")
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	response, _ = get(t, url+"/status.json", "Authorization", "Bearer 0123456789abcdef")
	require.Equal(t, http.StatusOK, response.StatusCode)
	response, _ = get(t, url+"/readyz")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, exitDone, c.terminate(t))

	require.NoError(t, os.WriteFile(token, []byte("short\n"), 0o600))
	said := fails(t, exitUsage, "proxy", "--limit", "10/s", "--admin-token-file", token)
	require.Contains(t, said, "want one word of at least 16 bytes")
}
