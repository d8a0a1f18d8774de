package verdicts

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// The tests of the CRDs alone write into a namespace that nothing else looks at.

const namespace = metav1.NamespaceDefault

var plurals = []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"}

func resourceOf(plural string) dynamic.ResourceInterface {
	return lab.dynamic.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: plural}).Namespace(namespace)
}

// dryCreate asks for everything but the write.
var dryCreate = metav1.CreateOptions{DryRun: dryRun}

// atVersion is the client of a kind of Ray's at a version.
func atVersion(version, plural string) dynamic.ResourceInterface {
	return lab.dynamic.Resource(schema.GroupVersionResource{Group: "ray.io", Version: version, Resource: plural}).Namespace(namespace)
}

// servedVersions are the versions of a kind, v1 first.
func servedVersions(t testing.TB, plural string) []string {
	t.Helper()
	crd, err := lab.dynamic.Resource(crds).Get(t.Context(), plural+".ray.io", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var names []string
	for _, v := range versions {
		names = append(names, v.(map[string]any)["name"].(string))
	}
	slices.Sort(names)
	return names
}

// parse reads YAML as it comes over the wire: numbers are int64 or float64.
func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	content, err := parseYAML(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return content
}

func parseYAML(text string) (map[string]any, error) {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var content map[string]any
	return content, utiljson.Unmarshal(raw, &content)
}

// smallest is the smallest object that all versions of a kind take. The fields of cluster are added to its cluster, and
// those of group to the only worker group.
func smallest(t testing.TB, plural, version, name, cluster, group string) *unstructured.Unstructured {
	t.Helper()
	const pod = "rayStartParams: {}, template: {spec: {containers: [{name: ray}]}}"
	text := "{headGroupSpec: {" + pod + "}, workerGroupSpecs: [{groupName: w, " + pod + group + "}]" + cluster + "}"
	kind := map[string]string{"rayclusters": "RayCluster", "rayjobs": "RayJob", "rayservices": "RayService", "raycronjobs": "RayCronJob"}[plural]
	switch plural {
	case "rayjobs":
		text = "{entrypoint: x, rayClusterSpec: " + text + "}"
	case "rayservices":
		text = "{serveConfigV2: 'applications: []', rayClusterConfig: " + text + "}"
	case "raycronjobs":
		text = "{schedule: '@daily', jobTemplate: {entrypoint: x, rayClusterSpec: " + text + "}}"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ray.io/" + version, "kind": kind, "metadata": map[string]any{"name": name}, "spec": parse(t, text),
	}}
}

func wantRefusal(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: refused: %v", what, err)
	case want != "" && err == nil:
		t.Errorf("%s: accepted, want a refusal with %q", what, want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("%s: refused with %v, want %q", what, err, want)
	}
}
