package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/raygate/raygate/internal/testing/otlp"
)

// noTokens looks for tokens in all that people read, in the spans of their gateway, and in all files of the test, the product and the control plane but their
// logins.
func noTokens(t *testing.T, traces *otlp.Collector, people ...*person) {
	t.Helper()
	var tokens []string
	for _, p := range people {
		tokens = append(tokens, p.issued...)
	}
	slices.Sort(tokens)
	tokens = slices.Compact(tokens)
	if len(tokens) < 9 { // two logins and two renewals, two tokens each, and the robot's
		t.Errorf("only %d tokens were given", len(tokens))
	}
	has := func(text []byte) bool {
		return slices.ContainsFunc(tokens, func(token string) bool { return bytes.Contains(text, []byte(token)) })
	}
	var stores []string
	for _, p := range people {
		if has(p.said.Bytes()) {
			t.Error("a token is in the output of a program")
		}
		stores = append(stores, p.store())
	}
	spans := traces.Spans()
	for _, span := range spans {
		if has([]byte(span.String())) {
			t.Errorf("a token is in a span %s", span.GetName())
		}
	}
	if len(spans) == 0 {
		t.Error("there are no spans")
	}
	files, kept := 0, 0
	for _, root := range []string{filepath.Dir(t.TempDir()), filepath.Dir(product.gateway.Log), product.env.Dir} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // a program that ends removes its files
			}
			files++
			text, err := os.ReadFile(path)
			switch {
			case err != nil || !has(text):
			case slices.Contains(stores, filepath.Dir(path)):
				kept++
			default:
				t.Errorf("a token is in %s", path)
			}
			return nil //nolint:nilerr // as above
		})
		if err != nil {
			t.Error(err)
		}
	}
	if kept != 2 {
		t.Errorf("tokens are in %d stores, want 2: one of the three has logged out", kept)
	}
	t.Logf("looked for %d tokens in %d files and %d spans", len(tokens), files, len(spans))
}
