package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
)

// Listen opens an address: host:port, unix:/path/to.sock, or systemd:NAME (systemd for the only one): a socket that
// systemd has opened (FileDescriptorName=NAME in the socket unit).
func Listen(address string) (net.Listener, error) {
	if kind, name, _ := strings.Cut(address, ":"); kind == "systemd" {
		return inherited(address, name)
	}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(path)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s: %w", address, listenHint(err, address))
	}
	return l, nil
}

// CheckAddress returns what is wrong with an address, without opening it.
func CheckAddress(address string) error {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if !strings.HasPrefix(path, "/") {
			return fmt.Errorf("%q: want unix:/path/to.sock, from the root", address)
		}
		return nil
	}
	if address == "systemd" || strings.HasPrefix(address, "systemd:") {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q: want host:port, :port, unix:/path/to.sock or systemd:NAME", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%q: the port must be 0 to 65535", address)
	}
	return nil
}

// Loopback reports whether only this machine can reach a, an address that is listened on.
func Loopback(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// listenHint says what to do about a failure to listen.
func listenHint(err error, address string) error {
	var hint string
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "it is in use: stop the process that has it, or choose another"
		if _, port, err := net.SplitHostPort(address); err == nil {
			hint = fmt.Sprintf("it is in use: stop the process that has it (ss -ltnp sport = :%s), or choose another", port)
		}
	case errors.Is(err, syscall.EACCES):
		hint = "not permitted: ports below 1024 need root, CAP_NET_BIND_SERVICE or a systemd socket"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "this machine doesn't have that address"
	case errors.As(err, &dns):
		hint = "the name doesn't resolve"
	default:
		return err
	}
	return errors.New(hint)
}

// listenUnix opens a socket for its owner and group. One that a dead process has left is replaced; a live one isn't.
func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("can't listen on unix:%s: another process does: stop it, or choose another path", path)
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("can't listen on unix:%s: %w", path, errors.Unwrap(err))
	}
	if err := os.Chmod(path, 0o660); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("can't listen on unix:%s: %w", path, err)
	}
	return l, nil
}

// sockets are those that systemd has opened. They can be asked for once a process.
var sockets = sync.OnceValues(activation.ListenersWithNames)

func inherited(address, name string) (net.Listener, error) {
	all, err := sockets()
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s: %w", address, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("can't listen on %s: systemd has passed no socket: start the .socket unit, not the process itself", address)
	}
	if name == "" && len(all) > 1 {
		return nil, fmt.Errorf("can't listen on %s: systemd has passed several: say which, by its FileDescriptorName: systemd:NAME", address)
	}
	for n, listeners := range all {
		if n == name || name == "" {
			if len(listeners) != 1 {
				return nil, fmt.Errorf("can't listen on %s: %d sockets have that name", address, len(listeners))
			}
			return listeners[0], nil
		}
	}
	return nil, fmt.Errorf("can't listen on %s: systemd has passed no socket of that name", address)
}
