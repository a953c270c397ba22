package proof

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	return string(text)
}

// blocks returns the README's code blocks of a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```").FindAllStringSubmatch(readme(t), -1) {
		all = append(all, m[1])
	}
	require.NotEmpty(t, all, "the README has no %s block", language)
	return all
}

// given is what the README's programs have around them.
const given = `
	apiKey, userID, address string
	w http.ResponseWriter
	ctx context.Context
	tooManyRequests func(http.ResponseWriter, time.Duration)
	users, addresses ratelimit.Reversible
	filter *httplimit.Filter
`

var packages = map[string]string{
	"context": "context", "http": "net/http", "log": "log", "netip": "net/netip", "time": "time",
	"ratelimit":  "github.com/casgate/ratelimit",
	"httplimit":  "github.com/casgate/ratelimit/httplimit",
	"redislimit": "github.com/casgate/ratelimit/redislimit",
	"grpclimit":  "github.com/casgate/ratelimit/grpclimit",
	"grpc":       "google.golang.org/grpc",
}

func TestTheReadmesGoCompiles(t *testing.T) {
	for i, block := range blocks(t, "go") {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			body := "func _(" + strings.Join(strings.Split(strings.TrimSpace(given), "\n"), ",") + ") {\n" + block + "\n"
			file, err := parser.ParseFile(token.NewFileSet(), "README.go", "package p\n"+body+"}", 0)
			require.NoError(t, err, block)
			for name := range declared(file) {
				body += "\t_ = " + name + "\n"
			}
			source := "package proof\n"
			for name, path := range packages {
				if strings.Contains(body, name+".") {
					source += fmt.Sprintf("import %q\n", path)
				}
			}
			compile(t, source+body+"}\n")
		})
	}
}

// declared returns the names that the function declares at its top.
func declared(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, statement := range file.Decls[0].(*ast.FuncDecl).Body.List {
		if assign, ok := statement.(*ast.AssignStmt); ok && assign.Tok == token.DEFINE {
			for _, left := range assign.Lhs {
				names[left.(*ast.Ident).Name] = true
			}
		}
	}
	return names
}

// compile builds this package with source laid over it.
func compile(t *testing.T, source string) {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.Abs("readme_overlay.go")
	require.NoError(t, err)
	laid := filepath.Join(dir, "laid.go")
	require.NoError(t, os.WriteFile(laid, []byte(source), 0o600))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: laid}})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	out, err := exec.Command("go", "build", "-overlay", list, ".").CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, source)
}

func TestTheReadmesCommandsExist(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("[`\n]make ([a-z]+)").FindAllStringSubmatch(readme(t), -1) {
		assert.Contains(t, "\n"+string(makefile), "\n"+m[1]+":", "make %s", m[1])
	}
	help := exec.Command("go", "run", "./cmd/ratelimit", "--help")
	help.Dir = ".."
	said, err := help.CombinedOutput()
	require.NoError(t, err, "%s", said)
	named := regexp.MustCompile(`\./cmd/ratelimit ([a-z]+)`).FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		assert.Contains(t, string(said), "\n  "+m[1]+" ", "ratelimit %s", m[1])
	}
}

func TestTheReadmesRulesAreValid(t *testing.T) {
	for _, block := range blocks(t, "yaml") {
		file := filepath.Join(t.TempDir(), "rules.yaml")
		require.NoError(t, os.WriteFile(file, []byte(block), 0o600))
		validate := exec.Command("go", "run", "./cmd/ratelimit", "validate", file)
		validate.Dir = ".."
		said, err := validate.CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
}

func TestTheReadmesLinksLeadSomewhere(t *testing.T) {
	var gone []string
	for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(readme(t), -1) {
		if _, err := os.Stat(filepath.Join("..", m[1])); err != nil && !strings.Contains(m[1], "://") {
			gone = append(gone, m[1])
		}
	}
	slices.Sort(gone)
	assert.Empty(t, gone)
}
