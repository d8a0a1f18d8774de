package rayservice

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/served"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
	"github.com/raygate/raygate/test/controlplane"
)

// controlPlane has no nodes: tests decide what becomes of Pods. It has the full definitions, which refuse a status that they do not allow.
var controlPlane = controlplane.Share(controlplane.Options{Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// world is a namespace with a dashboard per cluster. The test plays the controller of RayClusters.
type world struct {
	*controlplane.World

	mu     sync.Mutex
	dashes map[string]*dashboardfake.Dashboard
	ill    map[string]bool // clusters whose proxies are not healthy
	writes []string        // to the API server, by the operator
	stop   func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: controlPlane.Env(t).World(t, "rayservice-"), dashes: map[string]*dashboardfake.Dashboard{}, ill: map[string]bool{}}
	// Endpoints are only those Pods whose node exists.
	if err := client.IgnoreAlreadyExists(w.Client.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})); err != nil {
		t.Fatal(err)
	}
	return w
}

const node = "only"

func (w *world) dash(cluster string) *dashboardfake.Dashboard {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dashes[cluster] == nil {
		w.dashes[cluster] = dashboardfake.New(clock.RealClock{})
	}
	return w.dashes[cluster]
}

func (w *world) connect(a dashboards.Address, _ dashboard.Token) (dashboard.Client, error) {
	cluster, _, _ := strings.Cut(a.HostPort, "-head-svc.")
	return w.dash(cluster), nil
}

func (w *world) healthy(_ context.Context, p dashboards.Pod) (bool, error) {
	cluster, _, _ := strings.Cut(p.Name, "-head")
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.ill[cluster], nil
}

func (w *world) setIll(cluster string, ill bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ill[cluster] = ill
}

// fast is a pace for tests.
var fast = Pace{Changing: 200 * time.Millisecond, Steady: 400 * time.Millisecond}

// startOperator starts the controller. The returned function ends it.
func (w *world) startOperator(changes ...func(*Config)) {
	w.T.Helper()
	mgr := w.Manager(nil, nil)
	kinds, err := served.New(mgr, w.Namespaces(), clock.RealClock{})
	if err != nil {
		w.T.Fatal(err)
	}
	c := Config{
		Client: w.counted(mgr.GetClient()), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(EventSource), Clock: clock.RealClock{},
		Connect: w.connect, Probe: w.healthy, APIs: kinds, Version: "v1", Gates: serveplan.Gates{IncrementalUpgrade: true}, Pace: fast,
	}
	for _, change := range changes {
		change(&c)
	}
	if err := New(c).SetupWithManager(w.T.Context(), mgr, controller.Options{SkipNameValidation: new(true), MaxConcurrentReconciles: 4}); err != nil {
		w.T.Fatal(err)
	}
	w.stop = w.Start(mgr)
}

func (w *world) note(verb string, o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kind := strings.TrimPrefix(strings.TrimPrefix(strings.Split(strings.ToLower(typeName(o)), ".")[1], "ray"), "*")
	w.writes = append(w.writes, verb+" "+kind+" "+o.GetName())
}

// fence returns when the operator has done about a RayService what it does now.
func (w *world) fence(name string) {
	w.T.Helper()
	w.Fence(&rayv1.RayService{ObjectMeta: w.At(name)})
}

