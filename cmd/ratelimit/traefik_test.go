package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// traefik stands in for Traefik, which can't be had as a package: it reads as much of its dynamic configuration as the
// recipe has, no less, and does what its documents say of ForwardAuth.
type traefik struct {
	HTTP struct {
		Middlewares map[string]struct {
			ForwardAuth struct {
				Address            string `yaml:"address"`
				TrustForwardHeader bool   `yaml:"trustForwardHeader"`
			} `yaml:"forwardAuth"`
		} `yaml:"middlewares"`
		Routers map[string]struct {
			Rule        string   `yaml:"rule"`
			Middlewares []string `yaml:"middlewares"`
			Service     string   `yaml:"service"`
		} `yaml:"routers"`
		Services map[string]struct {
			LoadBalancer struct {
				Servers []struct {
					URL string `yaml:"url"`
				} `yaml:"servers"`
			} `yaml:"loadBalancer"`
		} `yaml:"services"`
	} `yaml:"http"`
}

// newTraefik returns the handler that config describes: one router, with one middleware, before one server.
func newTraefik(t *testing.T, config string) http.Handler {
	t.Helper()
	var c traefik
	require.NoError(t, yaml.Load([]byte(config), &c, yaml.WithKnownFields()))
	require.Len(t, c.HTTP.Routers, 1)
	router := c.HTTP.Routers["app"]
	require.Equal(t, "PathPrefix(`/`)", router.Rule, "every request")
	require.Len(t, router.Middlewares, 1)
	require.Contains(t, c.HTTP.Middlewares, router.Middlewares[0])
	require.Contains(t, c.HTTP.Services, router.Service)
	servers := c.HTTP.Services[router.Service].LoadBalancer.Servers
	require.Len(t, servers, 1)
	app, err := url.Parse(servers[0].URL)
	require.NoError(t, err)
	auth := c.HTTP.Middlewares[router.Middlewares[0]].ForwardAuth
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(app) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := http.DefaultTransport.RoundTrip(question(r, auth.Address, auth.TrustForwardHeader))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer answer.Body.Close()
		if answer.StatusCode/100 == 2 {
			pass.ServeHTTP(w, r)
			return
		}
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	})
}

// question returns what Traefik asks at address about r: a GET with the header of r, in which it describes r.
func question(r *http.Request, address string, trust bool) *http.Request {
	q, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		panic(err)
	}
	q.Header = r.Header.Clone()
	q.Header.Del("Connection")
	q.Header.Del("Content-Length")
	peer, _, _ := net.SplitHostPort(r.RemoteAddr)
	if before := r.Header.Values("X-Forwarded-For"); trust && len(before) > 0 {
		peer = strings.Join(before, ", ") + ", " + peer
	}
	q.Header.Set("X-Forwarded-For", peer)
	for name, value := range map[string]string{
		"X-Forwarded-Method": r.Method, "X-Forwarded-Uri": r.URL.RequestURI(), "X-Forwarded-Host": r.Host, "X-Forwarded-Proto": "http",
	} {
		if !trust || r.Header.Get(name) == "" {
			q.Header.Set(name, value)
		}
	}
	return q
}

// serveOn answers on the port until the test ends.
func serveOn(t *testing.T, port string, h http.Handler) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	server := &http.Server{Handler: h}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
}

func TestTraefikAsks(t *testing.T) {
	url := askedBy(t, "traefik.yaml", func(listen, config string) { serveOn(t, listen, newTraefik(t, config)) })
	exercise(t, url, false)
}

// Behind another proxy, whose word has to be taken for the client's address, as the recipe says.
func TestTraefikAsksBehindAProxy(t *testing.T) {
	require.Contains(t, deployed(t, "traefik.yaml"), "Behind another proxy, set trustForwardHeader to true")
	for _, trust := range []bool{false, true} {
		url := askedBy(t, "traefik.yaml", func(listen, config string) {
			require.Contains(t, config, "trustForwardHeader: false")
			config = strings.Replace(config, "trustForwardHeader: false", fmt.Sprintf("trustForwardHeader: %v", trust), 1)
			serveOn(t, listen, newTraefik(t, config))
		})
		for range 5 {
			response, _ := get(t, url+"/page", "X-Forwarded-For", "192.0.2.1")
			require.Equal(t, 200, response.StatusCode)
		}
		response, _ := get(t, url+"/page", "X-Forwarded-For", "192.0.2.1")
		require.Equal(t, 429, response.StatusCode)
		response, _ = get(t, url+"/page", "X-Forwarded-For", "192.0.2.2")
		require.Equal(t, map[bool]int{false: 429, true: 200}[trust], response.StatusCode, "another client of the proxy")
	}
}
