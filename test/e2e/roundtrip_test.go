package e2e

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// What GET returns is what kubectl applies.
func TestGetPipedToKubectlApply(t *testing.T) {
	ns := namespace(t)
	rest(t, "POST", clustersOf(ns), "application/yaml", manifest("demo", ns, 0)).want(t, 201)
	waitReady(t, ns, "demo", 0)
	for _, accept := range []string{"application/json", "application/yaml"} {
		before := stored(t, ns, "demo")
		got := rest(t, "GET", clustersOf(ns)+"/demo", accept, nil).want(t, 200)
		kubectl(t, got.body, "apply", "-f", "-")
		if diff := cmp.Diff(before.Spec, stored(t, ns, "demo").Spec); diff != "" {
			t.Errorf("apply of GET's answer changed the spec (-before +after):\n%s", diff)
		}
		if after := stored(t, ns, "demo").Generation; after != before.Generation {
			t.Errorf("apply of GET's answer raised the generation from %d to %d", before.Generation, after)
		}
	}
}

// A PUT of what GET returned changes nothing, not even fields that only JSON tells apart, such as an empty object.
func TestPutOfWhatGetReturned(t *testing.T) {
	ns := namespace(t)
	rest(t, "POST", clustersOf(ns), "application/yaml", manifest("demo", ns, 0)).want(t, 201)
	waitReady(t, ns, "demo", 0)
	for _, contentType := range []string{"application/json", "application/yaml"} {
		got := rest(t, "GET", clustersOf(ns)+"/demo", contentType, nil).want(t, 200)
		before := stored(t, ns, "demo")
		rest(t, "PUT", clustersOf(ns)+"/demo?allow_overwrite=true", contentType, []byte(got.body)).want(t, 200)
		if after := stored(t, ns, "demo").Generation; after != before.Generation {
			t.Errorf("PUT of GET's %s raised the generation from %d to %d", contentType, before.Generation, after)
		}
	}
}

// What kubectl prints can be POSTed to another namespace and gives an equal spec.
func TestKubectlGetPostedElsewhere(t *testing.T) {
	from, to := namespace(t), namespace(t)
	kubectl(t, manifest("demo", from, 1), "apply", "-f", "-")
	waitReady(t, from, "demo", 1)

	printed := kubectl(t, nil, "get", "raycluster", "demo", "-n", from, "-o", "json", "--show-managed-fields")
	var object map[string]any
	if err := json.Unmarshal([]byte(printed), &object); err != nil {
		t.Fatal(err)
	}
	object["metadata"].(map[string]any)["namespace"] = to
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	rest(t, "POST", clustersOf(to), "application/json", body).want(t, 201)
	if diff := cmp.Diff(stored(t, from, "demo").Spec, stored(t, to, "demo").Spec); diff != "" {
		t.Errorf("the copy differs (-original +copy):\n%s", diff)
	}
}

func stored(t *testing.T, ns, name string) *rayv1.RayCluster {
	t.Helper()
	rc := &rayv1.RayCluster{}
	if err := product.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, rc); err != nil {
		t.Fatal(err)
	}
	return rc
}
