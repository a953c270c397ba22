// Package interop shows the filter of httplimit at work in other people's frameworks, and holds it to what other
// people's clients and parsers read: Go's client over HTTP/1.1 and HTTP/2, curl, and a parser of structured fields.
//
// chi, and every router whose middleware is a func(http.Handler) http.Handler, takes Filter.Wrap as it is. Gin and Echo
// need the few lines that stand here; copy them.
package interop
