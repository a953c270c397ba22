package interop

import (
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/casgate/ratelimit/httplimit"
)

// Gin returns the filter as a middleware of Gin. The key Route is the route's path, as in "/items/:id".
func Gin(f *httplimit.Filter) gin.HandlerFunc {
	return func(c *gin.Context) {
		passed := false
		c.Request.Pattern = c.FullPath()
		before := c.Writer
		f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			passed = true
			c.Request, c.Writer = r, ginWriter{before, w}
			c.Next()
		})).ServeHTTP(before, c.Request)
		c.Writer = before
		if !passed {
			c.Abort()
		}
	}
}

// ginWriter is Gin's writer with the filter's before it, which sees the status that a rule may refund for.
type ginWriter struct {
	gin.ResponseWriter
	w http.ResponseWriter
}

func (w ginWriter) WriteHeader(status int)                { w.w.WriteHeader(status) }
func (w ginWriter) Write(p []byte) (int, error)           { return w.w.Write(p) }
func (w ginWriter) WriteString(s string) (n int, e error) { return io.WriteString(w.w, s) }
func (w ginWriter) Unwrap() http.ResponseWriter           { return w.w }
