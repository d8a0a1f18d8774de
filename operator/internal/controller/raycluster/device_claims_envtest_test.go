package raycluster

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/devices/claims"
)

// objects creates what a manifest has; names and drivers in it may have $NS, the namespace of the world.
func (w *world) objects(manifest string) {
	w.T.Helper()
	for text := range strings.SplitSeq(strings.ReplaceAll(manifest, "$NS", w.Namespace), "---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			w.T.Fatal(err)
		}
		if u.GetKind() == "ResourceClaimTemplate" || u.GetKind() == "ResourceClaim" {
			u.SetNamespace(w.Namespace)
		}
		w.Create(u)
		if u.GetNamespace() == "" {
			w.T.Cleanup(func() { _ = w.Client.Delete(w.T.Context(), u) })
		}
	}
}

// simulatedDriver is what the driver of a node publishes: four GPUs on each of two nodes, and the class for them.
func (w *world) simulatedDriver(annotations string) {
	w.T.Helper()
	var nodes corev1.NodeList
	if err := w.Client.List(w.T.Context(), &nodes); err != nil || len(nodes.Items) < 2 {
		w.T.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	w.objects(`apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: class-$NS, annotations: {` + annotations + `}}
spec: {selectors: [{cel: {expression: 'device.driver == "$NS.example.com"'}}]}
`)
	for _, node := range nodes.Items[:2] {
		w.objects(`apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: ` + node.Name + `-$NS}
spec:
  driver: $NS.example.com
  nodeName: ` + node.Name + `
  pool: {name: ` + node.Name + `, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}, {name: gpu-3}]
`)
	}
}

const twoOfClass = `apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: class-$NS, count: 2}}]}}}
`

// claiming lets the Ray container of a template use a claim for each Pod.
func claiming(t *corev1.PodTemplateSpec, template string) {
	t.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	t.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
}

// startsWith reports whether the start command of a Pod, and the variable with it, have the flag.
func startsWith(p *corev1.Pod, flag string) bool {
	c := p.Spec.Containers[0]
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "KUBERAY_GEN_RAY_START_CMD" })
	return i >= 0 && strings.Contains(strings.Join(c.Args, " "), " "+flag+" ") && strings.Contains(c.Env[i].Value, " "+flag+" ")
}

// asks counts requests that read kinds of resource.k8s.io.
func (w *world) asks() *atomic.Int64 {
	n := &atomic.Int64{}
	w.config = rest.CopyConfig(w.config)
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.Path, "/resource.k8s.io/") {
				n.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	return n
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRayStartsWithClaimedDevices: the scheduler of Kubernetes allocates the devices, and Ray is started with their number.
func TestRayStartsWithClaimedDevices(t *testing.T) {
	w := newWorld(t)
	w.asOperator()
	asked := w.asks()
	w.simulatedDriver(claims.AnnotationRayResource + ": GPU")
	w.objects(twoOfClass)
	w.startOperator()
	rc := w.cluster("demo", raytest.Workers("gpu", 1), raytest.Workers("cpu", 1))
	claiming(&rc.Spec.HeadGroupSpec.Template, "two")
	claiming(&rc.Spec.WorkerGroupSpecs[0].Template, "two")
	w.Create(rc)
	rc = w.eventuallyReady("demo")
	if got := rc.Status.DesiredGPU.Value(); got != 4 {
		t.Errorf("status.desiredGPU is %d, want 2 of the head and 2 of a worker", got)
	}
	for _, p := range w.pods("demo") {
		devices := p.Labels[rayv1.LabelGroup] != "cpu"
		if startsWith(&p, "--num-gpus=2") != devices || (p.Annotations[rayv1.AnnotationClaimedDevices] == "GPU=2") != devices {
			t.Errorf("%s starts with %q, annotations %v", p.Name, p.Spec.Containers[0].Args, p.Annotations)
		}
		if devices && allocated(w, &p) != 2 {
			t.Errorf("%s has %d devices, want 2", p.Name, allocated(w, &p))
		}
	}
	// From now on the operator reads its caches.
	before := asked.Load()
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(2)) })
	w.Eventually("another worker", func() bool { return w.get("demo").Status.DesiredGPU.Value() == 6 })
	w.fence("demo")
	if got := asked.Load() - before; got > 0 {
		t.Errorf("the operator sent %d more requests about claims", got)
	}
}

// allocated counts the devices of the claims that Kubernetes made for a Pod.
func allocated(w *world, p *corev1.Pod) (n int) {
	for _, s := range p.Status.ResourceClaimStatuses {
		claim := &resourcev1.ResourceClaim{ObjectMeta: w.At(*s.ResourceClaimName)}
		if w.Read(claim) && claim.Status.Allocation != nil {
			n += len(claim.Status.Allocation.Devices.Results)
		}
	}
	return n
}

