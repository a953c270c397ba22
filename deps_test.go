package ratelimit_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/casgate/ratelimit"

// layer is a row of the import table: the folders of this repository and the modules of others that the packages of
// one folder may import, and what their tests may import beside that. "." is the root package, "*" is everything.
type layer struct {
	may, others           []string
	testsMay, testsOthers []string
}

// importTable says who may import whom. A folder stands for all folders below it that have no row of their own. What
// no nested module holds is the root's, which needs nothing but xxhash.
var importTable = map[string]layer{
	"atomicbucket": {testsMay: []string{"limittest"}, testsOthers: []string{"testify"}},
	"window":       {testsMay: []string{"limittest"}, testsOthers: []string{"testify"}},
	"shard":        {others: []string{"xxhash"}, testsMay: []string{"atomicbucket"}, testsOthers: []string{"testify"}},
	".": {may: []string{"atomicbucket", "window", "shard"}, others: []string{"xxhash"},
		testsMay: []string{"limittest"}, testsOthers: []string{"testify"}},
	"limittest": {may: []string{"."}, testsOthers: []string{"testify"}},
	"rules":     {may: []string{"."}, testsMay: []string{"limittest"}, testsOthers: []string{"testify"}},
	"httplimit": {may: []string{".", "rules"}, testsMay: []string{"limittest"}, testsOthers: []string{"testify"}},
	"bench":     {may: []string{".", "limittest"}, others: []string{"xxhash"}, testsMay: []string{"*"}, testsOthers: []string{"testify"}},
	// Nested modules: what they require is for their go.mod to say.
	"cmd":               {may: []string{"*"}, others: []string{"*"}},
	"redislimit":        {may: []string{".", "rules"}, others: []string{"*"}, testsMay: []string{"*"}},
	"bench/compare":     {may: []string{"*"}, others: []string{"*"}},
	"httplimit/interop": {may: []string{".", "rules", "httplimit"}, others: []string{"*"}, testsMay: []string{"*"}},
	"proof":             {may: []string{"."}, others: []string{"*"}, testsMay: []string{"limittest"}},
	"promlimit":         {may: []string{".", "rules", "httplimit"}, others: []string{"*"}, testsMay: []string{"*"}},
	"grpclimit":         {may: []string{".", "rules", "httplimit"}, others: []string{"*"}, testsMay: []string{"*"}},
}

// shortNames are the modules of others that the table names.
var shortNames = map[string]string{
	"github.com/cespare/xxhash/v2": "xxhash",
	"github.com/stretchr/testify":  "testify",
}

// source is one Go file of the repository.
type source struct {
	path   string // slashes, from the root
	dir    string
	test   bool
	syntax *ast.File
	fset   *token.FileSet
}

// sources parses every Go file of every module of the repository.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if base := path.Base(name); name != "." && (base == "testdata" || base[0] == '.' || base[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		all = append(all, source{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), file, fset})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d Go files: the walk has missed the tree", len(all))
	}
	return all
}

// imports returns the import paths of s, each with the name it goes by in the file.
func (s source) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range s.syntax.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[p] = name
	}
	return names
}

// uses calls visit for each use of a name of the imported package p.
func (s source) uses(p string, visit func(name string, at token.Position)) {
	local, ok := s.imports()[p]
	if !ok {
		return
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				visit(sel.Sel.Name, s.fset.Position(sel.Pos()))
			}
		}
		return true
	})
}

// row returns the row of the import table that holds for dir.
func row(dir string) (layer, bool) {
	for at := dir; at != "."; at = path.Dir(at) {
		if l, ok := importTable[at]; ok {
			return l, true
		}
	}
	return importTable["."], dir == "."
}

// within reports whether dir is one of the folders, or below one; "." holds the root package alone.
func within(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return f == "*" || f == dir || strings.HasPrefix(dir, f+"/")
	})
}

