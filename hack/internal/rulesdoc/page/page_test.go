package page

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageIsUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../../../docs/validation.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(Markdown()), string(got)); diff != "" {
		t.Errorf("docs/validation.md differs from the rules; run go run ./hack/internal/rulesdoc (-want +got):\n%s", diff)
	}
}
