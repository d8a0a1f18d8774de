package conversion

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	rayv1alpha1 "github.com/raygate/raygate/api/ray/v1alpha1"
)

// object decodes YAML as the API server decodes JSON.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := map[string]any{}
	if err := utiljson.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func convert(t testing.TB, obj map[string]any, to schema.GroupVersion) map[string]any {
	t.Helper()
	out := runtime.DeepCopyJSON(obj)
	if err := Convert(out, to); err != nil {
		t.Fatal(err)
	}
	return out
}

const everything = `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo, namespace: ns, uid: u, annotations: {mine: "1"}}
spec:
  managedBy: ray.io/kuberay-operator
  suspend: false
  autoscalerOptions: {version: v2, image: a}
  networkPolicy: {mode: DenyAll, head: {ingressRules: [{ports: [{port: 80}, {port: http}]}]}}
  headGroupSpec:
    labels: {zone: a}
    ingressOptions: {path: /x}
    template: {spec: {containers: [{name: ray, resources: {limits: {cpu: 1000m, memory: 1.50Gi}}}]}}
  workerGroupSpecs:
  - {groupName: a, replicas: 1, minReplicas: 0, maxReplicas: 3, numOfHosts: 2, priority: 0, template: {}, rayStartParams: {}}
  - {groupName: b, replicas: 1, minReplicas: 0, maxReplicas: 3, numOfHosts: 1, idleTimeoutSeconds: 7, template: {}}
  - {groupName: c, replicas: 1, minReplicas: 0, maxReplicas: 3, numOfHosts: 4, template: {}}
status:
  state: ready
  head: {podIP: 10.0.0.1, podName: demo-head}
  conditions: [{type: HeadPodReady, status: "True"}]
`

func TestToOldVersion(t *testing.T) {
	want := object(t, `
apiVersion: ray.io/v1alpha1
kind: RayCluster
metadata: {name: demo, namespace: ns, uid: u, annotations: {mine: "1"}}
spec:
  suspend: false
  autoscalerOptions: {image: a}
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: ray, resources: {limits: {cpu: 1000m, memory: 1.50Gi}}}]}}
  workerGroupSpecs:
  - {groupName: a, replicas: 1, minReplicas: 0, maxReplicas: 3, template: {}, rayStartParams: {}}
  - {groupName: b, replicas: 1, minReplicas: 0, maxReplicas: 3, template: {}, rayStartParams: {}}
  - {groupName: c, replicas: 1, minReplicas: 0, maxReplicas: 3, template: {}, rayStartParams: {}}
status:
  state: ready
  head: {podIP: 10.0.0.1}
`)
	got := convert(t, object(t, everything), rayv1alpha1.GroupVersion)
	annotations := got["metadata"].(map[string]any)["annotations"].(map[string]any)
	preserved := annotations[AnnotationHubExtra].(string)
	delete(annotations, AnnotationHubExtra)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("as v1alpha1 (-want +got):\n%s", diff)
	}
	wantPreserved := object(t, `
$format: 1
spec:
  managedBy: ray.io/kuberay-operator
  autoscalerOptions: {version: v2}
  networkPolicy: {mode: DenyAll, head: {ingressRules: [{ports: [{port: 80}, {port: http}]}]}}
  headGroupSpec: {$absent: [rayStartParams], labels: {zone: a}, ingressOptions: {path: /x}}
  workerGroupSpecs:
  - {groupName: a, numOfHosts: 2, priority: 0}
  - {groupName: b, $absent: [rayStartParams], numOfHosts: 1, idleTimeoutSeconds: 7}
  - {groupName: c, $absent: [rayStartParams], numOfHosts: 4}
status:
  head: {podName: demo-head}
  conditions: [{type: HeadPodReady, status: "True"}]
`)
	if diff := cmp.Diff(wantPreserved, object(t, preserved)); diff != "" {
		t.Errorf("preserved fields (-want +got):\n%s", diff)
	}
}

