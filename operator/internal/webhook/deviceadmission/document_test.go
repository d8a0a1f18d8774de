package deviceadmission_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentNamesTests: the tests that docs/device-admission.md names exist, and each acceptance test from D1 to D37 is one whose name has its number.
func TestDocumentNamesTests(t *testing.T) {
	const root = "../../../.."
	there, numbers := map[string]bool{}, map[string]bool{}
	declaration, number := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`), regexp.MustCompile(`D\d+`)
	for _, dir := range []string{"pkg/devices", "operator/internal/devicequota", "operator/internal/webhook/deviceadmission", "operator/cmd/manager", "operator/config"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for _, m := range declaration.FindAllStringSubmatch(string(code), -1) {
				there[m[1]] = true
				if dir == "operator/cmd/manager" && !strings.Contains(path, "devices") {
					continue
				}
				for _, n := range number.FindAllString(m[1], -1) {
					numbers[n] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/device-admission.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark)\\w+)`").FindAllStringSubmatch(string(page), -1) {
		if !there[m[1]] {
			t.Errorf("the page names %s, which is no test", m[1])
		}
	}
	for i := range 37 {
		if n := fmt.Sprint("D", i+1); !numbers[n] {
			t.Errorf("no test has the number %s", n)
		}
	}
}
