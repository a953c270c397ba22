package interop

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/casgate/ratelimit/httplimit"
)

// Echo returns the filter as a middleware of Echo. The key Route is the route's path, as in "/items/:id". An error of the
// handler is answered within, so that a rule can refund by the status that it becomes.
func Echo(f *httplimit.Filter) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			r.Pattern = c.Path()
			f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.SetRequest(r)
				c.SetResponse(echo.NewResponse(w, c.Echo()))
				if err := next(c); err != nil {
					c.Error(err)
				}
			})).ServeHTTP(c.Response(), r)
			return nil
		}
	}
}
