package raycluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// scaling is a cluster with a ready head that was ready with one worker, wants three now, and has so many that are ready. Its status
// was written at raytest.Epoch.
func scaling(t *testing.T, ready int) *bench {
	t.Helper()
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 3))
	objects := []client.Object{raytest.HeadPod(rc, "h")}
	for i := range 3 {
		var opts []raytest.PodOption
		if i >= ready {
			opts = append(opts, raytest.NotReady())
		}
		objects = append(objects, raytest.WorkerPod(rc, "cpu", fmt.Sprint("w", i), opts...))
	}
	rc.CreationTimestamp = metav1.NewTime(raytest.Epoch.Add(-time.Hour))
	rc.Status = rayv1.RayClusterStatus{
		State: rayv1.ClusterStateReady, ReadyWorkerReplicas: 1, AvailableWorkerReplicas: 1, DesiredWorkerReplicas: 3, LastUpdateTime: new(raytest.Epoch),
	}
	b := newBench(t, rc, interceptor.Funcs{}, objects...)
	b.mustReconcile() // conditions, which are written at once
	rc = &rayv1.RayCluster{}
	if err := b.client.Get(t.Context(), key(b.rc), rc); err != nil {
		t.Fatal(err)
	}
	rc.Status.ReadyWorkerReplicas, rc.Status.AvailableWorkerReplicas, rc.Status.LastUpdateTime = 1, 1, new(raytest.Epoch)
	if err := b.client.Status().Update(t.Context(), rc); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOperatorThatRestartsAllTheTimeWritesProgress: the wait for more progress does not begin anew with the process.
func TestOperatorThatRestartsAllTheTimeWritesProgress(t *testing.T) {
	b := scaling(t, 2)
	b.clock.Step(100 * time.Millisecond)
	for i := range 3 {
		b.restart()
		if i < 2 && b.mustReconcile().RequeueAfter == 0 {
			t.Error("progress is not written and not looked at again")
		}
		b.clock.Step(800 * time.Millisecond)
	}
	b.mustReconcile()
	if got := b.status().ReadyWorkerReplicas; got != 2 {
		t.Errorf("%d ready workers in the status after %s, want 2", got, 2500*time.Millisecond)
	}
}

func TestWhatCompletesIsWrittenAtOnce(t *testing.T) {
	for ready, wantWritten := range map[int]bool{2: false, 3: true} {
		b := scaling(t, ready)
		b.clock.Step(100 * time.Millisecond)
		b.mustReconcile()
		if got := b.status().ReadyWorkerReplicas == int32(ready); got != wantWritten {
			t.Errorf("%d of 3 are ready: written at once: %t, want %t", ready, got, wantWritten)
		}
	}
}

// TestTimeToComeDelaysNothing: the clock of the machine that wrote last was ahead.
func TestTimeToComeDelaysNothing(t *testing.T) {
	b := scaling(t, 2)
	b.clock.SetTime(raytest.Epoch.Add(-time.Hour))
	b.mustReconcile()
	if got := b.status().ReadyWorkerReplicas; got != 2 {
		t.Errorf("%d ready workers in the status, want 2", got)
	}
}

// TestStopHalfWayLeavesTheRestOfTheStatus: the steps after the one that stopped have found out nothing.
func TestStopHalfWayLeavesTheRestOfTheStatus(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
	}))
	rc.Generation = 2
	failure := metav1.Condition{Type: rayv1.RayClusterChildFailure, Status: metav1.ConditionTrue, Reason: "R", Message: "m", LastTransitionTime: raytest.Epoch}
	rc.Status = rayv1.RayClusterStatus{
		ObservedGeneration: 1, State: rayv1.ClusterStateReady, Reason: "as it was",
		Head:       rayv1.HeadInfo{ServiceName: "demo-head-svc", ServiceIP: "10.0.0.1", PodName: "gone"},
		Endpoints:  map[string]string{"client": "10001"},
		Conditions: []metav1.Condition{failure},
	}
	b := newBench(t, rc, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*rayv1.RayCluster); ok { // the finalizer
				return apierrors.NewConflict(schema.GroupResource{Resource: "rayclusters"}, o.GetName(), errors.New("changed"))
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}, raytest.HeadPod(rc, "h", raytest.NotReady()))
	b.restart(func(c *Config) { c.CleanUpRedis = true })
	b.mustReconcile()
	st := b.status()
	if st.Head.PodName != "h" {
		t.Errorf("head %+v, want what was found before the stop", st.Head)
	}
	st.Head.PodName, st.Head.PodIP = "gone", ""
	got := rayv1.RayClusterStatus{ObservedGeneration: st.ObservedGeneration, State: st.State, Reason: st.Reason, Head: st.Head, Endpoints: st.Endpoints}
	for _, c := range st.Conditions {
		if c.Type == failure.Type {
			got.Conditions = append(got.Conditions, c)
		}
	}
	want := rc.Status
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestErrorOfTheCacheKeepsWhatIsKnown: only a cluster that is gone is forgotten.
func TestErrorOfTheCacheKeepsWhatIsKnown(t *testing.T) {
	broken := false
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1)), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*rayv1.RayCluster); ok && broken {
				return errors.New("the cache has a moment")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	b.reconciler.executor.View(b.rc.UID, nil)
	b.mustReconcile()
	if !b.reconciler.executor.Pending(b.rc.UID) {
		t.Fatal("nothing is expected of the cache")
	}
	broken = true
	if _, err := b.reconcile(); err == nil {
		t.Error("no error")
	}
	if !b.reconciler.executor.Pending(b.rc.UID) {
		t.Error("what was written is forgotten because of an error of the cache")
	}
}
