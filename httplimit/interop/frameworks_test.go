package interop

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

// frameworks route GET /items/{id} and GET /fail behind the filter. /fail answers 418.
var frameworks = map[string]func(f *httplimit.Filter) http.Handler{
	"net/http": func(f *httplimit.Filter) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("GET /items/{id}", f.Wrap(http.HandlerFunc(item)))
		mux.Handle("GET /fail", f.Wrap(http.HandlerFunc(fail)))
		return mux
	},
	"chi": func(f *httplimit.Filter) http.Handler {
		r := chi.NewRouter()
		r.With(f.Wrap).Get("/items/{id}", item)
		r.With(f.Wrap).Get("/fail", fail)
		return r
	},
	"chi, before the routing": func(f *httplimit.Filter) http.Handler {
		r := chi.NewRouter()
		r.Use(f.Wrap)
		r.Get("/items/{id}", item)
		r.Get("/fail", fail)
		return r
	},
	"gin": func(f *httplimit.Filter) http.Handler {
		gin.SetMode(gin.ReleaseMode)
		e := gin.New()
		e.Use(Gin(f))
		e.GET("/items/:id", func(c *gin.Context) { c.String(200, "item\n") })
		e.GET("/fail", func(c *gin.Context) { c.AbortWithStatusJSON(418, "fail") })
		return e
	},
	"echo": func(f *httplimit.Filter) http.Handler {
		e := echo.New()
		e.Use(Echo(f))
		e.GET("/items/:id", func(c echo.Context) error { return c.String(200, "item\n") })
		e.GET("/fail", func(c echo.Context) error { return echo.NewHTTPError(418, errors.New("fail")) })
		return e
	},
}

func item(w http.ResponseWriter, r *http.Request) { w.Write([]byte("item\n")) }
func fail(w http.ResponseWriter, r *http.Request) { w.WriteHeader(418) }

func newFilter(t testing.TB, rules ...httplimit.Rule) *httplimit.Filter {
	t.Helper()
	f, err := httplimit.New(httplimit.Config{Rules: rules, Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}}})
	require.NoError(t, err)
	return f
}

func send(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func TestFrameworks(t *testing.T) {
	for name, build := range frameworks {
		t.Run(name, func(t *testing.T) {
			h := build(newFilter(t, httplimit.Rule{Name: "api", Limit: ratelimit.PerMinute(2).Burst(2)}))
			for i, want := range []int{200, 200, 429, 429} {
				w := send(h, "/items/7")
				assert.Equal(t, want, w.Code, "request %d", i)
				assert.Equal(t, `"api";q=2;w=60`, w.Header().Get("RateLimit-Policy"))
				if want == 429 {
					assert.Equal(t, "30", w.Header().Get("Retry-After"))
					assert.Contains(t, w.Body.String(), "quota-exceeded")
					assert.NotContains(t, w.Body.String(), "item", "the handler isn't called")
				} else {
					assert.Equal(t, "item\n", w.Body.String())
				}
			}
		})
	}
}

// The pattern that the framework matched is one endpoint, whatever fills its wildcard.
func TestRoutesOfFrameworks(t *testing.T) {
	for name, build := range frameworks {
		if name == "chi, before the routing" {
			continue // no pattern is known there
		}
		t.Run(name, func(t *testing.T) {
			h := build(newFilter(t, httplimit.Rule{Limit: ratelimit.PerMinute(2).Burst(2), Key: httplimit.Route()}))
			var got []int
			for _, path := range []string{"/items/1", "/items/2", "/items/3", "/fail"} {
				got = append(got, send(h, path).Code)
			}
			assert.Equal(t, []int{200, 200, 429, 418}, got)
		})
	}
}

// A framework's way to answer is seen by a rule that refunds for it.
func TestRefundsInFrameworks(t *testing.T) {
	for name, build := range frameworks {
		t.Run(name, func(t *testing.T) {
			h := build(newFilter(t, httplimit.Rule{Limit: ratelimit.PerMinute(2).Burst(2), Refund: httplimit.OnFailure}))
			var got []int
			for _, path := range []string{"/fail", "/fail", "/fail", "/items/1", "/items/1", "/items/1"} {
				got = append(got, send(h, path).Code)
			}
			assert.Equal(t, []int{418, 418, 418, 200, 200, 429}, got)
		})
	}
}
