package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// threeMistakes has three that the CRD lets through, so that the operator sees them too: keys of labels of Pods, which it does not
// look at.
func threeMistakes(name, ns string) []byte {
	m := string(manifest(name, ns, 1))
	m = strings.Replace(m, "    template:\n", "    template:\n      metadata: {labels: {a b: c, d e: f}}\n", 1)
	at := strings.LastIndex(m, "    template:\n") + len("    template:\n")
	m = m[:at] + "      metadata: {labels: {a b: c}}\n" + m[at:]
	return []byte(m)
}

// Every entry point finds the same mistakes, at the same paths, in the same words.
func TestOneVerdictAtEveryEntryPoint(t *testing.T) {
	ns := namespace(t)
	const name = "wrong"

	want := verdictOfREST(t, ns, name)
	if len(want) < 3 {
		t.Fatalf("REST found %d mistakes, want at least the three made: %v", len(want), want)
	}
	for entryPoint, got := range map[string][]string{
		"gRPC":             verdictOfGRPC(t, ns, name),
		"raygate validate": verdictOfTool(t, ns, name),
		"operator":         verdictOfOperator(t, ns, name),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs from REST (-REST +%s):\n%s", entryPoint, entryPoint, diff)
		}
	}
}

func verdictOfREST(t *testing.T, ns, name string) []string {
	r := rest(t, "POST", clustersOf(ns), "application/yaml", threeMistakes(name, ns)).want(t, 400)
	var all []string
	for _, v := range r.violations(t) {
		if v.Reason == "" {
			t.Errorf("violation at %s has no rule id", v.Field)
		}
		all = append(all, v.Field+": "+v.Description)
	}
	sort.Strings(all)
	return all
}

func verdictOfGRPC(t *testing.T, ns, name string) []string {
	c := handMade(t, name)
	c.Metadata.Namespace, c.Metadata.Labels = ns, map[string]string{"team": "e2e"}
	params := func(pairs map[string]any) *structpb.Struct {
		s, err := structpb.NewStruct(pairs)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	labelled := func(template *structpb.Struct, labels map[string]any) {
		template.Fields["metadata"] = structpb.NewStructValue(params(map[string]any{"labels": labels}))
	}
	labelled(c.Spec.HeadGroupSpec.Template, map[string]any{"a b": "c", "d e": "f"})
	labelled(c.Spec.WorkerGroupSpecs[0].Template, map[string]any{"a b": "c"})
	_, err := product.clusters.CreateCluster(t.Context(), &raygatev2.CreateClusterRequest{Namespace: ns, Cluster: c})
	if status.Code(err) != codes.InvalidArgument {
		t.Fatalf("CreateCluster: %v, want InvalidArgument", err)
	}
	var all []string
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.FieldViolations {
				all = append(all, v.Field+": "+v.Description)
			}
		}
	}
	sort.Strings(all)
	return all
}

func verdictOfTool(t *testing.T, ns, name string) []string {
	stdout, stderr, code := command(t, threeMistakes(name, ns), "raygate", "validate", "-o", "json", "-f", "-")
	if code != 1 {
		t.Fatalf("raygate validate: exit code %d, want 1: %s%s", code, stdout, stderr)
	}
	var all []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if field, ok := v["field"].(string); ok && v["severity"] != "warning" {
				all = append(all, fmt.Sprintf("%s: %s", field, v["message"]))
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	var report any
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("decoding report %s: %v", stdout, err)
	}
	walk(report)
	sort.Strings(all)
	return all
}

// verdictOfOperator stores the wrong cluster past the gateway and reads what the operator says of it.
func verdictOfOperator(t *testing.T, ns, name string) []string {
	kubectl(t, threeMistakes(name, ns), "create", "-f", "-")
	var message string
	eventually(t, "the operator refuses the cluster", func(ctx context.Context) error {
		rc := &rayv1.RayCluster{}
		if err := product.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, rc); err != nil {
			return err
		}
		for _, c := range rc.Status.Conditions {
			if strings.HasPrefix(c.Reason, "Invalid") {
				message = c.Message
				return nil
			}
		}
		return fmt.Errorf("conditions %v", rc.Status.Conditions)
	})
	oneWarningAndNothingElse(t, ns)
	all := strings.Split(message, "; spec.")
	for i := range all[1:] {
		all[i+1] = "spec." + all[i+1]
	}
	sort.Strings(all)
	return all
}

func oneWarningAndNothingElse(t *testing.T, ns string) {
	t.Helper()
	var warnings []corev1.Event
	eventually(t, "a Warning event", func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := product.client.List(ctx, events, client.InNamespace(ns)); err != nil {
			return err
		}
		warnings = nil
		for _, e := range events.Items {
			if e.Type == corev1.EventTypeWarning {
				warnings = append(warnings, e)
			}
		}
		if len(warnings) == 0 {
			return fmt.Errorf("none yet")
		}
		return nil
	})
	if len(warnings) != 1 || warnings[0].Count > 1 {
		t.Errorf("want one Warning event, once; got %v", warnings)
	}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}} {
		if err := product.client.List(t.Context(), list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		if n := meta.LenList(list); n != 0 {
			t.Errorf("%T has %d items for a refused cluster", list, n)
		}
	}
}