// quiet fails when the operator writes something.
func (w *world) quiet(name string) {
	w.T.Helper()
	before := w.written("")
	w.fence(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if after := w.writes[before:]; len(after) > 0 {
		w.T.Errorf("written for nothing: %v", after)
	}
}

// counted notes writes.
func (w *world) counted(c client.Client) client.Client {
	return raytest.Around(w.Looking(c), func(verb string, o client.Object, write func() error) error {
		w.note(verb, o)
		return write()
	})
}

func (w *world) written(prefix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, line := range w.writes {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// service is a RayService whose old clusters go after a second.
func (w *world) service(name string, changes ...func(*rayv1.RayServiceSpec)) *rayv1.RayService {
	rs := &rayv1.RayService{ObjectMeta: w.At(name)}
	rs.Spec = rayv1.RayServiceSpec{
		ServeConfigV2: config1, RayClusterSpec: raytest.RayCluster("x/y", raytest.Workers("cpu", 1)).Spec, RayClusterDeletionDelaySeconds: new(int32(1)),
	}
	for _, change := range changes {
		change(&rs.Spec)
	}
	return rs
}

func (w *world) get(name string) *rayv1.RayService {
	w.T.Helper()
	rs := &rayv1.RayService{ObjectMeta: w.At(name)}
	w.Read(rs)
	return rs
}

func (w *world) edit(name string, do func(*rayv1.RayServiceSpec)) {
	w.T.Helper()
	w.Eventually("a change of "+name, func() bool {
		rs := w.get(name)
		do(&rs.Spec)
		return w.Client.Update(w.T.Context(), rs) == nil
	})
}

// eventually waits for a state of a RayService, and plays the controller of RayClusters meanwhile.
func (w *world) eventually(name, what string, ok func(*rayv1.RayService) bool) *rayv1.RayService {
	w.T.Helper()
	var rs *rayv1.RayService
	defer func() {
		if w.T.Failed() {
			w.T.Logf("%s: %+v\n%s", name, rs.Status, strings.Join(w.writes, "\n"))
		}
	}()
	w.Eventually(name+" to be "+what, func() bool {
		w.runClusters()
		rs = w.get(name)
		return ok(rs)
	})
	return rs
}

// runClusters makes head Service and head Pod of every cluster, ready, and lets nothing outlive its cluster.
func (w *world) runClusters() {
	w.T.Helper()
	ctx := w.T.Context()
	var list rayv1.RayClusterList
	if err := w.Client.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
		w.T.Fatal(err)
	}
	for i := range list.Items {
		rc := &list.Items[i]
		if rc.DeletionTimestamp != nil || meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.HeadPodReady) || rc.Labels["broken"] != "" {
			continue
		}
		svc, head := service.Head(rc, service.Options{}), pod.Head(rc, pod.Options{DeterministicHeadName: true})
		head.Name, head.Spec.NodeName, head.Spec.ServiceAccountName = rc.Name+"-head", node, "default"
		for _, o := range []client.Object{svc, head} {
			if err := client.IgnoreAlreadyExists(w.Client.Create(ctx, o)); err != nil {
				w.T.Fatal(err)
			}
		}
		w.setHead(rc.Name, corev1.ConditionTrue)
	}
}

// setHead makes the head Pod of a cluster ready, or not.
func (w *world) setHead(cluster string, ready corev1.ConditionStatus) {
	w.T.Helper()
	w.Eventually("the status of the head of "+cluster, func() bool {
		head := &corev1.Pod{ObjectMeta: w.At(cluster + "-head")}
		if !w.Read(head) {
			return false
		}
		head.Status.Phase, head.Status.PodIP, head.Status.PodIPs = corev1.PodRunning, "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}
		head.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		return w.Client.Status().Update(w.T.Context(), head) == nil
	})
	w.Eventually("the status of "+cluster, func() bool {
		rc := &rayv1.RayCluster{ObjectMeta: w.At(cluster)}
		if !w.Read(rc) {
			return true
		}
		meta.SetStatusCondition(&rc.Status.Conditions, metav1.Condition{Type: rayv1.HeadPodReady, Status: metav1.ConditionStatus(ready), Reason: "Test"})
		return w.Client.Status().Update(w.T.Context(), rc) == nil
	})
}

// serving is a service that is ready, without an upgrade.
func serving(rs *rayv1.RayService) bool {
	return is(rs, rayv1.RayServiceReady) && rs.Status.PendingServiceStatus.RayClusterName == "" && rs.Status.ObservedGeneration == rs.Generation
}

func (w *world) active(name string) string {
	return w.get(name).Status.ActiveServiceStatus.RayClusterName
}

// leads is the cluster to which a Service leads.
func (w *world) leads(service string) string {
	w.T.Helper()
	svc := &corev1.Service{ObjectMeta: w.At(service)}
	if !w.Read(svc) {
		return ""
	}
	return svc.Spec.Selector[rayv1.LabelCluster]
}

func (w *world) gone(cluster string) func(*rayv1.RayService) bool {
	return func(*rayv1.RayService) bool { return !w.Read(&rayv1.RayCluster{ObjectMeta: w.At(cluster)}) }
}
