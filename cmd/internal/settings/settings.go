// Package settings reads rule files: YAML (of which JSON is a part) that says what is limited, in the words of package
// rules, and in its section server how the command serves. Every mistake is told with its line.
package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/casgate/ratelimit/cmd/internal/server"
	"github.com/casgate/ratelimit/cmd/internal/upstream"
	"github.com/casgate/ratelimit/rules"
)

// File is what a rule file says.
type File struct {
	rules.Spec `yaml:",inline"`
	Server     Server `yaml:"server,omitempty"`

	// Warnings are what is valid and probably not meant, with lines; see rules.Set.Warnings.
	Warnings []rules.Problem `yaml:"-"`
}

// Server is how the command serves. A flag of the same name wins over a field. All but Upstreams needs a restart to
// change.
type Server struct {
	// Listen are the addresses: host:port, unix:/path/to.sock, systemd:NAME.
	Listen rules.List `yaml:"listen"`
	// Admin is the address of the status page, /metrics and /readyz; "off" for none.
	Admin string `yaml:"admin"`
	// AdminTokenFile holds the token that the admin address wants. Without one it must be on loopback.
	AdminTokenFile string `yaml:"admin_token_file"`
	// TLS encrypts the connections to Listen, if it is set.
	TLS *TLS `yaml:"tls"`
	// Upstreams are the servers behind the proxy. None: the built-in echo.
	Upstreams []upstream.Target `yaml:"upstreams"`
	// See server.Config.
	ReadHeader time.Duration `yaml:"read_header_timeout"`
	Idle       time.Duration `yaml:"idle_timeout"`
	Drain      time.Duration `yaml:"drain"`
	Grace      time.Duration `yaml:"grace"`
	// Redis is how the servers that rules name as their store are asked.
	Redis Redis `yaml:"redis"`
	// MaxKeys bounds the clients that each limit remembers; 0: DefaultMaxKeys.
	MaxKeys int `yaml:"max_keys"`
}

// TLS names the PEM files of a certificate (with its intermediates) and its key.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// Redis is how servers are asked; see redislimit.Config for each field.
type Redis struct {
	Mode       string        `yaml:"mode"`     // strict, the default, deny_cache or lease
	OnError    string        `yaml:"on_error"` // local, the default, open or closed
	Budget     time.Duration `yaml:"budget"`
	Servers    int           `yaml:"servers"`
	Prefix     string        `yaml:"prefix"`
	SecretFile string        `yaml:"secret_file"` // what clients' keys are hashed with, the same on all servers
}

// DefaultMaxKeys is the bound on the clients of each limit, some 40 MB of them: clients often choose their keys, so no
// bound at all isn't on offer.
const DefaultMaxKeys = 1 << 20

// AdminOff as an address means that there is none.
const AdminOff = "off"

// ErrServer marks a mistake in the section server.
var ErrServer = errors.New("settings: server")

// Read reads a rule file. The error is a *rules.Error with every mistake and its line, or that of the file system.
func Read(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Parse reads the text of a rule file. The error is a *rules.Error.
func Parse(text []byte) (*File, error) {
	tree, err := parseTree(text)
	if err != nil {
		return nil, err
	}
	file := &File{}
	problems := tree.decode(file)
	problems = append(problems, file.Server.check()...)
	var broken *rules.Error
	set, err := rules.Compile(file.Spec)
	if errors.As(err, &broken) {
		problems = append(problems, tree.unseen(file, problems, broken.Problems)...)
	} else if err != nil {
		return nil, err
	} else if len(problems) == 0 {
		problems = CheckStores(file.Spec, set)
	}
	if len(problems) == 0 {
		file.Warnings = tree.located(set.Warnings()).Problems
		return file, nil
	}
	return nil, tree.located(problems)
}

// located returns the problems with their lines, in the order of these.
func (t *tree) located(problems []rules.Problem) *rules.Error {
	all := (&rules.Error{Problems: problems}).Locate(t.line)
	for i := range all.Problems {
		all.Problems[i].Line = max(all.Problems[i].Line, 1) // the file as a whole
	}
	slices.SortStableFunc(all.Problems, func(a, b rules.Problem) int { return a.Line - b.Line })
	return all
}

// check returns what is wrong with s.
func (s *Server) check() []rules.Problem {
	var problems []rules.Problem
	bad := func(path, format string, args ...any) {
		problems = append(problems, rules.Problem{Path: "server." + path, Kind: ErrServer, Text: fmt.Sprintf(format, args...)})
	}
	for i, address := range s.Listen {
		if err := server.CheckAddress(address); err != nil {
			bad(fmt.Sprintf("listen[%d]", i), "%v", err)
		}
	}
	if s.Admin != "" && s.Admin != AdminOff {
		if err := server.CheckAddress(s.Admin); err != nil {
			bad("admin", "%v, or off", err)
		}
	}
	if s.AdminTokenFile != "" {
		if _, err := ReadToken(s.AdminTokenFile); err != nil {
			bad("admin_token_file", "%v", err)
		}
	}
	if s.TLS != nil {
		if s.TLS.Cert == "" || s.TLS.Key == "" {
			bad("tls", "needs both cert and key")
		} else if _, err := server.LoadCertificate(s.TLS.Cert, s.TLS.Key); err != nil {
			bad("tls", "%v", err)
		}
	}
	claimed := map[string]int{}
	for i, target := range s.Upstreams {
		if first, ok := claimed[target.Claim()]; ok {
			bad(fmt.Sprintf("upstreams[%d]", i), "gets no request: upstreams[%d] has the same host and path, and gets them all", first)
		} else {
			claimed[target.Claim()] = i
		}
		for _, err := range target.Check() {
			var field *upstream.FieldError
			if errors.As(err, &field) {
				bad(fmt.Sprintf("upstreams[%d].%s", i, field.Field), "%v", field.Err)
			}
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"read_header_timeout", s.ReadHeader}, {"idle_timeout", s.Idle}, {"drain", s.Drain}, {"grace", s.Grace}} {
		if d.value < 0 {
			bad(d.field, "%v: must not be negative", d.value)
		}
	}
	if _, _, err := s.Redis.Config(); err != nil {
		var field *fieldError
		errors.As(err, &field)
		bad("redis."+field.name, "%v", field.err)
	}
	if s.MaxKeys < 0 {
		bad("max_keys", "%d: must be at least 1, or 0 for %d", s.MaxKeys, DefaultMaxKeys)
	}
	return problems
}
