package manifestfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/manifest"
)

// text is the source of a document. The items of a list share it, so that the list is parsed only once to locate all their problems.
type text struct {
	part
	locator *manifest.Locator // nil until something is looked for
}

func newText(p part) *text { return &text{part: p} }

// Position is the position in the file of a finding about a field of the object; the empty field is the object itself. A missing field has
// the position of the nearest object or list around it. Column is 0 if only the line is known: from the message of a YAML mistake, or as
// the first line of the document.
func (d Document) Position(field, message string) manifest.Position {
	if words := lineOf.FindString(message); words != "" {
		if n, err := strconv.Atoi(words[strings.LastIndexByte(words, ' ')+1:]); err == nil {
			return manifest.Position{Line: n}
		}
	}
	if d.text == nil || d.Unreadable {
		return manifest.Position{Line: d.Line}
	}
	if d.text.locator == nil {
		d.text.locator = manifest.NewLocator(d.text.text)
	}
	at, ok := d.text.locator.At(d.pathInFile(field))
	if !ok {
		return manifest.Position{Line: d.Line}
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
