package admission

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// installPolicies applies the bundle for the time of the test.
func installPolicies(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("../../operator/config/policies/ray*.yaml")
	if err != nil || len(files) != len(plurals) {
		t.Fatalf("found policies %v, want one file for each kind: %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(document, &u.Object); err != nil {
				t.Fatal(err)
			}
			if len(u.Object) == 0 {
				continue
			}
			resource := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
			if u.GetKind() == "ValidatingAdmissionPolicyBinding" {
				resource.Resource = "validatingadmissionpolicybindings"
			}
			client := server.dynamic.Resource(resource)
			if _, err := client.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			t.Cleanup(func() { _ = client.Delete(context.Background(), u.GetName(), metav1.DeleteOptions{}) })
		}
	}
	// A label of the head Pod that no CRD looks at.
	for _, object := range []validation.Object{examples.Base(), examples.BaseJob(), examples.BaseService(), examples.BaseCronJob()} {
		object, checks := decoded(t, object)
		u := toUnstructured(t, object)
		delete(u.Object, "status")
		at := strings.Split(map[string]string{
			"RayCluster": "spec", "RayJob": "spec.rayClusterSpec", "RayService": "spec.rayClusterConfig", "RayCronJob": "spec.jobTemplate.rayClusterSpec",
		}[checks.Kind]+".headGroupSpec.template.metadata.labels", ".")
		if err := unstructured.SetNestedStringMap(u.Object, map[string]string{"a b": "c"}, at...); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the policies of "+checks.Kind, func(ctx context.Context) bool {
			_, err := resourceOf(pluralOf(checks.Kind)).Create(ctx, u.DeepCopy(), dryRun)
			return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
		})
	}
}

// TestPoliciesLetStoredObjectsBe takes an object that was stored before the policies through the usual writes.
func TestPoliciesLetStoredObjectsBe(t *testing.T) {
	rc := examples.Base()
	rc.Name = "before-policies"
	rc.Finalizers = []string{"example.com/hold"}
	rc.Spec.HeadGroupSpec.Template.Labels = map[string]string{"a b": "c"} // RC-530
	second := rc.Spec.WorkerGroupSpecs[0].DeepCopy()
	second.GroupName = "second"
	second.Template.Labels = map[string]string{"a b": "c"}
	rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, *second)
	u := toUnstructured(t, rc)
	delete(u.Object, "status")
	clusters := resourceOf("rayclusters")
	eventually(t, "the policies of another test to go", func(ctx context.Context) bool {
		_, err := clusters.Create(ctx, u, metav1.CreateOptions{})
		return err == nil
	})
	installPolicies(t)
	patch := func(body string) error {
		_, err := clusters.Patch(t.Context(), rc.Name, types.JSONPatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	for what, body := range map[string]string{
		"scaling a good group": `[{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":2}]`,
		"scaling a bad group":  `[{"op":"replace","path":"/spec/workerGroupSpecs/1/replicas","value":2}]`,
		"a label":              `[{"op":"add","path":"/metadata/labels","value":{"team":"a"}}]`,
	} {
		if err := patch(body); err != nil {
			t.Errorf("%s is refused: %v", what, err)
		}
	}
	if err := patch(`[{"op":"add","path":"/spec/workerGroupSpecs/0/template/metadata","value":{"labels":{"c d":"e"}}}]`); err == nil || !strings.Contains(err.Error(), "RC-530") {
		t.Errorf("a mistake in another group: %v, want a refusal for RC-530", err)
	}
	if err := clusters.Delete(t.Context(), rc.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := patch(`[{"op":"remove","path":"/metadata/finalizers"}]`); err != nil {
		t.Errorf("removing the finalizer: %v", err)
	}
}

// TestPoliciesSeeV1alpha1 pins who validates writes through the old version: its schema has no rules, policies see it as v1, and
// what came in ratchets in v1 as anything else does.
func TestPoliciesSeeV1alpha1(t *testing.T) {
	old := server.quiet.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1alpha1", Resource: "rayclusters"}).Namespace(namespace)
	rc := examples.Base()
	rc.Name = "old-version"
	rc.Spec.WorkerGroupSpecs[0].MinReplicas = new(int32(9))                     // RC-042
	rc.Spec.WorkerGroupSpecs[0].Template.Labels = map[string]string{"a b": "c"} // RC-530
	rc.Spec.HeadGroupSpec.RayStartParams = map[string]string{"labels": "a"}     // RC-035
	u := toUnstructured(t, rc)
	u.SetAPIVersion("ray.io/v1alpha1")
	delete(u.Object, "status")
	eventually(t, "the policies of another test to go", func(ctx context.Context) bool {
		_, err := old.Create(ctx, u, metav1.CreateOptions{})
		return err == nil
	})
	installPolicies(t)
	u.SetName("another")
	if _, err := old.Create(t.Context(), u, dryRun); err == nil || !strings.Contains(err.Error(), "RC-530") {
		t.Errorf("the policies say %v, want a refusal for RC-530", err)
	}
	clusters := resourceOf("rayclusters")
	for body, want := range map[string]string{
		`[{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":2}]`:                                                                                            "",
		`[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{"groupName":"more","minReplicas":11,"maxReplicas":5,"template":{"spec":{"containers":[{"name":"ray"}]}}}}]`: "RC-042",
		`[{"op":"add","path":"/spec/headGroupSpec/rayStartParams/port","value":"1"}]`:                                                                                        "",
	} {
		_, err := clusters.Patch(t.Context(), rc.Name, types.JSONPatchType, []byte(body), metav1.PatchOptions{})
		wantRefusal(t, body, err, want)
	}
}
