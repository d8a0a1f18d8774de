package verb

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func TestProfileTable(t *testing.T) {
	var out strings.Builder
	if err := profileTable(&out, []*raygatev2.Profile{
		{Name: "a100x4", Namespace: "platform", Description: "Four A100\nfor each \x1b[31mworker"}, {Name: "old", Namespace: "team-a", Mistake: "profile.yaml: spek: unknown field"}, {Name: "own", Namespace: "team-a"},
	}); err != nil {
		t.Fatal(err)
	}
	want := `NAME     NAMESPACE   DESCRIPTION
a100x4   platform    Four A100 for each [31mworker
old      team-a      cannot be used: profile.yaml: spek: unknown field
own      team-a      <none>
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCreateDocuments(t *testing.T) {
	w := &write{profile: "a100x4"}
	s := &session{namespace: "team-a"}
	documents, err := w.documents(s, []string{"raycluster", "demo"})
	if err != nil || len(documents) != 1 {
		t.Fatal(documents, err)
	}
	d := documents[0]
	if got := metaOf(d.message).GetLabels(); d.namespace != "team-a" || nameOf(d.message) != "demo" || got["raygate.io/profile"] != "a100x4" {
		t.Errorf("got %s of %s with the labels %v", d.where, d.namespace, got)
	}
	w.profile = ""
	for _, args := range [][]string{{"raycluster", "demo"}, {"raycluster"}} {
		if _, err := w.documents(s, args); err == nil || !strings.Contains(err.Error(), "--profile") {
			t.Errorf("%v: want an error about --profile, got %v", args, err)
		}
	}
}
