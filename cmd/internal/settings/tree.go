package settings

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/casgate/ratelimit/rules"
)

// tree is a file's syntax, and where in it things are.
type tree struct {
	root     *yaml.Node
	lines    map[string]int // by path, "rules[2].limit"
	paths    map[place]string
	problems []rules.Problem
	budget   int // nodes that may still be walked
}

// The bounds of the walk. A file of ten thousand rules has a quarter of a million nodes, ten deep; a few aliases of
// aliases stand for billions, and one of itself for no end of them.
const (
	maxNodes = 1 << 19
	maxDepth = 32
)

// place is where a node starts.
type place struct{ line, column int }

// parseTree parses one YAML document whose top is a mapping.
func parseTree(text []byte) (*tree, error) {
	fail := func(line int, format string, args ...any) (*tree, error) {
		return nil, &rules.Error{Problems: []rules.Problem{{Line: line, Kind: rules.ErrSyntax, Text: fmt.Sprintf(format, args...)}}}
	}
	if line := invalidLine(text); line > 0 {
		return fail(line, "is not UTF-8 text")
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var document, second yaml.Node
	if err := loader.Load(&document); err == io.EOF {
		return fail(1, "the file is empty: it needs rules at least")
	} else if err != nil {
		return nil, &rules.Error{Problems: loadProblems(err, rules.ErrSyntax, nil)}
	}
	if err := loader.Load(&second); err != io.EOF {
		return fail(max(second.Line, 1), "a second document starts here: a rule file is one")
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return fail(1, "the file must be a mapping, with rules at least")
	}
	t := &tree{root: document.Content[0], lines: map[string]int{}, paths: map[place]string{}, budget: maxNodes}
	t.walk("", t.root, 0)
	return t, nil
}

// invalidLine returns the first line that isn't UTF-8; 0 if all are.
func invalidLine(text []byte) int {
	line := 1
	for l := range bytes.Lines(text) {
		if !utf8.Valid(l) {
			return line
		}
		line++
	}
	return 0
}

// walk notes where n and all below it are, and takes duplicate fields out.
func (t *tree) walk(path string, n *yaml.Node, depth int) {
	if t.budget--; t.budget < 0 || depth > maxDepth || n == nil {
		return
	}
	t.note(path, n)
	switch n.Kind {
	case yaml.AliasNode:
		t.walk(path, n.Alias, depth+1)
	case yaml.SequenceNode:
		for i, item := range n.Content {
			t.walk(path+"["+strconv.Itoa(i)+"]", item, depth+1)
		}
	case yaml.MappingNode:
		first := map[string]int{}
		kept := n.Content[:0]
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, value := n.Content[i], n.Content[i+1]
			if name.Value == "<<" { // what it brings in is read as if it stood here
				kept = append(kept, name, value)
				t.walk(path, value, depth+1)
				continue
			}
			at := strings.TrimPrefix(path+"."+name.Value, ".")
			if line, ok := first[name.Value]; ok {
				// Decoding would drop the whole mapping, and number the list that it is in anew.
				t.problems = append(t.problems, rules.Problem{Path: at, Line: name.Line, Kind: rules.ErrDuplicate,
					Text: fmt.Sprintf("stands on line %d already", line)})
				continue
			}
			first[name.Value] = name.Line
			kept = append(kept, name, value)
			t.note(at, name)
			t.walk(at, value, depth+1)
		}
		n.Content = kept
	}
}

// note keeps the first place of a path, and the first path of a place; where a mapping starts its first field does, too,
// and is meant.
func (t *tree) note(path string, n *yaml.Node) {
	if _, ok := t.lines[path]; !ok {
		t.lines[path] = n.Line
	}
	at := place{n.Line, n.Column}
	if first, ok := t.paths[at]; !ok || strings.HasPrefix(path, first) {
		t.paths[at] = path
	}
}

// decode fills file, and returns all that is wrong with the tree so far.
func (t *tree) decode(file *File) []rules.Problem {
	if err := t.root.Load(file, yaml.WithKnownFields()); err != nil {
		return append(t.problems, loadProblems(err, rules.ErrType, t.paths)...)
	}
	return t.problems
}

// unseen returns those of more that aren't a consequence of those seen: what couldn't be read is missing, too.
func (t *tree) unseen(file *File, seen, more []rules.Problem) []rules.Problem {
	dropped := len(file.Rules) != t.length("rules")
	lines := map[int]bool{}
	for _, p := range seen {
		lines[p.Line] = true
	}
	var unseen []rules.Problem
	for _, p := range (&rules.Error{Problems: more}).Locate(t.line).Problems {
		if lines[p.Line] || dropped && strings.HasPrefix(p.Path, "rules") {
			continue // if a rule couldn't be read at all, the numbers of those behind it are off
		}
		unseen = append(unseen, p)
	}
	return unseen
}

// length returns how many items the list of that name at the top has.
func (t *tree) length(name string) int {
	for i := 0; i+1 < len(t.root.Content); i += 2 {
		if t.root.Content[i].Value == name {
			return len(t.root.Content[i+1].Content)
		}
	}
	return 0
}

// line returns the line of a path; 0 if the file doesn't have it.
func (t *tree) line(path string) int { return t.lines[path] }
