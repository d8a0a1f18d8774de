package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
		got := shownAs(t, before, accept)
		kubectl(t, got, "apply", "-f", "-")
		if diff := cmp.Diff(before.Spec, stored(t, ns, "demo").Spec); diff != "" {
			t.Errorf("apply of GET's answer changed the spec (-before +after):\n%s", diff)
		}
		if after := stored(t, ns, "demo").Generation; after != before.Generation {
			t.Errorf("apply of GET's answer raised the generation from %d to %d", before.Generation, after)
		}
	}
}

// A PUT of what GET returned changes nothing, not even fields that only JSON distinguishes, such as an empty object.
func TestPutOfWhatGetReturned(t *testing.T) {
	ns := namespace(t)
	rest(t, "POST", clustersOf(ns), "application/yaml", manifest("demo", ns, 0)).want(t, 201)
	waitReady(t, ns, "demo", 0)
	for _, contentType := range []string{"application/json", "application/yaml"} {
		before := stored(t, ns, "demo")
		got := shownAs(t, before, contentType)
		rest(t, "PUT", clustersOf(ns)+"/demo?allow_overwrite=true", contentType, got).want(t, 200)
		if after := stored(t, ns, "demo").Generation; after != before.Generation {
			t.Errorf("PUT of GET's %s raised the generation from %d to %d", contentType, before.Generation, after)
		}
	}
}

// The output of kubectl can be POSTed to another namespace and gives an equal spec.
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

// shownAs is what the gateway shows of a cluster once it has seen this version, which reaches it by a watch.
func shownAs(t *testing.T, rc *rayv1.RayCluster, mediaType string) []byte {
	t.Helper()
	var shown []byte
	eventually(t, "the gateway to show version "+rc.ResourceVersion, func(context.Context) error {
		shown = rest(t, "GET", clustersOf(rc.Namespace)+"/"+rc.Name, mediaType, nil).want(t, 200).body
		if !bytes.Contains(shown, []byte(rc.ResourceVersion)) {
			return fmt.Errorf("it shows %s", shown)
		}
		return nil
	})
	return shown
}

func stored(t *testing.T, ns, name string) *rayv1.RayCluster {
	t.Helper()
	rc := &rayv1.RayCluster{}
	if err := product.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, rc); err != nil {
		t.Fatal(err)
	}
	return rc
}
