package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const bases = "../../../operator/config/crd/bases"

func TestPageIsUpToDate(t *testing.T) {
	want, err := Markdown(bases)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/kinds.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/kinds.md differs from the CRDs; run go run ./hack/crddoc (-want +got):\n%s", diff)
	}
}

// Each field says what it means, and what the CRDs say of values is there.
func TestPageSaysWhatCRDsSay(t *testing.T) {
	written, err := Markdown(bases)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(written)) {
		if !strings.HasPrefix(line, "| `") || strings.Contains(line, "(stored)") {
			continue
		}
		rows++
		if strings.HasSuffix(line, "|  |\n") {
			t.Errorf("no meaning: %s", line)
		}
	}
	if rows < 150 {
		t.Errorf("%d fields, want those of four kinds", rows)
	}
	for _, want := range []string{
		"\n| `maxReplicas` | int32 | `2147483647` | ", "\n| `workerGroupSpecs` | list of [WorkerGroupSpec](#workergroupspec) |", "| `template` | `core/v1 PodTemplateSpec` |",
		"\nAt `spec.workerGroupSpecs[]`.\n", "| `mode` | string |  | mode is token to demand a token, or disabled. Unset means disabled. One of `\"disabled\"`, `\"token\"`. |",
	} {
		if !strings.Contains(string(written), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A field that the CRD does not have is an error: the page would not say what the API server does.
func TestStaleCRD(t *testing.T) {
	folder := t.TempDir()
	text, err := os.ReadFile(filepath.Join(bases, "ray.io_rayclusters.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	stale := strings.ReplaceAll(string(text), " rayVersion:", " rayVersionOfOld:")
	if err := os.WriteFile(filepath.Join(folder, "ray.io_rayclusters.yaml"), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Markdown(folder); err == nil || !strings.Contains(err.Error(), "spec.rayVersion") {
		t.Errorf("error %v, want one about spec.rayVersion", err)
	}
}
