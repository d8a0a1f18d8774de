package manifestfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raygate/raygate/pkg/manifest"
)

func TestPosition(t *testing.T) {
	const several = "# what it is for\nkind: A\nspec: {a: 1}\n---\n\n# the second\nkind: B\nspec:\n  b: [x, y]\n--- {kind: C, spec: {c: 1}}\n"
	const list = "kind: List\nitems:\n- kind: A\n  spec:\n    a: 1\n- kind: B\n"
	const json = "{\n\t\"kind\": \"A\",\n\t\"spec\": {\"a\": \"\\ud83d\\ude00\", \"b\": 1}\n}\n"
	for _, tc := range []struct {
		text     string
		document int // of those that Documents returns
		field    string
		message  string
		want     manifest.Position
	}{
		{several, 0, "spec.a", "", manifest.Position{Line: 3, Column: 8}},
		{several, 0, "", "", manifest.Position{Line: 2, Column: 1}},
		{several, 1, "spec.b[1]", "", manifest.Position{Line: 9, Column: 10}},
		{several, 1, "spec.c.d", "", manifest.Position{Line: 8, Column: 1}},
		{several, 1, "spec", "line 9: the key is there twice", manifest.Position{Line: 9}},
		{several, 2, "spec.c", "", manifest.Position{Line: 10, Column: 22}},
		{list, 0, "spec.a", "", manifest.Position{Line: 5, Column: 5}},
		{list, 1, "spec.a", "", manifest.Position{Line: 6, Column: 3}},
		{list, 1, "", "", manifest.Position{Line: 6, Column: 3}},
		{json, 0, "spec.b", "", manifest.Position{Line: 3, Column: 32}},
		{strings.ReplaceAll(several, "\n", "\r\n"), 1, "spec.b[1]", "", manifest.Position{Line: 9, Column: 10}},
		{"kind: A\n---\n\na: [", 1, "", "", manifest.Position{Line: 4}},
	} {
		t.Run(fmt.Sprintf("%.8q %d %s", tc.text, tc.document, tc.field), func(t *testing.T) {
			documents := Documents(Source{Name: Stdin, Data: []byte(tc.text)})
			if got := documents[tc.document].Position(tc.field, tc.message); got != tc.want {
				t.Errorf("position %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestPositionsOfAListReadItOnce: all objects of a cluster in one list, with a finding each, are read once and not once for each.
func TestPositionsOfAListReadItOnce(t *testing.T) {
	documents := Documents(Source{Data: []byte("kind: List\nitems:\n" + strings.Repeat("- kind: A\n  spec: {a: 1}\n", 1000))})
	documents[0].Position("spec", "")
	first := documents[0].text.locator
	for _, d := range documents {
		d.Position("spec", "")
		if d.text.locator != first {
			t.Fatal("the text is read again for another item")
		}
	}
}
