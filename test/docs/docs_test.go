package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var update = flag.Bool("update", false, "write the generated part of docs/moving-from-kuberay.md")

const root = "../.."

// TestEveryCommandIsRunOrSaysWhyNot: a block of commands names a test that there is, and that reads the commands of the page, or says why none runs it.
func TestEveryCommandIsRunOrSaysWhyNot(t *testing.T) {
	pages, err := Pages(root)
	if err != nil || len(pages) < 12 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	run, not := 0, 0
	for _, page := range pages {
		blocks, err := Blocks(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			switch {
			case b.Test != "":
				run++
				if problem := missing(b.Test); problem != "" {
					t.Errorf("%s: %s", b.Where(), problem)
				}
			case b.NotRun != "":
				not++
			default:
				t.Errorf("%s: no comment says which test runs it, or why none does:\n%s", b.Where(), b.Text)
			}
		}
	}
	t.Logf("%d blocks are run, %d say why not", run, not)
}

// missing says what is wrong with the name of a test; empty for nothing.
func missing(test string) string {
	folder, name, _ := strings.Cut(test, " ")
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		return fmt.Sprintf("there is no test in %q", folder)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err.Error()
		}
		if strings.Contains(string(text), "func "+name+"(") {
			if !strings.Contains(string(text), fmt.Sprintf("%q", test)) {
				return fmt.Sprintf("%s does not ask for the commands of %q", file, test)
			}
			return ""
		}
	}
	return fmt.Sprintf("%s has no test %s", folder, name)
}

func TestBlocks(t *testing.T) {
	page := strings.Join([]string{
		"# Title", "", "    one", "", "    two", "", "text", "    goes on", "", "<!-- run: test/x TestX -->", "```sh", "three", "```", "",
		"```yaml", "a: b", "```", "<!-- not run: because -->", "", "    # comment", "    four \\", "    five", "", "* item", "    text of the item", "",
		"<!-- not run below: later -->", "```", "six", "```", "", "    seven",
	}, "\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.md"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	blocks, err := Blocks(dir, "page.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range blocks {
		got = append(got, fmt.Sprintf("%d|%s|%s|%s", b.Line, strings.Join(b.Commands(), ";"), b.Test, b.NotRun))
	}
	want := []string{"3|one;two||", "12|three|test/x TestX|", "20|four  five||because", "29|six||later", "32|seven||later"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

// TestRefusals holds the list of what raygate refuses and KubeRay does not to the rules; -update writes it.
func TestRefusals(t *testing.T) {
	const begin, end = "<!-- refusals: generated -->\n", "<!-- end -->"
	path := filepath.Join(root, "docs", "moving-from-kuberay.md")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(before), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the refusals", path)
	}
	var b strings.Builder
	b.WriteString("| rule | field | refused when |\n|---|---|---|\n")
	for _, r := range validation.Rules() {
		// An object that only a webhook of KubeRay refuses passes there in a default installation.
		if r.Tier == rule.Kubernetes || len(r.Peer) == 1 && r.Peer[0] == rule.PeerWebhook {
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", r.ID, r.Field, strings.ReplaceAll(r.Condition, "|", `\|`))
		}
	}
	text := head + begin + b.String() + end + tail
	if text == string(before) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the rules say; run: go test ./test/docs -run TestRefusals -update", path)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
