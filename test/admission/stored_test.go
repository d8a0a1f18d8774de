package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// clusterPaths are where a RayClusterSpec stands in each kind.
var clusterPaths = map[string][]string{
	"rayclusters": {"spec"},
	"rayjobs":     {"spec", "rayClusterSpec"},
	"rayservices": {"spec", "rayClusterConfig"},
	"raycronjobs": {"spec", "jobTemplate", "rayClusterSpec"},
}

// storedExample is an object that was stored before there were rules, in a namespace of its own.
type storedExample struct {
	examples.Example
	plural, namespace string
	object            *unstructured.Unstructured
}

func (s storedExample) client() dynamic.ResourceInterface {
	return server.quiet.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: s.plural}).Namespace(s.namespace)
}

func (s storedExample) patch(ctx context.Context, kind types.PatchType, body string, sub ...string) error {
	_, err := s.client().Patch(ctx, s.object.GetName(), kind, []byte(body), metav1.PatchOptions{}, sub...)
	return err
}

// inTables reports whether the CRD has the rule, in its schema or in CEL, and KubeRay's has not.
func inTables(id string) bool {
	return len(celrules.LayersOf(id)) > 0 && !celrules.Native(id)
}

// storedExamples are all examples of a kind whose rules are in the CRD.
func storedExamples(t *testing.T, plural string) []storedExample {
	t.Helper()
	var stored []storedExample
	for i, e := range examples.All() {
		if pluralOf(e.Kind) != plural || e.Update || e.GoOnly || e.Severity != rule.SeverityError || !inTables(e.ID) || ofStatus[e.ID] {
			continue
		}
		object, _ := decoded(t, e.Object())
		if object.GetName() == "" {
			continue // the API server stores none without
		}
		u := toUnstructured(t, object)
		delete(u.Object, "status")
		if strings.HasSuffix(e.ID, "-581") {
			delete(u.Object, "spec")
		}
		s := storedExample{Example: e, plural: plural, namespace: fmt.Sprintf("stored-%d", i), object: u}
		u.SetNamespace(s.namespace)
		u.SetFinalizers([]string{"example.com/hold"})
		stored = append(stored, s)
	}
	return stored
}

// elsewhere are changes of the spec that have nothing to do with a rule.
var elsewhere = map[string]string{
	"rayclusters": `{"spec":{"suspend":true}}`,
	"rayjobs":     `{"spec":{"runtimeEnvYAML":"{}"}}`,
	"rayservices": `{"spec":{"suspend":true}}`,
	"raycronjobs": `{"spec":{"suspend":true}}`,
}

// statuses are what the operator writes.
var statuses = map[string]string{
	"rayclusters": `{"status":{"state":"ready"}}`,
	"rayjobs":     `{"status":{"jobDeploymentStatus":"Running"}}`,
	"rayservices": `{"status":{"serviceStatus":"Running"}}`,
	"raycronjobs": `{"status":{"lastScheduleTime":"2026-01-01T00:00:00Z"}}`,
}

// scaling is what the Ray autoscaler sends about the first group. Empty if there is none.
func (s storedExample) scaling(t *testing.T) string {
	t.Helper()
	groups, _, _ := unstructured.NestedSlice(s.object.Object, append(slices.Clone(clusterPaths[s.plural]), "workerGroupSpecs")...)
	if len(groups) == 0 {
		return ""
	}
	replicas := int64(1)
	if groups[0].(map[string]any)["replicas"] == replicas {
		replicas = 2
	}
	group := "/" + strings.Join(clusterPaths[s.plural], "/") + "/workerGroupSpecs/0"
	return fmt.Sprintf(`[{"op":"replace","path":"%[1]s/replicas","value":%[2]d},{"op":"add","path":"%[1]s/scaleStrategy","value":{"workersToDelete":["gone"]}}]`, group, replicas)
}

