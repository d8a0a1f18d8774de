package verdicts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestImmutableFields tries every way to change each immutable field of the Ray API. A value may be added and removed, as under KubeRay,
// but not together with the spec. A write of the status changes nothing.
func TestImmutableFields(t *testing.T) {
	needLab(t)
	const kueue, own = "kueue.x-k8s.io/multikueue", "ray.io/kuberay-operator"
	for name, tc := range map[string]struct{ plural, path, value, other string }{
		"the manager of a cluster":  {plural: "rayclusters", path: "spec.managedBy", value: kueue, other: own},
		"the manager in a job":      {plural: "rayjobs", path: "spec.rayClusterSpec.managedBy", value: kueue, other: own},
		"the manager in a service":  {plural: "rayservices", path: "spec.rayClusterConfig.managedBy", value: kueue, other: own},
		"the manager in a cron job": {plural: "raycronjobs", path: "spec.jobTemplate.rayClusterSpec.managedBy", value: kueue, other: own},
		"the manager of a job":      {plural: "rayjobs", path: "spec.managedBy", value: kueue, other: own},
		"the manager of a service":  {plural: "rayservices", path: "spec.managedBy", value: kueue, other: own},
		"the store of metadata":     {plural: "rayclusters", path: "spec.gcsFaultToleranceOptions.backend", value: "rocksdb", other: "redis"},
	} {
		t.Run(name, func(t *testing.T) {
			path := strings.Split(tc.path, ".")
			object := strings.ReplaceAll(name, " ", "-")
			u := smallest(t, tc.plural, "v1", object, "", "")
			if err := unstructured.SetNestedField(u.Object, tc.value, path...); err != nil {
				t.Fatal(err)
			}
			client := resourceOf(tc.plural)
			if _, err := client.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			patch := func(value string) error {
				body := value
				for _, step := range slices.Backward(path) {
					body = fmt.Sprintf("{%q:%s}", step, body)
				}
				_, err := client.Patch(t.Context(), object, types.MergePatchType, []byte(body), metav1.PatchOptions{})
				return err
			}
			wantRefusal(t, "the same value", patch(`"`+tc.value+`"`), "")
			wantRefusal(t, "another value", patch(`"`+tc.other+`"`), tc.path+": Invalid value")
			wantRefusal(t, "no value, as KubeRay", patch("null"), "")
			wantRefusal(t, "another value later, as KubeRay", patch(`"`+tc.other+`"`), "")
			_, err := client.Patch(t.Context(), object, types.MergePatchType, []byte(`{"spec":null}`), metav1.PatchOptions{})
			wantRefusal(t, "no spec", err, "-581)")
			_, err = client.Patch(t.Context(), object, types.MergePatchType, []byte(`{"status":{}}`), metav1.PatchOptions{}, "status")
			wantRefusal(t, "the status", err, "")
		})
	}
}