func TestImportTable(t *testing.T) {
	for _, s := range sources(t) {
		l, ok := row(s.dir)
		if !ok {
			t.Errorf("%s: the folder is not in the import table", s.path)
			continue
		}
		may, others := l.may, l.others
		if s.test {
			may = append(slices.Clone(may), l.testsMay...)
			others = append(slices.Clone(others), l.testsOthers...)
		}
		for p := range s.imports() {
			if p == modulePath || strings.HasPrefix(p, modulePath+"/") {
				dir := strings.TrimPrefix(strings.TrimPrefix(p, modulePath), "/")
				if dir == "" {
					dir = "."
				}
				own := dir == s.dir || dir != "." && strings.HasPrefix(s.dir+"/", dir+"/") || strings.HasPrefix(dir, s.dir+"/internal/")
				if !own && !within(dir, may) {
					t.Errorf("%s imports %s: not in the import table", s.path, p)
				}
				continue
			}
			if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") && !slices.Contains(others, "*") {
				if !slices.ContainsFunc(others, func(short string) bool { return shortOf(p) == short }) {
					t.Errorf("%s imports %s: not in the import table", s.path, p)
				}
			}
		}
	}
}

// shortOf returns the table's name for the module of the import path p, or p.
func shortOf(p string) string {
	for module, short := range shortNames {
		if p == module || strings.HasPrefix(p, module+"/") {
			return short
		}
	}
	return p
}

// Time is an input: only clock.go asks the machine for it, and only there do Since and Until, which ask too, stand.
func TestOnlyTheClockTellsTheTime(t *testing.T) {
	asks := []string{"Now", "Since", "Until"}
	for _, s := range sources(t) {
		if s.path == "clock.go" {
			continue
		}
		s.uses("time", func(name string, at token.Position) {
			if slices.Contains(asks, name) {
				t.Errorf("%v: time.%s outside clock.go", at, name)
			}
			if name == "Sleep" && s.test {
				t.Errorf("%v: a test sleeps", at)
			}
		})
	}
}

// The filter works with whatever the factory gives it, a limiter over the network included.
func TestFilterNamesNoConcreteLimiter(t *testing.T) {
	all := sources(t)
	concrete := map[string]bool{}
	for _, s := range all {
		if s.dir != "." || s.test {
			continue
		}
		for _, decl := range s.syntax.Decls {
			types, ok := decl.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				spec := spec.(*ast.TypeSpec)
				if _, isInterface := spec.Type.(*ast.InterfaceType); !isInterface && strings.HasSuffix(spec.Name.Name, "Limiter") {
					concrete[spec.Name.Name] = true
				}
			}
		}
	}
	if !concrete["TokenBucketLimiter"] {
		t.Fatalf("the concrete limiters weren't found: %v", concrete)
	}
	for _, s := range all {
		if s.dir == "httplimit" || strings.HasPrefix(s.dir, "httplimit/") {
			s.uses(modulePath, func(name string, at token.Position) {
				if concrete[name] {
					t.Errorf("%v: httplimit names %s", at, name)
				}
			})
		}
	}
}

func TestFilesAreSmallAndPackagesAreNamed(t *testing.T) {
	const most = 600 // lines; above 500 a file holds two ideas
	nameless := []string{"util", "utils", "common", "types", "helper", "helpers", "misc"}
	for _, s := range sources(t) {
		text, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > most {
			t.Errorf("%s has %d lines, more than %d", s.path, lines, most)
		}
		if slices.Contains(nameless, strings.TrimSuffix(s.syntax.Name.Name, "_test")) {
			t.Errorf("%s: package %s says nothing about what it is", s.path, s.syntax.Name.Name)
		}
	}
}

// A go.mod with a replace can't be installed by `go install path@version`.
func TestModulesThatAreInstalledReplaceNothing(t *testing.T) {
	for _, dir := range []string{".", "cmd", "redislimit", "promlimit", "grpclimit"} {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "replace") {
				t.Errorf("%s/go.mod: %s", dir, strings.TrimSpace(line))
			}
		}
	}
}