// worse are changes that break the rule of an example once more, by its kind, id and name.
var worse = map[string]string{
	"RayCluster/RC-034": `[{"op":"add","path":"/spec/headGroupSpec/rayStartParams/memory","value":"1"},{"op":"add","path":"/spec/headGroupSpec/rayStartParams/num-gpus","value":"1"}]`,
	"RayCluster/RC-048": anotherGroup(`"idleTimeoutSeconds":5`),
	"RayCluster/RC-052": anotherGroup(`"priority":5`),
	"RayCluster/RC-072": anotherGroup(`"suspend":true`),
	"RayCluster/RC-075": `[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{"groupName":"more","template":{"spec":{"restartPolicy":"Always","containers":[{"name":"ray"}]}}}}]`,
	"RayCluster/RC-102": `[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{"groupName":"More","template":{"spec":{"containers":[{"name":"ray"}]}}}}]`,
	"RayCluster/RC-093": `[{"op":"replace","path":"/spec/rayVersion","value":"2.3.0"}]`,
	"RayCluster/RC-503": `[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{"groupName":"m_ore","replicas":1,"template":{"spec":{"containers":[{"name":"ray"}]}}}}]`,
}

func anotherGroup(field string) string {
	return `[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{"groupName":"more",` + field + `,"template":{"spec":{"containers":[{"name":"ray"}]}}}}]`
}

// TestEveryStoredExampleStaysUsable stores an object for each rule of the CRDs before there are rules, and takes all of them
// through the writes of the autoscaler, the operator and users when there are.
func TestEveryStoredExampleStaysUsable(t *testing.T) {
	for _, plural := range plurals {
		t.Run(plural, func(t *testing.T) {
			stored := storedExamples(t, plural)
			if len(stored) < 5 {
				t.Fatalf("only %d examples of %s", len(stored), plural)
			}
			var report errorList
			beforeTheRules(t, plural, withServiceType(t, plural), func() {
				forEach(len(stored), func(i int) { report.add(stored[i], "stored", stored[i].store(t.Context())) })
			})
			forEach(len(stored), func(i int) { stored[i].use(t, &report) })
			for _, line := range report.lines {
				t.Error(line)
			}
		})
	}
}

// withServiceType is an object that the rules refuse and the schema without rules does not.
func withServiceType(t *testing.T, plural string) *unstructured.Unstructured {
	t.Helper()
	bases := map[string]validation.Object{"rayclusters": examples.Base(), "rayjobs": examples.BaseJob(), "rayservices": examples.BaseService(), "raycronjobs": examples.BaseCronJob()}
	object, _ := decoded(t, bases[plural])
	u := toUnstructured(t, object)
	delete(u.Object, "status")
	if err := unstructured.SetNestedField(u.Object, "Internal", append(slices.Clone(clusterPaths[plural]), "headGroupSpec", "serviceType")...); err != nil {
		t.Fatal(err)
	}
	return u
}

func (s storedExample) store(ctx context.Context) error {
	if _, err := server.core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := s.client().Create(ctx, s.object.DeepCopy(), metav1.CreateOptions{})
	return err
}

func (s storedExample) use(t *testing.T, report *errorList) {
	ctx := t.Context()
	if body, known := worse[s.Kind+"/"+s.ID]; known {
		if err := s.patch(ctx, types.JSONPatchType, body); err == nil || !strings.Contains(err.Error(), "("+s.ID+")") {
			report.add(s, "kept from getting worse", fmt.Errorf("the API server says: %w", err))
		}
	}
	if body := s.scaling(t); body != "" {
		report.add(s, "scaled by the autoscaler", s.patch(ctx, types.JSONPatchType, body))
	}
	if !strings.HasSuffix(s.ID, "-581") {
		report.add(s, "changed elsewhere", s.patch(ctx, types.MergePatchType, elsewhere[s.plural]))
	}
	report.add(s, "labelled", s.patch(ctx, types.MergePatchType, `{"metadata":{"labels":{"team":"a"},"annotations":{"note":"a"}}}`))
	report.add(s, "given a status", s.patch(ctx, types.MergePatchType, statuses[s.plural], "status"))
	report.add(s, "held", s.patch(ctx, types.JSONPatchType, `[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/more"}]`))
	report.add(s, "deleted", s.client().Delete(ctx, s.object.GetName(), metav1.DeleteOptions{}))
	report.add(s, "let go", s.patch(ctx, types.MergePatchType, `{"metadata":{"finalizers":null}}`))
	if _, err := s.client().Get(ctx, s.object.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		report.add(s, "gone", fmt.Errorf("it is still there: %w", err))
	}
}

// errorList collects what went wrong from several goroutines.
type errorList struct {
	mu    sync.Mutex
	lines []string
}

func (l *errorList) add(s storedExample, what string, err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%s cannot be %s: %v", s, what, err))
}