// An old client that edits what it sees changes just that.
func TestEditThroughOldVersion(t *testing.T) {
	seen := convert(t, object(t, everything), rayv1alpha1.GroupVersion)
	spec := seen["spec"].(map[string]any)
	groups := spec["workerGroupSpecs"].([]any)
	groups[0].(map[string]any)["replicas"] = int64(3)
	groups[2].(map[string]any)["groupName"] = "renamed"
	spec["workerGroupSpecs"] = []any{groups[2], groups[0], map[string]any{"groupName": "new", "rayStartParams": map[string]any{}}} // b goes
	spec["headGroupSpec"].(map[string]any)["rayStartParams"] = map[string]any{"num-cpus": "0"}
	delete(spec, "autoscalerOptions")

	want := object(t, `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo, namespace: ns, uid: u, annotations: {mine: "1"}}
spec:
  managedBy: ray.io/kuberay-operator
  suspend: false
  networkPolicy: {mode: DenyAll, head: {ingressRules: [{ports: [{port: 80}, {port: http}]}]}}
  headGroupSpec:
    labels: {zone: a}
    ingressOptions: {path: /x}
    rayStartParams: {num-cpus: "0"}
    template: {spec: {containers: [{name: ray, resources: {limits: {cpu: 1000m, memory: 1.50Gi}}}]}}
  workerGroupSpecs:
  - {groupName: renamed, replicas: 1, minReplicas: 0, maxReplicas: 3, template: {}, rayStartParams: {}}
  - {groupName: a, replicas: 3, minReplicas: 0, maxReplicas: 3, numOfHosts: 2, priority: 0, template: {}, rayStartParams: {}}
  - {groupName: new, rayStartParams: {}}
status:
  state: ready
  head: {podIP: 10.0.0.1, podName: demo-head}
  conditions: [{type: HeadPodReady, status: "True"}]
`)
	if diff := cmp.Diff(want, convert(t, seen, rayv1.GroupVersion)); diff != "" {
		t.Errorf("stored after the edit (-want +got):\n%s", diff)
	}
}

// Each case is a v1 object that must come back as it was, or a v1alpha1 object that must.
func TestRoundTrip(t *testing.T) {
	cases := map[string]string{
		"everything":                   everything,
		"nothing but a name":           "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}}",
		"no metadata":                  "{apiVersion: ray.io/v1, kind: RayJob, status: {failed: 0, reason: AppFailed}}",
		"two groups of one name":       "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {workerGroupSpecs: [{groupName: a, numOfHosts: 1}, {groupName: a, numOfHosts: 2}, {numOfHosts: 3}, {groupName: ''}]}}",
		"an explicit zero":             "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {workerGroupSpecs: [{groupName: a, numOfHosts: 0, suspend: false}]}}",
		"nulls":                        "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {managedBy: null, headGroupSpec: null, workerGroupSpecs: [null, {groupName: b, labels: null}]}}",
		"wrong types":                  "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {headGroupSpec: 7, workerGroupSpecs: {a: b}, autoscalerOptions: [1]}, status: none}",
		"a field from the future":      "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {moonPhase: {full: [1, 2.5]}, headGroupSpec: {tail: x}}}",
		"a job without entrypoint":     "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: a}, spec: {rayClusterSpec: {headGroupSpec: {labels: {a: b}}}, submissionMode: HTTPMode, backoffLimit: 3}}",
		"an unknown enum value":        "{apiVersion: ray.io/v1, kind: RayService, metadata: {name: a}, spec: {upgradeStrategy: {type: Sideways}, rayClusterConfig: {upgradeStrategy: {type: Nope}}}}",
		"old: health times":            "{apiVersion: ray.io/v1alpha1, kind: RayService, metadata: {name: a, annotations: {x: y}}, status: {activeServiceStatus: {applicationStatuses: {app: {status: RUNNING, healthLastUpdateTime: '2024-01-01T00:00:00Z', serveDeploymentStatuses: {d/e~: {healthLastUpdateTime: '2024-01-01T00:00:00Z'}}}}}}}",
		"old: service without cluster": "{apiVersion: ray.io/v1alpha1, kind: RayService, metadata: {name: a}, spec: {serveConfigV2: ''}}",
		"old: a job":                   "{apiVersion: ray.io/v1alpha1, kind: RayJob, metadata: {name: a}, spec: {entrypoint: '', suspend: true}}",
		"unicode group":                "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {workerGroupSpecs: [{groupName: 'größe~/ω', numOfHosts: 2}]}}",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			want := object(t, text)
			first, second := rayv1alpha1.GroupVersion, rayv1.GroupVersion
			if strings.HasPrefix(name, "old: ") {
				first, second = second, first
			}
			there := convert(t, want, first)
			if got := there["apiVersion"]; got != first.String() {
				t.Errorf("apiVersion %v, want %s", got, first)
			}
			if diff := cmp.Diff(want, convert(t, there, second)); diff != "" {
				t.Errorf("there and back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConvertKnowsWhatItCannotDo(t *testing.T) {
	cases := map[string]struct {
		obj  string
		to   schema.GroupVersion
		want string
	}{
		"unknown kind":    {"{apiVersion: ray.io/v1, kind: Pizza}", rayv1alpha1.GroupVersion, "Pizza"},
		"unknown version": {"{apiVersion: ray.io/v7, kind: RayJob}", rayv1.GroupVersion, `"ray.io/v7"`},
		"unknown wish":    {"{apiVersion: ray.io/v1, kind: RayJob}", schema.GroupVersion{Group: "ray.io", Version: "v2"}, `"ray.io/v2"`},
		"no version":      {"{kind: RayJob}", rayv1.GroupVersion, "known versions are"},
		"silly version":   {"{apiVersion: a/b/c, kind: RayJob}", rayv1.GroupVersion, "a/b/c"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Convert(object(t, tc.obj), tc.to)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one about %s", err, tc.want)
			}
		})
	}
}

// Preserved fields that we did not write must not get into v1 what v1 does not hold.
func TestForgedPreservedFields(t *testing.T) {
	cases := map[string]struct{ preserved, want string }{
		"not JSON":            {"{", "{suspend: true}"},
		"no format":           {`{"spec":{"managedBy":"x"}}`, "{suspend: true}"},
		"another format":      {`{"$format":2,"spec":{"managedBy":"x"}}`, "{suspend: true}"},
		"a shared field":      {`{"$format":1,"spec":{"suspend":false,"rayVersion":"2"}}`, "{suspend: true}"},
		"a shared parent":     {`{"$format":1,"spec":{"headGroupSpec":{"labels":{"a":"b"}}}}`, "{suspend: true}"},
		"a value of no type":  {`{"$format":1,"spec":{"managedBy":7,"tlsOptions":"on"}}`, "{suspend: true}"},
		"a value of its type": {`{"$format":1,"spec":{"managedBy":"x"}}`, "{suspend: true, managedBy: x}"},
		"metadata":            {`{"$format":1,"metadata":{"name":"other","finalizers":["x"]},"kind":"Pod"}`, "{suspend: true}"},
		"not gzip":            {"gzip:AAAA", "{suspend: true}"},
		"a list":              {"[]", "{suspend: true}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := object(t, "{apiVersion: ray.io/v1alpha1, kind: RayCluster, metadata: {name: a}, spec: {suspend: true}}")
			obj["metadata"].(map[string]any)["annotations"] = map[string]any{AnnotationHubExtra: tc.preserved}
			want := object(t, "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: "+tc.want+"}")
			if diff := cmp.Diff(want, convert(t, obj, rayv1.GroupVersion)); diff != "" {
				t.Errorf("v1 object (-want +got):\n%s", diff)
			}
		})
	}
}

