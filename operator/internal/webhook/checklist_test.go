package webhook

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The checklist must name tests that there are, and must not forget one that was written for it.
func TestChecklistNamesTests(t *testing.T) {
	const root = "../../.."
	page, err := os.ReadFile(filepath.Join(root, "docs", "admission-checklist.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)[`/]").FindAllStringSubmatch(string(page), -1) {
		named[m[1]] = true
	}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)\(`)
	there := map[string]bool{}
	for _, dir := range []string{"api", "operator", "pkg", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for _, m := range declaration.FindAllStringSubmatch(string(code), -1) {
				there[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range named {
		if !there[name] {
			t.Errorf("the page names %s, which is no test", name)
		}
	}
	forItem := regexp.MustCompile(`^TestBook[A-G]\d`)
	for name := range there {
		if forItem.MatchString(name) && !named[name] {
			t.Errorf("the page does not name %s", name)
		}
	}
}

// TestDoesNotLookUp: the verdict of a webhook depends on the request alone. A client here would be the first step away.
func TestDoesNotLookUp(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`"(k8s\.io/client-go[^"]*|sigs\.k8s\.io/controller-runtime/pkg/(client|cache|manager)[^"]*)"`).Find(code); m != nil && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s imports %s", file, m)
		}
	}
}
