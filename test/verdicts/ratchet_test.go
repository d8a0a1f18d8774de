package verdicts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// oldCluster breaks rules of the whole object, of the head, of a group and of metadata. Its group "sound" breaks none.
func oldCluster() *rayv1.RayCluster {
	rc := examples.Base()
	rc.Name = "old"
	rc.Spec.EnableInTreeAutoscaling = new(true)
	metav1.SetMetaDataAnnotation(&rc.ObjectMeta, "ray.io/ft-enabled", "true") // RC-053
	rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
	rc.Spec.HeadGroupSpec.Resources = map[string]string{"CPU": "1"} // RC-034
	rc.Spec.HeadGroupSpec.RayStartParams = map[string]string{"num-cpus": "1"}
	bad := rc.Spec.WorkerGroupSpecs[0].DeepCopy()
	bad.GroupName, bad.MinReplicas = "bad", new(int32(9)) // RC-042
	rc.Spec.WorkerGroupSpecs[0].GroupName = "sound"
	rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, *bad)
	return rc
}

// everyLayer makes a namespace of stored objects one where the API server asks everybody.
func everyLayer(t *testing.T, s *setting, namespace string) {
	t.Helper()
	if err := askWebhooksAbout(t.Context(), s, namespace); err != nil {
		t.Fatal(err)
	}
	if err := askPoliciesAbout(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
}

type change struct {
	name  string
	kind  types.PatchType
	patch string
}

// autoscaler is what the autoscaler of Ray sends: places by index, one of them of a group that is not concerned.
func autoscaler(group int) change {
	return change{"scaled by the autoscaler", types.JSONPatchType, fmt.Sprintf(`[
		{"op": "replace", "path": "/spec/workerGroupSpecs/%d/replicas", "value": 2},
		{"op": "add", "path": "/spec/workerGroupSpecs/%d/scaleStrategy", "value": {"workersToDelete": ["gone"]}}]`, group, group)}
}

var (
	held      = change{"labelled and held by a finalizer", types.MergePatchType, `{"metadata":{"labels":{"team":"ray"},"finalizers":["verdicts.test/hold"]}}`}
	finalised = change{"let go by a finalizer", types.MergePatchType, `{"metadata":{"finalizers":null}}`}
)

func apply(ctx context.Context, kind, namespace, name string, c change) error {
	_, err := kindOf(kind).Namespace(namespace).Patch(ctx, name, c.kind, []byte(c.patch), metav1.PatchOptions{})
	return err
}

// try is apply without the write, which would make the operators act on each change.
func try(ctx context.Context, kind, namespace, name string, c change, subresource ...string) error {
	_, err := kindOf(kind).Namespace(namespace).Patch(ctx, name, c.kind, []byte(c.patch), metav1.PatchOptions{DryRun: dryRun}, subresource...)
	return err
}

// scaleByPUT changes the replicas of the sound group in what the gateway shows, and gives all of it back. The gateway may
// write a field in another way than it was stored, as an empty map for none; that is no change that a rule may refuse.
func scaleByPUT(ctx context.Context, s *setting, namespace, name string) error {
	path := restPath("RayCluster", namespace) + "/" + name
	r, err := callREST(ctx, s, http.MethodGet, path, &unstructured.Unstructured{Object: map[string]any{}})
	if err != nil || r.code != http.StatusOK {
		return fmt.Errorf("reading it: HTTP %d %s: %w", r.code, r.body, err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(r.body, &u.Object); err != nil {
		return err
	}
	groups, _, _ := unstructured.NestedSlice(u.Object, "spec", "workerGroupSpecs")
	if len(groups) != 2 {
		return fmt.Errorf("the gateway shows %d groups: %s", len(groups), r.body)
	}
	groups[0].(map[string]any)["replicas"] = int64(3)
	if err := unstructured.SetNestedSlice(u.Object, groups, "spec", "workerGroupSpecs"); err != nil {
		return err
	}
	r, err = callREST(ctx, s, http.MethodPut, path, u)
	if err != nil || r.code != http.StatusOK {
		return fmt.Errorf("writing it: HTTP %d %s: %w", r.code, r.body, err)
	}
	return nil
}

// deleteHeld deletes an object that a finalizer holds, lets it go and waits until it is gone.
func deleteHeld(ctx context.Context, kind, namespace, name string) error {
	client := kindOf(kind).Namespace(namespace)
	if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting: %w", err)
	}
	return eventually(ctx, "the end of "+name, func(ctx context.Context) error {
		err := apply(ctx, kind, namespace, name, finalised)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("it is still there")
		}
		return err
	})
}

// TestStoredBeforeTheRules: what was stored before there were rules stays usable under CRDs, webhooks and policies, and
// does not become worse.
func TestStoredBeforeTheRules(t *testing.T) {
	needLab(t)
	s := settings[0]
	ns := nsRatchet(s)
	everyLayer(t, s, ns)
	for _, c := range []change{
		autoscaler(0), autoscaler(1), held,
		{"annotated", types.MergePatchType, `{"metadata":{"annotations":{"note":"a"}}}`},
		{"suspended", types.MergePatchType, `{"spec":{"suspend":true}}`},
		{"given the manager that is the default", types.MergePatchType, `{"spec":{"managedBy":"ray.io/kuberay-operator"}}`},
		{"given another field of the head", types.MergePatchType, `{"spec":{"headGroupSpec":{"serviceType":"ClusterIP"}}}`},
		{"freed of one of its mistakes", types.MergePatchType, `{"spec":{"headGroupSpec":{"resources":null}}}`},
	} {
		if err := apply(t.Context(), "RayCluster", ns, "old", c); err != nil {
			t.Errorf("it cannot be %s: %v", c.name, err)
		}
	}
	if _, err := kindOf("RayCluster").Namespace(ns).Patch(t.Context(), "old", types.MergePatchType, []byte(`{"status":{"state":"ready"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Errorf("it cannot be given a status: %v", err)
	}
	// Again when the operator was faster.
	if err := eventually(t.Context(), "scaling through the gateway", func(ctx context.Context) error { return scaleByPUT(ctx, s, ns, "old") }); err != nil {
		t.Error(err)
	}
	for _, tc := range []struct{ name, patch, wantField string }{
		{"a second wrong group", `[{"op": "replace", "path": "/spec/workerGroupSpecs/0/minReplicas", "value": 7}]`, "spec.workerGroupSpecs: minReplicas must not exceed maxReplicas"},
		{"the wrong group, worse", `[{"op": "replace", "path": "/spec/workerGroupSpecs/1/maxReplicas", "value": -1}]`, "spec.workerGroupSpecs: maxReplicas must be at least 0"},
		{"one more wrong group", `[{"op": "add", "path": "/spec/workerGroupSpecs/-", "value": {"groupName": "c d", "replicas": 1, "template": {"spec": {"containers": [{"name": "ray"}]}}}}]`, "spec.workerGroupSpecs: groupName becomes"},
		{"a second group of one name", `[{"op": "add", "path": "/spec/workerGroupSpecs/-", "value": {"groupName": "sound", "template": {"spec": {"containers": [{"name": "ray"}]}}}}]`, "Duplicate value"},
		{"labels of Pods that only policies and webhooks see", `[{"op": "add", "path": "/spec/workerGroupSpecs/0/template/metadata", "value": {"labels": {"c d": "e"}}}]`, "RC-530"},
		{"no spec at all", `[{"op": "remove", "path": "/spec"}]`, "-581)"},
		{"another wrong annotation", `[{"op": "add", "path": "/metadata/annotations/ray.io~1external-storage-namespace", "value": "x"}]`, "metadata.annotations[ray.io/external-storage-namespace]"},
	} {
		err := apply(t.Context(), "RayCluster", ns, "old", change{kind: types.JSONPatchType, patch: tc.patch})
		if !apierrors.IsInvalid(err) {
			t.Errorf("%s: want a refusal, got %v", tc.name, err)
		} else if !strings.Contains(err.Error(), tc.wantField) {
			t.Errorf("%s: the refusal does not name %s: %v", tc.name, tc.wantField, err)
		}
	}
	if err := deleteHeld(t.Context(), "RayCluster", ns, "old"); err != nil {
		t.Error(err)
	}
}

// worse are changes that break the rule of an example once more, by its kind and id.
var worse = map[string]string{
	"RayCluster/RC-034": `[{"op":"add","path":"/spec/headGroupSpec/rayStartParams/memory","value":"1"},{"op":"add","path":"/spec/headGroupSpec/rayStartParams/num-gpus","value":"1"}]`,
	"RayCluster/RC-048": anotherGroup(`"groupName":"more","idleTimeoutSeconds":5`),
	"RayCluster/RC-052": anotherGroup(`"groupName":"more","priority":5`),
	"RayCluster/RC-072": anotherGroup(`"groupName":"more","suspend":true`),
	"RayCluster/RC-075": `[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{"groupName":"more","template":{"spec":{"restartPolicy":"Always","containers":[{"name":"ray"}]}}}}]`,
	"RayCluster/RC-102": anotherGroup(`"groupName":"More"`),
	"RayCluster/RC-093": `[{"op":"replace","path":"/spec/rayVersion","value":"2.3.0"}]`,
	"RayCluster/RC-503": anotherGroup(`"groupName":"m_ore","replicas":1`),
}

func anotherGroup(fields string) string {
	return `[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{` + fields + `,"template":{"spec":{"containers":[{"name":"ray"}]}}}}]`
}

// elsewhere are changes of the spec that have nothing to do with a rule.
var elsewhere = map[string]string{
	"RayCluster": `{"spec":{"suspend":true}}`,
	"RayJob":     `{"spec":{"runtimeEnvYAML":"{}"}}`,
	"RayService": `{"spec":{"suspend":true}}`,
	"RayCronJob": `{"spec":{"suspend":true}}`,
}

// statuses are what the operator may write.
var statuses = map[string]string{
	"RayCluster": `{"status":{"state":"ready"}}`,
	"RayJob":     `{"status":{"jobDeploymentStatus":"Running"}}`,
	"RayService": `{"status":{"serviceStatus":"Running"}}`,
	"RayCronJob": `{"status":{"lastScheduleTime":"2026-01-01T00:00:00Z"}}`,
}

// TestEveryStoredExampleStaysUsable does the same to each invalid object that a controller was shown.
func TestEveryStoredExampleStaysUsable(t *testing.T) {
	needLab(t)
	for _, s := range settings {
		for _, ns := range s.stored {
			if ns != nsRatchet(s) {
				everyLayer(t, s, ns)
			}
		}
	}
	asked := map[string]bool{}
	for _, c := range lab.cases {
		asked[c.Kind+"/"+c.ID] = asked[c.Kind+"/"+c.ID] || c.namespace != ""
	}
	for example := range worse {
		if !asked[example] {
			t.Errorf("no example of %s is stored", example)
		}
	}
	_ = forEach(len(lab.cases), func(i int) error {
		if c := lab.cases[i]; c.namespace != "" {
			c.staysUsable(t)
		}
		return nil
	})
}

func (c *testCase) staysUsable(t *testing.T) {
	name := c.object.GetName()
	if patch, known := worse[c.Kind+"/"+c.ID]; known {
		err := apply(t.Context(), c.Kind, c.namespace, name, change{kind: types.JSONPatchType, patch: patch})
		if err == nil || !strings.Contains(err.Error(), "("+c.ID+")") {
			t.Errorf("%s: it may become worse: %v", c, err)
		}
	}
	var changes []change
	if !strings.HasSuffix(c.ID, "-581") { // those have no spec
		changes = append(changes, change{"changed elsewhere", types.MergePatchType, elsewhere[c.Kind]})
	}
	if rc, ok := c.object.(*rayv1.RayCluster); ok && movableGroup(rc) >= 0 {
		changes = append(changes, autoscaler(movableGroup(rc)))
	}
	for _, change := range changes {
		if err := try(t.Context(), c.Kind, c.namespace, name, change); err != nil {
			t.Errorf("%s: it cannot be %s: %v", c, change.name, err)
		}
	}
	if err := try(t.Context(), c.Kind, c.namespace, name, change{kind: types.MergePatchType, patch: statuses[c.Kind]}, "status"); err != nil {
		t.Errorf("%s: it cannot be given a status: %v", c, err)
	}
	if err := apply(t.Context(), c.Kind, c.namespace, name, held); err != nil {
		t.Errorf("%s: it cannot be %s: %v", c, held.name, err)
	}
	if err := deleteHeld(t.Context(), c.Kind, c.namespace, name); err != nil {
		t.Errorf("%s: %v", c, err)
	}
}

// movableGroup is a group whose number of workers no rule is about, or -1.
func movableGroup(rc *rayv1.RayCluster) int {
	for i, g := range rc.Spec.WorkerGroupSpecs {
		if g.MaxReplicas != nil && *g.MaxReplicas >= 2 && (g.MinReplicas == nil || *g.MinReplicas <= 2) && (g.Replicas == nil || *g.Replicas >= 0) {
			return i
		}
	}
	return -1
}