// Preserved fields that do not fit into the annotation are hidden and protected, not lost.
func TestPreservedFieldsBudget(t *testing.T) {
	groups := func(n int, value func(i int) string) map[string]any {
		obj := object(t, "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {workerGroupSpecs: []}}")
		var list []any
		for i := range n {
			list = append(list, map[string]any{
				"groupName": fmt.Sprint("group-", i), "numOfHosts": int64(1), "priority": int64(0), "suspend": true, "idleTimeoutSeconds": int64(i),
				"resources": map[string]any{"CPU": "1", "custom": value(i)}, "labels": map[string]any{"zone": value(i)},
			})
		}
		obj["spec"].(map[string]any)["workerGroupSpecs"] = list
		return obj
	}
	preservedOf := func(obj map[string]any) string {
		return obj["metadata"].(map[string]any)["annotations"].(map[string]any)[AnnotationHubExtra].(string)
	}

	many := groups(128, func(i int) string { return fmt.Sprint("value-", i) })
	seen := convert(t, many, rayv1alpha1.GroupVersion)
	if got := len(preservedOf(seen)); got > 30_000 {
		t.Errorf("128 groups with every field of v1 preserve %d bytes", got)
	}
	if diff := cmp.Diff(many, convert(t, seen, rayv1.GroupVersion)); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}

	// Text that does not compress. The preserved fields do not fit, the object stays readable, and a write is refused.
	noise := uint64(1)
	huge := groups(128, func(int) string {
		b := make([]byte, 4000)
		for i := range b {
			noise = noise*6364136223846793005 + 1442695040888963407
			b[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[noise>>58]
		}
		return string(b)
	})
	seen = convert(t, huge, rayv1alpha1.GroupVersion)
	if got := preservedOf(seen); len(got) > 100 {
		t.Errorf("preserved fields of %d bytes, want a note that they are missing", len(got))
	}
	if err := Convert(seen, rayv1.GroupVersion); err == nil || !strings.Contains(err.Error(), "write it through ray.io/v1") {
		t.Errorf("error %v, want one that refuses the write", err)
	}
}

