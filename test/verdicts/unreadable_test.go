package verdicts

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// unreadableEntryPoints are those that read JSON of any form. The webhooks, policies and the controller come after the schema, and
// a gRPC client cannot say such an object, or says it in another form.
var unreadableEntryPoints = []string{"raygate validate", "REST", "CRDs"}

// unreadable shows the entry points what no object of the Go types can be, and returns rows of a table. Decoding has no rules, so
// that what entry points share is the refusal and its place.
func unreadable(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString("| rule | kind | example | " + strings.Join(unreadableEntryPoints, " | ") + " |\n|---|---|---" + strings.Repeat("|---", len(unreadableEntryPoints)) + "|\n")
	for _, e := range examples.AllUnreadable() {
		u := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(e.JSON, &u.Object); err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(u.Object, "metadata", "namespace")
		delete(u.Object, "status")
		said := map[string]string{
			"raygate validate": toolOn(t.Context(), u),
			"REST":             restOn(t.Context(), e.Kind, u),
			"CRDs":             serverOn(t.Context(), e.Kind, u),
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", e.ID, e.Kind, e.Name)
		for _, entryPoint := range unreadableEntryPoints {
			cell := refuses
			switch text := said[entryPoint]; {
			case text == "":
				t.Errorf("%s/%s: %s lets it pass", e.ID, e.Name, entryPoint)
				cell = disagrees
			case strings.Contains(samePath(text), samePath(e.WantField)):
			case strings.Contains(text, withoutIndices(samePath(e.WantField))), strings.Contains(text, e.WantField[:strings.LastIndex(e.WantField, ".")]+": "):
				cell = refusesAround
			default:
				t.Errorf("%s/%s: %s does not name %s: %s", e.ID, e.Name, entryPoint, e.WantField, text)
				cell = disagrees
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// serverOn is the refusal of the API server, with strict field validation as by kubectl.
func serverOn(ctx context.Context, kind string, u *unstructured.Unstructured) string {
	_, err := kindOf(kind).Namespace(nsCRDs).Create(ctx, u, metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict})
	if err == nil {
		return ""
	}
	return err.Error()
}

func restOn(ctx context.Context, kind string, u *unstructured.Unstructured) string {
	r, err := callREST(ctx, settings[0], "POST", restPath(kind, nsGateway)+"?validateOnly=true", u)
	switch {
	case err != nil:
		return err.Error()
	case r.code == 400:
		return string(r.body)
	case r.code < 300:
		return ""
	}
	return fmt.Sprintf("HTTP %d", r.code)
}

func toolOn(ctx context.Context, u *unstructured.Unstructured) string {
	cmd := exec.CommandContext(ctx, programs.Binary("raygate"), "validate", "-f", "-")
	cmd.Stdin = bytes.NewReader(jsonOf(u.Object))
	out, err := cmd.Output()
	if err == nil {
		return ""
	}
	return string(out)
}
