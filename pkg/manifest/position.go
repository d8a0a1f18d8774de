package manifest

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/raygate/raygate/pkg/manifest/problem"
)

// Position is a place in a text. Line and Column count from 1; columns are characters.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// maxLocated bounds the paths of one call. Decode reports no more mistakes.
const maxLocated = maxMistakes

// Locate finds the positions of paths in a document, like a [Locator]. It is for untrusted documents: it reads no more values than Read,
// and ignores paths after the first 100. The map is empty for a document that cannot be read; it is never nil.
func Locate(data []byte, paths []string) map[string]Position {
	found := map[string]Position{}
	l := locator(data, MaxValues)
	for _, path := range paths[:min(len(paths), maxLocated)] {
		if at, ok := l.At(path); ok {
			found[path] = at
		}
	}
	return found
}

// Locator finds the positions of paths in one document of YAML, or of JSON, which it reads as YAML. Paths have the form of the mistakes of
// this package and of the rules of package validation.
type Locator struct {
	root *yaml.Node // nil if the document cannot be read
}

// NewLocator reads a trusted file with any number of values. For a document that cannot be read, the Locator finds nothing.
func NewLocator(data []byte) *Locator { return locator(data, max(MaxValues, len(data))) }

func locator(data []byte, maxValues int) *Locator {
	if json.Valid(data) {
		data = escapes.ReplaceAllFunc(data, escapeOfYAML)
	}
	return &Locator{root: (&reader{data: data, maxValues: maxValues}).documentOf()}
}

var (
	escapes   = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)
	surrogate = regexp.MustCompile(`^\\u[dD][89a-fA-F]`)
)

// escapeOfYAML replaces a JSON escape that YAML lacks with text of the same length: \/, and the halves of a surrogate pair.
func escapeOfYAML(escape []byte) []byte {
	switch {
	case string(escape) == `\/`:
		return []byte("//")
	case surrogate.Match(escape):
		return []byte(`\u0041`)
	}
	return escape
}

// At finds a path. The position of a member is its key, and that of a list item its first character. Values from an alias or a merge have
// the position where they are written. A path that the document lacks, such as one of a required field, has the position of the nearest
// object or list around it. At returns false if the document cannot be read.
func (l *Locator) At(path string) (Position, bool) {
	if l.root == nil {
		return Position{}, false
	}
	at := nodeAt(l.root, path)
	if at == nil {
		return Position{}, false
	}
	return Position{Line: at.Line, Column: at.Column}, true
}

// nodeAt follows a path as far as the document has it.
func nodeAt(root *yaml.Node, rest string) *yaml.Node {
	at, value := root, root
	for depth := 0; rest != "" && depth <= MaxDepth; depth++ {
		key, child, left, ok := step(value, rest, 0)
		if !ok {
			break
		}
		at, value, rest = key, child, left
	}
	return resolved(at)
}

// step finds the child of n at which a path begins, and the rest of the path after it. key is the start of the child.
func step(n *yaml.Node, path string, depth int) (key, value *yaml.Node, left string, ok bool) {
	if n = resolved(n); n == nil || depth > MaxDepth {
		return nil, nil, "", false
	}
	switch n.Kind {
	case yaml.SequenceNode:
		number, left, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(number); ok && err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i], strings.TrimPrefix(left, "."), true
		}
	case yaml.MappingNode:
		return member(n, path, depth)
	}
	return nil, nil, "", false
}

// member is step for a mapping: its own members come before merged ones, as in Read.
func member(n *yaml.Node, path string, depth int) (key, value *yaml.Node, left string, ok bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if left, ok := behindName(path, resolved(key).Value); ok && !isMerge(key) {
			return key, value, left, true
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		sources := []*yaml.Node{n.Content[i+1]}
		if list := resolved(n.Content[i+1]); list != nil && list.Kind == yaml.SequenceNode {
			sources = list.Content
		}
		for _, source := range sources {
			if key, value, left, ok := step(source, path, depth+1); ok {
				return key, value, left, true
			}
		}
	}
	return nil, nil, "", false
}

// behindName removes a member from a path: a field of a struct is written with a dot, the key of a map in brackets.
func behindName(path, name string) (string, bool) {
	if left, ok := behind(path, name); ok && name != "" {
		return left, true
	}
	return behind(path, "["+problem.Short(name)+"]")
}

// behind removes one element from a path.
func behind(path, element string) (string, bool) {
	left, ok := strings.CutPrefix(path, element)
	if !ok || left != "" && left[0] != '.' && left[0] != '[' {
		return "", false
	}
	return strings.TrimPrefix(left, "."), true
}

// resolved returns the node that a document or an alias refers to.
func resolved(n *yaml.Node) *yaml.Node {
	for n != nil && (n.Kind == yaml.AliasNode || n.Kind == yaml.DocumentNode) {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
			continue
		}
		n = n.Content[0]
	}
	return n
}
