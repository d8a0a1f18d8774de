package metrics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/metrics"
)

// meter is a counter with a clock, and Pods that all request two GPUs.
type meter struct {
	*metrics.Accelerators
	t       *testing.T
	clock   *clocktesting.FakePassiveClock
	handler toolscache.ResourceEventHandler
}

func newMeter(t *testing.T, owners bool, clusters ...client.Object) *meter {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m := &meter{t: t, clock: clocktesting.NewFakePassiveClock(raytest.Epoch.Time)}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(clusters...).Build()
	m.Accelerators = metrics.NewAccelerators(reader, func(*corev1.Pod) map[string]float64 { return map[string]float64{"GPU": 2} }, m.clock, owners)
	m.Begin()
	m.handler = m.Handler(t.Context())
	return m
}

func (m *meter) after(d time.Duration) { m.clock.SetTime(m.clock.Now().Add(d)) }

func gpuPod(uid, cluster string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid), Labels: map[string]string{rayv1.LabelCluster: cluster}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

// series are what a scrape shows: namespace, queue, kind, name and resource with the seconds.
func (m *meter) series() []string {
	m.t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		m.t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, one := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range one.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			got = append(got, strings.Join([]string{labels["namespace"], labels["queue"], labels["owner_kind"], labels["owner"], labels["resource"], fmt.Sprint(one.GetCounter().GetValue())}, " "))
		}
	}
	slices.Sort(got)
	return got
}

func (m *meter) want(what string, want ...string) {
	m.t.Helper()
	if diff := cmp.Diff(want, m.series()); diff != "" {
		m.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAccelerators(t *testing.T) {
	job := raytest.RayCluster("ns/job-abc", raytest.UID("1"), raytest.Labels(map[string]string{
		rayv1.LabelOriginatedFromCRD: "RayJob", rayv1.LabelOriginatedFromCRName: "job", rayv1.LabelKueueQueue: "team-a",
	}))
	m := newMeter(t, true, job, raytest.RayCluster("ns/own", raytest.UID("2")))
	m.handler.OnAdd(gpuPod("a", "job-abc", corev1.PodPending), true)
	m.after(time.Minute)
	m.want("a Pod that does not run")

	m.handler.OnUpdate(nil, gpuPod("a", "job-abc", corev1.PodRunning))
	m.after(10 * time.Second)
	m.want("a running Pod", "ns team-a RayJob job GPU 20")
	m.handler.OnUpdate(nil, gpuPod("a", "job-abc", corev1.PodRunning))
	m.handler.OnAdd(gpuPod("b", "own", corev1.PodRunning), false)
	m.after(5 * time.Second)
	m.want("another cluster", "ns  RayCluster own GPU 10", "ns team-a RayJob job GPU 30")

	m.handler.OnUpdate(nil, gpuPod("a", "job-abc", corev1.PodSucceeded))
	m.handler.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: gpuPod("b", "own", corev1.PodRunning)})
	m.after(time.Hour)
	m.handler.OnDelete(gpuPod("a", "job-abc", corev1.PodSucceeded))
	m.want("Pods that ended", "ns  RayCluster own GPU 10", "ns team-a RayJob job GPU 30")
}

// TestAcceleratorsBeforeTheCount: seconds before the process counted belong to another one; later ones count although they are seen late.
func TestAcceleratorsBeforeTheCount(t *testing.T) {
	m := newMeter(t, true)
	started := func(uid string, at time.Duration) *corev1.Pod {
		p := gpuPod(uid, uid, corev1.PodRunning)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(raytest.Epoch.Add(at))}}}}
		return p
	}
	m.after(10 * time.Second)
	m.handler.OnAdd(started("long-ago", -time.Hour), true)
	m.handler.OnAdd(started("before", 4*time.Second), false)
	m.handler.OnAdd(started("in-future", time.Hour), false) // another clock
	m.want("their seconds", "ns  RayCluster before GPU 12", "ns  RayCluster in-future GPU 0", "ns  RayCluster long-ago GPU 20")
}

// TestAcceleratorsOfManyOwners: the number of series is bounded, and no second is lost.
func TestAcceleratorsOfManyOwners(t *testing.T) {
	m := newMeter(t, true)
	for i := range 1200 {
		name := fmt.Sprintf("c%04d", i)
		m.handler.OnAdd(gpuPod(name, name, corev1.PodRunning), false)
	}
	m.after(time.Second)
	got := m.series()
	if len(got) != 1001 || got[0] != "ns  RayCluster  GPU 400" {
		t.Errorf("%d series, the first is %q; want 1000 and one for the others", len(got), got[0])
	}
	m = newMeter(t, false)
	m.handler.OnAdd(gpuPod("a", "a", corev1.PodRunning), false)
	m.handler.OnAdd(gpuPod("b", "b", corev1.PodRunning), false)
	m.after(time.Second)
	m.want("without owners", "ns  RayCluster  GPU 4")
}
