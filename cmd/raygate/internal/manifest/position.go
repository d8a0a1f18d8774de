package manifest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/kubedoc"
)

// text is what a document was read from. The items of a list share it, so that a list is read once to find all that is wrong with them.
type text struct {
	part
	locator *kubedoc.Locator // nil until something is looked for
}

func newText(p part) *text { return &text{part: p} }

// Position is where in the file a finding about a field of the object stands, the empty field being the object itself. A field that is not there is at the
// nearest object or list around it. Column is 0 if only the line is known: from the words of a mistake in YAML, or as that on which the document begins.
func (d Document) Position(field, message string) kubedoc.Position {
	if words := lineOf.FindString(message); words != "" {
		if n, err := strconv.Atoi(words[strings.LastIndexByte(words, ' ')+1:]); err == nil {
			return kubedoc.Position{Line: n}
		}
	}
	if d.text == nil || d.Unreadable {
		return kubedoc.Position{Line: d.Line}
	}
	if d.text.locator == nil {
		d.text.locator = kubedoc.NewLocator(d.text.text)
	}
	at, ok := d.text.locator.At(d.pathInFile(field))
	if !ok {
		return kubedoc.Position{Line: d.Line}
	}
	if at.Line == 1 {
		at.Column += d.text.before
	}
	at.Line += d.text.line - 1
	return at
}

func (d Document) pathInFile(field string) string {
	if d.Item == 0 {
		return field
	}
	return strings.TrimSuffix(fmt.Sprintf("items[%d].%s", d.Item-1, field), ".")
}