func TestRestore(t *testing.T) {
	cases := map[string]struct {
		after string
		want  []string
	}{
		"nothing lost": {everything, nil},
		"all lost, defaults filled in by the API server": {`
apiVersion: ray.io/v1
kind: RayCluster
spec:
  suspend: true
  headGroupSpec: {rayStartParams: {}}
  workerGroupSpecs: [{groupName: c, numOfHosts: 1, priority: 0}, {groupName: a, numOfHosts: 1, priority: 0}, {groupName: b, numOfHosts: 1, priority: 0, idleTimeoutSeconds: 9}]
`, []string{
			"/spec/headGroupSpec/ingressOptions", "/spec/headGroupSpec/labels", "/spec/managedBy", "/spec/networkPolicy",
			"/spec/workerGroupSpecs/0/numOfHosts", "/spec/workerGroupSpecs/1/numOfHosts", "/status",
		}},
		"all lost": {`
apiVersion: ray.io/v1
kind: RayCluster
spec:
  suspend: true
  autoscalerOptions: {image: a}
  headGroupSpec: {rayStartParams: {}}
  workerGroupSpecs: [{groupName: c}, {groupName: new}, {groupName: a, numOfHosts: 9}]
`, []string{
			"/spec/autoscalerOptions/version", "/spec/headGroupSpec/ingressOptions", "/spec/headGroupSpec/labels", "/spec/managedBy",
			"/spec/networkPolicy", "/spec/workerGroupSpecs/0/numOfHosts", "/spec/workerGroupSpecs/2/priority", "/status",
		}},
		"a status half lost":       {strings.Replace(everything, "podName: demo-head", "", 1), []string{"/status"}},
		"a status as told by rote": {strings.Replace(everything, "state: ready", "state: suspended", 1), nil},
		"an unknown kind":          {"{kind: Pizza}", nil},
		"a kind of v1 only":        {"{kind: RayCronJob, spec: {schedule: '@daily'}}", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after := object(t, tc.after)
			defaults := object(t, tc.after)
			Common(defaults)
			spec, _ := defaults["spec"].(map[string]any)
			groups, _ := spec["workerGroupSpecs"].([]any)
			for _, g := range groups {
				g := g.(map[string]any)
				g["numOfHosts"], g["priority"] = int64(1), int64(0)
			}
			before := runtime.DeepCopyJSON(after)
			Restore(after, object(t, everything), defaults)
			if diff := cmp.Diff(tc.want, changed(t, before, after)); diff != "" {
				t.Errorf("restored (-want +got):\n%s", diff)
			}
			once := runtime.DeepCopyJSON(after)
			Restore(after, object(t, everything), defaults)
			if again := changed(t, once, after); again != nil {
				t.Errorf("restoring again adds %v", again)
			}
		})
	}
}

// changed are the JSON pointers of fields that differ, sorted; the status as a whole.
func changed(t *testing.T, before, after map[string]any) []string {
	t.Helper()
	a, errA := json.Marshal(before)
	b, errB := json.Marshal(after)
	ops, err := jsonpatch.CreatePatch(a, b)
	if err := errors.Join(errA, errB, err); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, op := range ops {
		if strings.HasPrefix(op.Path, "/status/") {
			op.Path = "/status"
		}
		list = append(list, op.Path)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// The registry must know every kind that the scheme of v1alpha1 has, and no other.
func TestEveryKindOfTheOldVersionHasAPlan(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rayv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var want []string
	for kind, typ := range scheme.KnownTypes(rayv1alpha1.GroupVersion) {
		if strings.HasPrefix(typ.PkgPath(), ownPackages) && !strings.HasSuffix(kind, "List") {
			want = append(want, kind)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(plans))); diff != "" {
		t.Errorf("kinds with a plan (-want +got):\n%s", diff)
	}
}

// A kind that came with v1 is known in v1 and in no other version, and converting it to itself changes nothing.
func TestKindOfOneVersion(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, typ := range scheme.KnownTypes(rayv1.GroupVersion) {
		if !strings.HasPrefix(typ.PkgPath(), ownPackages) || strings.HasSuffix(kind, "List") {
			continue
		}
		if !Known(rayv1.GroupVersion.WithKind(kind)) {
			t.Errorf("%s of v1 is not known", kind)
		}
		if old := Known(rayv1alpha1.GroupVersion.WithKind(kind)); old == hubOnly[kind] || old != Converts(kind) {
			t.Errorf("%s of v1alpha1 is known: %t", kind, old)
		}
	}
	const text = "{apiVersion: ray.io/v1, kind: RayCronJob, metadata: {name: a, annotations: {x: y}}, spec: {schedule: '@daily', moonPhase: full, jobTemplate: {backoffLimit: 3}}}"
	if diff := cmp.Diff(object(t, text), convert(t, object(t, text), rayv1.GroupVersion)); diff != "" {
		t.Errorf("as v1 (-want +got):\n%s", diff)
	}
	if err := Convert(object(t, text), rayv1alpha1.GroupVersion); err == nil {
		t.Error("a RayCronJob is converted to v1alpha1, which has none")
	}
}
