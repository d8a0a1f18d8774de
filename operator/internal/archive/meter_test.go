package archive_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gocloud.dev/blob/memblob"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/pkg/history"
)

// counted is an Archive with a clock, and a RayCluster that Pods can be counted for.
type counted struct {
	t       *testing.T
	archive *archive.Archive
	store   *history.Store
	cache   client.Client
	clock   *clocktesting.FakeClock
	pods    toolscache.ResourceEventHandler
	cluster *rayv1.RayCluster
}

func newCounted(t *testing.T) *counted {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, rayv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &counted{t: t, store: history.New(memblob.OpenBucket(nil), history.Limits{}), clock: clocktesting.NewFakeClock(begin.Time)}
	c.cluster = &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team-a", Name: "demo", UID: "cluster", CreationTimestamp: begin,
		Labels:      map[string]string{rayv1.LabelKueueQueue: "q", rayv1.LabelUser: "jane-example.org"},
		Annotations: map[string]string{rayv1.AnnotationUser: "jane@example.org"},
	}}
	c.cache = fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.cluster).Build()
	c.archive = archive.New(archive.Config{Store: c.store, Cache: c.cache, Live: c.cache, Clock: c.clock})
	c.pods = c.archive.Pods(t.Context())
	return c
}

// pod requests 2 CPUs, 4 GiB and a GPU.
func (c *counted) pod(name string, phase corev1.PodPhase, states ...corev1.ContainerState) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: name, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c.cluster, rayv1.GroupVersion.WithKind("RayCluster"))},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi")},
			Limits:   corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
		}}}},
		Status: corev1.PodStatus{Phase: phase},
	}
	for _, state := range states {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{State: state})
	}
	return p
}

func startedAt(seconds int) corev1.ContainerState {
	at := metav1.NewTime(begin.Add(time.Duration(seconds) * time.Second))
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
}

func ranFrom(seconds, to int) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		StartedAt: startedAt(seconds).Running.StartedAt, FinishedAt: startedAt(to).Running.StartedAt,
	}}
}

// deleted deletes the RayCluster and returns its record.
func (c *counted) deleted() *history.Record {
	c.t.Helper()
	if err := c.cache.Delete(c.t.Context(), c.cluster); err != nil {
		c.t.Fatal(err)
	}
	c.archive.Deleted().Delete(c.t.Context(), event.DeleteEvent{Object: c.cluster}, nil)
	key := archive.KeyOf("RayCluster", c.cluster)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if r, err := c.store.Get(c.t.Context(), key); err == nil {
			return r
		}
		c.clock.Step(time.Second) // the pause between two lists of events
	}
	c.t.Fatal("no record")
	return nil
}

func TestUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(c *counted, after func(seconds int))
		want float64 // seconds of Pods
	}{
		"Pods that never ran": {func(c *counted, after func(int)) {
			c.pods.OnAdd(c.pod("a", corev1.PodPending), false)
			c.pods.OnAdd(c.pod("b", corev1.PodFailed), false) // evicted before a container started
			after(10)
		}, 0},
		"a Pod that runs until the deletion": {func(c *counted, after func(int)) {
			c.pods.OnAdd(c.pod("a", corev1.PodPending), false)
			after(5)
			c.pods.OnUpdate(nil, c.pod("a", corev1.PodRunning))
			after(10)
		}, 10},
		"a Pod that the autoscaler removed": {func(c *counted, after func(int)) {
			c.pods.OnAdd(c.pod("a", corev1.PodRunning), false)
			c.pods.OnAdd(c.pod("b", corev1.PodRunning), false)
			after(10)
			c.pods.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: c.pod("b", corev1.PodRunning)})
			after(10)
		}, 30},
		"Pods that are gone before their RayCluster": {func(c *counted, after func(int)) {
			c.pods.OnAdd(c.pod("a", corev1.PodRunning), false)
			after(10)
			c.pods.OnDelete(c.pod("a", corev1.PodRunning))
			after(10)
		}, 10},
		"a Pod that ended": {func(c *counted, after func(int)) {
			c.pods.OnAdd(c.pod("a", corev1.PodRunning, startedAt(0), startedAt(1)), false)
			after(20)
			c.pods.OnUpdate(nil, c.pod("a", corev1.PodFailed, ranFrom(0, 15), ranFrom(1, 12)))
			after(20)
			c.pods.OnDelete(c.pod("a", corev1.PodFailed, ranFrom(0, 15), ranFrom(1, 12)))
		}, 15},
		"Pods that began before the process": {func(c *counted, after func(int)) {
			after(100)
			restarted := c.pod("a", corev1.PodRunning, startedAt(90))
			restarted.Status.ContainerStatuses[0].LastTerminationState = ranFrom(40, 89)
			c.pods.OnAdd(restarted, true)
			c.pods.OnAdd(c.pod("b", corev1.PodSucceeded, ranFrom(10, 20)), true)
		}, 70},
		"a Pod of another object": {func(c *counted, after func(int)) {
			p := c.pod("a", corev1.PodRunning)
			p.OwnerReferences[0].UID = "an earlier one"
			c.pods.OnAdd(p, false)
			after(10)
			c.pods.OnDelete(p)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounted(t)
			tc.do(c, func(seconds int) { c.clock.Step(time.Duration(seconds) * time.Second) })
			r := c.deleted()
			var want history.Months
			if tc.want > 0 {
				want = history.Months{"2026-03": {CPU: 2 * tc.want, GPU: tc.want, Memory: 4 * tc.want}}
			}
			if diff := cmp.Diff(want, r.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if r.Owner != "jane@example.org" || r.Queue != "q" {
				t.Errorf("owner %q, queue %q", r.Owner, r.Queue)
			}
			c.pods.OnUpdate(nil, c.pod("late", corev1.PodRunning)) // the garbage collector has not deleted it yet
			c.clock.Step(time.Hour)
			c.cluster.Name = "again"
			if err := c.cache.Create(t.Context(), &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "again", UID: "cluster"}}); err != nil {
				t.Fatal(err)
			}
			if again := c.deleted(); again.Usage != nil {
				t.Errorf("usage of a Pod that outlives its RayCluster: %v", again.Usage)
			}
		})
	}
}

// TestUsageOfAttempts shows that an attempt has the usage of its own RayCluster until its end, and the sums have that of the RayCluster.
func TestUsageOfAttempts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		own  bool
		want history.Months
	}{
		"a RayCluster of its own":       {true, history.Months{"2026-03": {CPU: 120, GPU: 60, Memory: 240}}},
		"a RayCluster that it selected": {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCounted(t)
			c.pods.OnAdd(c.pod("a", corev1.PodRunning), false)
			job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "job", UID: "job", CreationTimestamp: begin}}
			if tc.own {
				c.cluster.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, rayv1.GroupVersion.WithKind("RayJob"))}
			}
			attempt := archive.JobSubject(job, c.cluster, begin.Add(time.Minute))
			c.clock.Step(2 * time.Minute) // the store did not answer
			done := make(chan struct{})
			c.archive.Keep(attempt, func() { close(done) })
			<-done
			r, err := c.store.Get(t.Context(), attempt.Key)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			c.deleted()
			want := []history.Sum{{Clusters: 1, Usage: history.Usage{CPU: 240, GPU: 120, Memory: 480}}}
			if got, err := c.store.Sums(t.Context(), "team-a", "2026-03", history.Grouping{}); err != nil || cmp.Diff(want, got) != "" {
				t.Errorf("sums %+v, %v, want %+v", got, err, want)
			}
		})
	}
}
