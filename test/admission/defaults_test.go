package admission

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/internal/testing/suite"
)

// withDefaults is the spec of the smallest object as v1 shows it: it has every default that needs no parent.
func withDefaults(t *testing.T, plural string) map[string]any {
	t.Helper()
	spec := smallest(t, plural, "v1", "a", "", ", replicas: 0, minReplicas: 0, maxReplicas: 2147483647, numOfHosts: 1, priority: 0").Object["spec"].(map[string]any)
	ofJob := map[string]any{"submissionMode": "K8sJobMode", "backoffLimit": int64(0), "ttlSecondsAfterFinished": int64(0)}
	switch plural {
	case "rayjobs":
		maps.Copy(spec, ofJob)
	case "raycronjobs":
		maps.Copy(spec["jobTemplate"].(map[string]any), ofJob)
	}
	return spec
}

// TestDefaultsThroughEachVersion: an object that says as little as possible shows the same defaults in v1
// whichever version it came through. Parents that are absent stay absent.
func TestDefaultsThroughEachVersion(t *testing.T) {
	for _, plural := range plurals {
		want := withDefaults(t, plural)
		for _, version := range servedVersions(t, plural) {
			t.Run(plural+" "+version, func(t *testing.T) {
				name := "minimal-" + version
				if _, err := atVersion(version, plural).Create(t.Context(), smallest(t, plural, version, name, "", ""), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				got, err := atVersion("v1", plural).Get(t.Context(), name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got.Object["spec"]); diff != "" {
					t.Errorf("v1 shows (-want +got):\n%s", diff)
				}
				// What is stored lacks the defaults of fields that the version of the request does not have, until
				// somebody writes v1.
				if _, err := atVersion("v1", plural).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"v"}}}`), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
				if got, want := fmt.Sprint(stored(t, "ray.io/"+plural, name)["spec"]), fmt.Sprint(throughJSON(t, want)); got != want {
					t.Errorf("after a write of v1 etcd has %s, want %s", got, want)
				}
			})
		}
	}
}

// throughJSON is an object as encoding/json decodes it, with all numbers as float64.
func throughJSON(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	raw, err := (&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Any", "content": object}}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return decodeJSON(t, raw)["content"].(map[string]any)
}

// TestDefaultsBelowOptionalParents: a default inside of an optional object appears when the object is there, and
// does not bring the object about.
func TestDefaultsBelowOptionalParents(t *testing.T) {
	for name, tc := range map[string]struct {
		plural, path, given, want string
	}{
		"a network policy":             {"rayclusters", "spec.networkPolicy", "{}", "{mode: DenyAll}"},
		"a network policy with a mode": {"rayclusters", "spec.networkPolicy", "{mode: DenyAllEgress}", "{mode: DenyAllEgress}"},
		"the same, of a cron job":      {"raycronjobs", "spec.jobTemplate.rayClusterSpec.networkPolicy", "{}", "{mode: DenyAll}"},
		"options of the autoscaler":    {"rayclusters", "spec.autoscalerOptions", "{}", "{}"},
		"fault tolerance":              {"rayclusters", "spec.gcsFaultToleranceOptions", "{}", "{}"},
		"an upgrade step by step": {"rayservices", "spec.upgradeStrategy", "{clusterUpgradeOptions: {stepSizePercent: 5, intervalSeconds: 5, gatewayClassName: g}}",
			"{clusterUpgradeOptions: {stepSizePercent: 5, intervalSeconds: 5, gatewayClassName: g, maxSurgePercent: 100}}"},
		"an upgrade":     {"rayservices", "spec.upgradeStrategy", "{}", "{}"},
		"deletion rules": {"rayjobs", "spec.deletionStrategy", "{deletionRules: [{policy: DeleteSelf, condition: {jobStatus: FAILED}}]}", "{deletionRules: [{policy: DeleteSelf, condition: {jobStatus: FAILED, ttlSeconds: 0}}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			path := strings.Split(tc.path, ".")
			u := smallest(t, tc.plural, "v1", "parents", "", "")
			if err := unstructured.SetNestedMap(u.Object, parse(t, tc.given), path...); err != nil {
				t.Fatal(err)
			}
			got, err := resourceOf(tc.plural).Create(t.Context(), u, dryRun)
			if err != nil {
				t.Fatal(err)
			}
			value, _, _ := unstructured.NestedMap(got.Object, path...)
			if diff := cmp.Diff(parse(t, tc.want), value); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.path, diff)
			}
		})
	}
}

// TestDefaultsOfTheVersionOfTheRequest shows what versions with unlike defaults would do: what is stored depends on
// the version that the client wrote. TestSharedFieldsHaveTheSameDefaultsAndEnums keeps ours alike.
func TestDefaultsOfTheVersionOfTheRequest(t *testing.T) {
	t.Parallel() // a CRD of its own takes seconds, most of them waiting
	crd := fixture(t, "twins", "{type: object}")
	of := func(value string) map[string]any {
		return parse(t, "{type: object, properties: {spec: {type: object, properties: {a: {type: string, default: "+value+"}}}}}")
	}
	setSchemas(t, crd, of("first"), of("second"))
	client := installCRD(t, crd)
	second := server.dynamic.Resource(schema.GroupVersionResource{Group: "book.example.com", Version: "v2", Resource: "twins"}).Namespace(namespace)
	for name, want := range map[string]string{"one": "first", "two": "second"} {
		u, at := thing(t, "twins", name, "{}"), client
		if want == "second" {
			u.SetAPIVersion("book.example.com/v2")
			at = second
		}
		if _, err := at.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(stored(t, "book.example.com/twins", name)["spec"]); got != "map[a:"+want+"]" {
			t.Errorf("stored %s through the version of the default %s", got, want)
		}
	}
}

// TestDefaultsOnStoredObjects: a new default shows on objects that were stored before it and reaches etcd with
// their next write, and a changed default changes what those mean that were not written since. The generation says
// nothing of all this.
func TestDefaultsOnStoredObjects(t *testing.T) {
	suite.All(t, "fails only when Kubernetes changes")
	t.Parallel() // a CRD of its own takes seconds, most of them waiting
	with := func(more string) string {
		return "{type: object, properties: {a: {type: string}, b: {type: string" + more + "}}}"
	}
	client := install(t, "olds", with(""))
	for _, name := range []string{"written", "untouched"} {
		if _, err := client.Create(t.Context(), thing(t, "olds", name, "{a: x}"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(ctx context.Context, name string) string {
		u, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(u.Object["spec"], u.GetGeneration())
	}
	inEtcd := func(name string) string { return fmt.Sprint(stored(t, "book.example.com/olds", name)["spec"]) }

	changeFixture(t, "olds", with(", default: new"))
	eventually(t, "the default", func(ctx context.Context) bool { return seen(ctx, "written") == "map[a:x b:new] 1" })
	if got := inEtcd("written"); got != "map[a:x]" {
		t.Errorf("reading it stored %s", got)
	}
	if _, err := client.Patch(t.Context(), "written", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"v"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := inEtcd("written"); got != "map[a:x b:new]" {
		t.Errorf("a label stored %s, want the default too", got)
	}

	changeFixture(t, "olds", with(", default: newer"))
	eventually(t, "the changed default", func(ctx context.Context) bool { return seen(ctx, "untouched") == "map[a:x b:newer] 1" })
	if got := seen(t.Context(), "written"); got != "map[a:x b:new] 1" {
		t.Errorf("the object that was written shows %s", got)
	}
}
