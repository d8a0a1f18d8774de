package codec

import (
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// maxViolations bounds the reply to a hopeless document.
const maxViolations = 100

// Violation is one mistake in a document.
type Violation struct {
	// Path of the value, such as spec.workerGroupSpecs[1].minReplicas or metadata.labels[team]; empty for the document itself.
	Path string
	// Message says what is wrong, and what would be right when that can be known.
	Message string
	// Reason is a stable word, one of those in package mistake.
	Reason string
}

// Error holds every mistake found in a document, in the order of the document; at most 100 of them.
type Error struct {
	Violations []Violation
}

// Error joins the violations to one line.
func (e *Error) Error() string {
	var b strings.Builder
	for i, v := range e.Violations {
		if i > 0 {
			b.WriteString("; ")
		}
		if v.Path != "" {
			b.WriteString(v.Path + ": ")
		}
		b.WriteString(v.Message)
	}
	return b.String()
}

// path is a list from the value up to the document; rendered only when there is something to say. Its parts stay on the stack of the functions that
// walk the document.
type path struct {
	parent *path
	name   string
	index  int // of a list, when name is empty and not isKey
	isKey  bool
}

func (p *path) child(name string) path { return path{parent: p, name: name} }
func (p *path) key(name string) path   { return path{parent: p, name: name, isKey: true} }
func (p *path) item(i int) path        { return path{parent: p, index: i} }

// member is child, but for a name that is no identifier and so likely the key of a map.
func (p *path) member(name string) path {
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return p.key(name)
		}
	}
	return path{parent: p, name: name, isKey: name == ""}
}

func (p *path) String() string {
	if p == nil {
		return ""
	}
	parent := p.parent.String()
	name := mistake.Short(p.name)
	switch {
	case p.isKey:
		return parent + "[" + name + "]"
	case p.name == "":
		return parent + "[" + strconv.Itoa(p.index) + "]"
	case parent == "":
		return name
	default:
		return parent + "." + name
	}
}

type problems struct {
	list []Violation
}

// full reports whether what is found from now on will not be reported, so that there is no use in finding words for it.
func (p *problems) full() bool { return len(p.list) >= maxViolations }

func (p *problems) add(at *path, reason, message string) {
	if !p.full() {
		p.list = append(p.list, Violation{Path: at.String(), Message: message, Reason: reason})
	}
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &Error{Violations: p.list}
}
