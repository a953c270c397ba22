package server

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPortInUse(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = Listen(l.Addr().String())
	require.ErrorContains(t, err, "can't listen on "+l.Addr().String()+": it is in use: stop the process that has it")
}

func TestUnixSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen("unix:" + path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o660), info.Mode().Perm())
	require.True(t, Loopback(l.Addr()))

	_, err = Listen("unix:" + path)
	require.ErrorContains(t, err, "another process does")

	l.(*net.UnixListener).SetUnlinkOnClose(false) // as a killed process leaves it
	require.NoError(t, l.Close())
	l, err = Listen("unix:" + path)
	require.NoError(t, err, "a socket that nobody listens on is replaced")
	require.NoError(t, l.Close())

	require.NoError(t, os.WriteFile(path, []byte("a file"), 0o600))
	_, err = Listen("unix:" + path)
	require.ErrorContains(t, err, "can't listen on unix:"+path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a file", string(text), "what is no socket stays")
}

func TestAddresses(t *testing.T) {
	for _, good := range []string{":8080", "127.0.0.1:0", "[::1]:80", "localhost:http", "unix:/run/x.sock", "systemd", "systemd:admin"} {
		require.NoError(t, CheckAddress(good))
	}
	for bad, want := range map[string]string{
		"":           "want host:port",
		"8080":       "want host:port",
		"x:99999":    "the port must be 0 to 65535",
		"unix:a":     "from the root",
		"::1:80":     "want host:port",
		"systemdish": "want host:port",
	} {
		require.ErrorContains(t, CheckAddress(bad), want)
	}
	_, err := Listen("systemd:http")
	require.ErrorContains(t, err, "systemd has passed no socket")
	_, err = Listen("192.0.2.1:80")
	require.ErrorContains(t, err, "this machine doesn't have that address")
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "0.0.0.0": false, "::": false, "192.0.2.1": false} {
		require.Equal(t, want, Loopback(&net.TCPAddr{IP: net.ParseIP(address)}), address)
	}
}