// TestPodsWaitForTheirTemplate: only those of the group whose number is unknown, until the template and the class exist.
func TestPodsWaitForTheirTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	rc := w.cluster("demo", raytest.Workers("gpu", 1), raytest.Workers("given", 1), raytest.Workers("cpu", 1))
	claiming(&rc.Spec.WorkerGroupSpecs[0].Template, "two")
	claiming(&rc.Spec.WorkerGroupSpecs[1].Template, "two")
	rc.Spec.WorkerGroupSpecs[1].RayStartParams = map[string]string{"num-gpus": "2"}
	w.Create(rc)
	w.Eventually("other Pods", func() bool { return len(w.pods("demo")) == 3 })
	w.oneEvent("demo", reasonClaimNotFound)
	if got := w.inGroup("demo", "gpu"); got != 0 {
		t.Errorf("%d Pods with an unknown number of GPUs", got)
	}
	w.objects(twoOfClass)
	w.Eventually("the class to be missed", func() bool { return len(w.Events("demo", reasonClaimNotFound)) == 2 })
	if got := w.inGroup("demo", "gpu"); got != 0 {
		t.Errorf("%d Pods without a class", got)
	}
	w.simulatedDriver(claims.AnnotationRayResource + ": GPU")
	w.eventuallyReady("demo")
	for _, p := range w.pods("demo") {
		if group := p.Labels[rayv1.LabelGroup]; startsWith(&p, "--num-gpus=2") != (group == "gpu" || group == "given") {
			t.Errorf("%s starts with %q", p.Name, p.Spec.Containers[0].Args)
		}
	}
}

// TestClaimThatPodsShare: each Pod sees the devices of the claim, which the status counts once.
func TestClaimThatPodsShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asOperator()
	w.simulatedDriver(claims.AnnotationRayResource + ": GPU")
	w.startOperator()
	rc := w.cluster("demo", raytest.Workers("gpu", 2, raytest.Bounds(2, 3)))
	rc.Spec.EnableInTreeAutoscaling = new(true) // which does not know the devices
	claiming(&rc.Spec.WorkerGroupSpecs[0].Template, "")
	rc.Spec.WorkerGroupSpecs[0].Template.Spec.ResourceClaims[0] = corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: new("four")}
	w.Create(rc)
	w.oneEvent("demo", reasonClaimNotFound)
	w.objects(`apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: four}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: class-$NS, count: 4}}]}}
`)
	rc = w.eventuallyReady("demo")
	w.oneEvent("demo", reasonClaimsNotCounted)
	if got := rc.Status.DesiredGPU.Value(); got != 4 {
		t.Errorf("status.desiredGPU is %d, want the 4 of the claim", got)
	}
	for _, p := range w.pods("demo") {
		if startsWith(&p, "--num-gpus=4") != (p.Labels[rayv1.LabelGroup] == "gpu") {
			t.Errorf("%s starts with %q", p.Name, p.Spec.Containers[0].Args)
		}
	}
}

// TestClassThatSaysNothing: Pods run without a number, until the class says what its devices are.
func TestClassThatSaysNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.simulatedDriver("")
	w.objects(twoOfClass)
	w.startOperator(withDeviceFacts(t))
	rc := w.cluster("demo", raytest.Workers("gpu", 1, raytest.Bounds(1, 3)))
	rc.Spec.EnableInTreeAutoscaling = new(true)
	claiming(&rc.Spec.WorkerGroupSpecs[0].Template, "two")
	w.Create(rc)
	w.eventuallyReady("demo")
	w.oneEvent("demo", reasonClaimsNotCounted)
	for _, p := range w.pods("demo") {
		if p.Labels[rayv1.LabelGroup] == "gpu" && strings.Contains(p.Spec.Containers[0].Args[0], "--num-gpus") {
			t.Errorf("%s starts with %q", p.Name, p.Spec.Containers[0].Args)
		}
	}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "class-" + w.Namespace}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"annotations": {"`+claims.AnnotationRayResource+`": "GPU"}}}`))
	if err := w.Client.Patch(t.Context(), class, patch); err != nil {
		t.Fatal(err)
	}
	w.eventuallyFacts(gpus("gpu", "2"))
	w.Eventually("the status", func() bool { return w.get("demo").Status.DesiredGPU.Value() == 2 })
}

// TestClaimsThatMayNotBeRead: an operator with the rights of an older release creates Pods as KubeRay does.
func TestClaimsThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.simulatedDriver(claims.AnnotationRayResource + ": GPU")
	w.objects(twoOfClass)
	w.operator = "operator-of-" + w.Namespace
	w.allow(rbacv1.PolicyRule{APIGroups: []string{"", "ray.io", "batch", "events.k8s.io", "networking.k8s.io", "rbac.authorization.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	w.startOperator()
	rc := w.cluster("demo")
	claiming(&rc.Spec.HeadGroupSpec.Template, "two")
	w.Create(rc)
	w.eventuallyReady("demo")
	w.oneEvent("demo", reasonClaimsNotCounted)
}

// TestClaimsOfAnOldKubernetes: the API is not served, so that nothing is read or awaited.
func TestClaimsOfAnOldKubernetes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.beside = func(_ ctrl.Manager, c *Config) { c.APIs = nil }
	w.startOperator()
	rc := w.cluster("demo")
	claiming(&rc.Spec.HeadGroupSpec.Template, "late")
	w.Create(rc)
	w.Eventually("a head", func() bool { return len(w.pods("demo")) == 1 })
	w.oneEvent("demo", reasonClaimsNotCounted)
}
