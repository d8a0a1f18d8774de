package admission

import (
	"context"
	"maps"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// withoutRules takes out of a schema what the table of rules has put in, and makes workerGroupSpecs the plain list that
// it is in KubeRay.
func withoutRules(node *apiextensionsv1.JSONSchemaProps, path string, bounds map[string]bool) {
	kept := node.XValidations[:0]
	for _, v := range node.XValidations {
		if !ruleSuffix.MatchString(v.Message) && v.MessageExpression == "" {
			kept = append(kept, v)
		}
	}
	node.XValidations = kept
	if bounds[path] {
		node.Minimum, node.Maximum, node.MaxItems, node.MinLength, node.MaxLength, node.MaxProperties, node.Pattern = nil, nil, nil, nil, nil, nil, ""
	}
	if strings.HasSuffix(path, "emplate.spec") || strings.HasSuffix(path, "clusterUpgradeOptions") {
		node.Required = nil // so that there can be Pods without containers, and upgrades without a step
	}
	if strings.HasSuffix(path, "workerGroupSpecs") {
		node.XListType, node.XListMapKeys = nil, nil
	}
	for name, p := range node.Properties {
		withoutRules(&p, strings.TrimPrefix(path+"."+name, "."), bounds)
		node.Properties[name] = p
	}
	if node.Items != nil && node.Items.Schema != nil {
		withoutRules(node.Items.Schema, path+"[]", bounds)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		withoutRules(node.AdditionalProperties.Schema, path+"{}", bounds)
	}
}

// changeCRD gives the CRD of a kind another specification.
func changeCRD(ctx context.Context, t testing.TB, plural string, change func(*apiextensionsv1.CustomResourceDefinitionSpec)) {
	t.Helper()
	u, err := crds().Get(ctx, plural+".ray.io", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
		t.Fatal(err)
	}
	change(&crd.Spec)
	if u.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(crd); err != nil {
		t.Fatal(err)
	}
	if _, err := crds().Update(ctx, u, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// beforeTheRules runs f while the CRD has none of the rules, as KubeRay's has, and brings them back.
func beforeTheRules(t testing.TB, plural string, bad *unstructured.Unstructured, f func()) {
	t.Helper()
	var rules apiextensionsv1.CustomResourceDefinitionSpec
	changeCRD(t.Context(), t, plural, func(spec *apiextensionsv1.CustomResourceDefinitionSpec) {
		spec.DeepCopyInto(&rules)
		bounds := map[string]bool{}
		for _, b := range celrules.BoundsOf(plural) {
			bounds[b.Node] = true
		}
		for i := range spec.Versions {
			withoutRules(spec.Versions[i].Schema.OpenAPIV3Schema, "", bounds)
		}
	})
	accepted := func(ctx context.Context) bool {
		_, err := resourceOf(plural).Create(ctx, bad.DeepCopy(), dryRun)
		return err == nil
	}
	eventually(t, "the API server to forget the rules", accepted)
	f()
	changeCRD(t.Context(), t, plural, func(spec *apiextensionsv1.CustomResourceDefinitionSpec) { *spec = rules })
	eventually(t, "the API server to know the rules again", func(ctx context.Context) bool { return !accepted(ctx) })
}

// TestStoredObjectsStayUsable takes a cluster that was stored before there were rules, and that breaks many of them,
// through the writes of the autoscaler, the operator and users.
func TestStoredObjectsStayUsable(t *testing.T) {
	name := "stored-before-there-were-rules-with-a-name-that-is-far-too-long"
	pod := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "ray"}}}}
	headPod := map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "ray"}, map[string]any{"name": "autoscaler"}}, // RC-524
		"volumes":    []any{map[string]any{"name": "ray-tls", "emptyDir": map[string]any{}}},     // RC-573
	}}
	group := func(name string, fields map[string]any) map[string]any {
		g := map[string]any{"groupName": name, "template": pod}
		maps.Copy(g, fields)
		return g
	}
	bad := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ray.io/v1", "kind": "RayCluster",
		"metadata": map[string]any{"name": name, "finalizers": []any{"ray.io/gcs-ft-redis-cleanup-finalizer"}}, // RC-030
		"spec": map[string]any{
			"enableInTreeAutoscaling": true,
			"tlsOptions":              map[string]any{"enabled": true},
			"headGroupSpec":           map[string]any{"serviceType": "Internal", "template": headPod}, // RC-557
			"workerGroupSpecs": []any{
				group("a_b", map[string]any{"replicas": int64(1), "numOfHosts": int64(0), "labels": map[string]any{"key!": "a/b"}}), // RC-503, RC-509, RC-045, RC-046
				group("bounds", map[string]any{"minReplicas": int64(5), "maxReplicas": int64(3)}),                                   // RC-042
				group("good", nil), //
				group("huge", map[string]any{"numOfHosts": int64(4), "maxReplicas": int64(2000000000), "replicas": int64(2000000000)}),                                                                                                             // RC-510
				group(strings.Repeat("l", 60), map[string]any{"replicas": int64(1), "numOfHosts": int64(2), "template": map[string]any{"spec": map[string]any{"restartPolicy": "Sometimes", "containers": []any{map[string]any{"name": "ray"}}}}}), // RC-564, RC-560
			},
		},
	}}
	clusters := resourceOf("rayclusters")
	beforeTheRules(t, "rayclusters", bad, func() {
		if _, err := clusters.Create(t.Context(), bad, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	})

	pass := map[string]struct {
		kind types.PatchType
		body string
		sub  []string
	}{
		"the autoscaler scales a good group":          {types.JSONPatchType, `[{"op":"replace","path":"/spec/workerGroupSpecs/2/replicas","value":4}]`, nil},
		"the autoscaler scales a group that is wrong": {types.JSONPatchType, `[{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":4}]`, nil},
		"the autoscaler scales crossed bounds":        {types.JSONPatchType, `[{"op":"replace","path":"/spec/workerGroupSpecs/1/replicas","value":4}]`, nil},
		"the autoscaler names workers to delete":      {types.JSONPatchType, `[{"op":"add","path":"/spec/workerGroupSpecs/0/scaleStrategy","value":{"workersToDelete":["x"]}}]`, nil},
		"a label":                                     {types.MergePatchType, `{"metadata":{"labels":{"team":"a"}}}`, nil},
		"an annotation":                               {types.MergePatchType, `{"metadata":{"annotations":{"note":"a"}}}`, nil},
		"another field of the spec":                   {types.MergePatchType, `{"spec":{"suspend":true}}`, nil},
		"more hosts than before":                      {types.JSONPatchType, `[{"op":"replace","path":"/spec/workerGroupSpecs/0/numOfHosts","value":-2}]`, nil},
		"a manager that changes nothing":              {types.MergePatchType, `{"spec":{"managedBy":"ray.io/kuberay-operator"}}`, nil},
		"another field of the head":                   {types.MergePatchType, `{"spec":{"headGroupSpec":{"rayStartParams":{"num-cpus":"1"}}}}`, nil},
		"the status":                                  {types.MergePatchType, `{"status":{"state":"ready"}}`, []string{"status"}},
		"a finalizer more":                            {types.JSONPatchType, `[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/hold"}]`, nil},
		"one mistake of many repaired":                {types.MergePatchType, `{"spec":{"headGroupSpec":{"serviceType":"ClusterIP"}}}`, nil},
	}
	for what, tc := range pass {
		if _, err := clusters.Patch(t.Context(), name, tc.kind, []byte(tc.body), metav1.PatchOptions{}, tc.sub...); err != nil {
			t.Errorf("%s is refused: %v", what, err)
		}
	}

	refuse := map[string]struct{ body, rule string }{
		"bounds of another group":    {`[{"op":"add","path":"/spec/workerGroupSpecs/2/maxReplicas","value":3},{"op":"replace","path":"/spec/workerGroupSpecs/2/minReplicas","value":4}]`, "RC-042"},
		"another bad service type":   {`[{"op":"replace","path":"/spec/headGroupSpec/serviceType","value":"External"}]`, "RC-557"},
		"a bad group more":           {`[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{"groupName":"c d","replicas":1,"template":{"spec":{"containers":[{"name":"ray"}]}}}}]`, "RC-502"},
		"a second group of one name": {`[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{"groupName":"good","template":{"spec":{"containers":[{"name":"ray"}]}}}}]`, "Duplicate"},
		"no spec at all":             {`[{"op":"remove","path":"/spec"}]`, "RC-581"},
	}
	for what, tc := range refuse {
		_, err := clusters.Patch(t.Context(), name, types.JSONPatchType, []byte(tc.body), metav1.PatchOptions{})
		if err == nil || !strings.Contains(err.Error(), tc.rule) {
			t.Errorf("%s: got %v, want a refusal with %q", what, err, tc.rule)
		}
	}

	if err := clusters.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := clusters.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatalf("the finalizers cannot be removed: %v", err)
	}
	if _, err := clusters.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the cluster is still there: %v", err)
	}
}

