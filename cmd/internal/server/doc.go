// Package server opens addresses, serves HTTP on them, and ends without cutting a request.
//
// http.Server.Shutdown alone cuts some: it drops a request that it has just read, and closes an idle connection on which
// the next may be under way. So Stop closes the listeners itself, and then answers whatever still comes on the open
// connections, telling each client to close (a GOAWAY over HTTP/2), until no request is under way and each connection
// has had half a second to send one more. Only then comes Shutdown. What remains is what HTTP/1 can't help: a client
// that was silent for that long and speaks at the very moment, and connections that the kernel has completed and the
// process not yet accepted (a systemd socket keeps even those, for the next process).
package server
