// Package accesslog reads the access logs of web servers: the common and the combined format, as nginx and Apache write
// them, and JSON with the field names of nginx, Caddy and Traefik; compressed by gzip or zstd, or not. A line that can't
// be read is counted and left out, and the log goes on.
//
// Lines come in the order of time. Servers write a line when its request ends, so neighbours may be swapped: a line waits
// until the log is a window past it. Several files are merged by time.
//
// Reading costs no allocation per line, and memory that depends on the window but not on the log's length.
package accesslog

import (
	"time"
	"unsafe"
)

// Entry is one line: a request that a client made. Its texts are views into a buffer, valid until the next call of
// Log.Next.
type Entry struct {
	Time   int64  // Unix ns
	Client string // the address, or what the server wrote instead; empty: unknown
	User   string // empty: unknown, as all that follow but Method and Target
	Method string
	Target string // as the request line had it: path and query
	Host   string
	Agent  string
	Refer  string
	// Forwarded is X-Forwarded-For.
	Forwarded string
	Status    int // 0: unknown
	// Fields are further fields of the request's header that the log tells of, by their canonical names.
	Fields []Field
}

// Field is a field of a request's header.
type Field struct{ Name, Value string }

// When returns the entry's time.
func (e *Entry) When() time.Time { return time.Unix(0, e.Time).UTC() }

// span is a part of a line: [from, to).
type span struct{ from, to uint32 }

func (s span) empty() bool { return s.from == s.to }

// record is a parsed line: where its parts stand in it.
type record struct {
	time      int64
	status    int32
	client    span
	user      span
	method    span
	target    span
	host      span
	agent     span
	refer     span
	forwarded span
	fields    []fieldSpan
}

type fieldSpan struct{ name, value span }

// view returns the part of line that s is, as a string that shares its memory.
func view(line []byte, s span) string {
	part := line[s.from:s.to]
	return unsafe.String(unsafe.SliceData(part), len(part))
}

// entry makes e what r says of line.
func (r *record) entry(line []byte, e *Entry) {
	fields := e.Fields[:0]
	for _, f := range r.fields {
		fields = append(fields, Field{view(line, f.name), view(line, f.value)})
	}
	*e = Entry{
		Time: r.time, Status: int(r.status), Fields: fields,
		Client: view(line, r.client), User: view(line, r.user),
		Method: view(line, r.method), Target: view(line, r.target), Host: view(line, r.host),
		Agent: view(line, r.agent), Refer: view(line, r.refer), Forwarded: view(line, r.forwarded),
	}
}