// BenchmarkRayClusterWrites compares the time of a create, an update and a delete by a client, with the rules and without, and the CPU time that
// the API server takes for them, which other load on the machine changes less.
func BenchmarkRayClusterWrites(b *testing.B) {
	rc, _ := decoded(b, examples.Base())
	good := toUnstructured(b, rc)
	delete(good.Object, "status")
	bad := good.DeepCopy()
	if err := unstructured.SetNestedField(bad.Object, "Internal", "spec", "headGroupSpec", "serviceType"); err != nil {
		b.Fatal(err)
	}
	clusters := resourceOf("rayclusters")
	writes := func(b *testing.B) {
		awaitIdle(b, server.core) // it has more to do after a change of a CRD
		b.ResetTimer()
		before, rounds := processMetric(b, server.core, "process_cpu_seconds_total"), 0
		defer func() {
			b.ReportMetric((processMetric(b, server.core, "process_cpu_seconds_total")-before)*1000/float64(rounds), "CPU-ms/op")
		}()
		for b.Loop() {
			rounds++
			u, err := clusters.Create(b.Context(), good.DeepCopy(), metav1.CreateOptions{})
			if err != nil {
				b.Fatal(err)
			}
			if err := unstructured.SetNestedField(u.Object, true, "spec", "suspend"); err != nil {
				b.Fatal(err)
			}
			if _, err := clusters.Update(b.Context(), u, metav1.UpdateOptions{}); err != nil {
				b.Fatal(err)
			}
			if err := clusters.Delete(b.Context(), u.GetName(), metav1.DeleteOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	for range 3 {
		beforeTheRules(b, "rayclusters", bad, func() { b.Run("rules=none", writes) })
		b.Run("rules=all", writes)
	}
}
