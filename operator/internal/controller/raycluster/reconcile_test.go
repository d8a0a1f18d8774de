package raycluster

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/internal/testing/testclient"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/overlay"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/test/controlplane"
)

// bench is a reconciler over a fake API server.
type bench struct {
	t          *testing.T
	client     client.WithWatch
	clock      *clocktesting.FakeClock
	recorder   *events.FakeRecorder
	reconciler *Reconciler
	rc         *rayv1.RayCluster
	config     Config
}

// newBench has the head Service already, so that nothing but what a test is about is reported.
func newBench(t *testing.T, rc *rayv1.RayCluster, faults interceptor.Funcs, objects ...client.Object) *bench {
	t.Helper()
	svc := service.Head(rc, service.Options{})
	svc.UID = "uid-of-head-service"
	return newEmptyBench(t, rc, faults, append(objects, svc)...)
}

func newEmptyBench(t *testing.T, rc *rayv1.RayCluster, faults interceptor.Funcs, objects ...client.Object) *bench {
	t.Helper()
	builder := testclient.Fake(controlplane.Scheme(t))
	for _, kind := range indexed(true) {
		builder = builder.WithIndex(kind, ownerref.IndexController, ownerref.ControllerUID)
	}
	c := builder.
		WithStatusSubresource(&rayv1.RayCluster{}).
		WithObjects(append(objects, rc)...).
		WithInterceptorFuncs(faults).
		Build()
	b := &bench{t: t, client: c, clock: clocktesting.NewFakeClock(raytest.Epoch.Time), recorder: events.NewFakeRecorder(100), rc: rc}
	b.config = Config{Client: c, Live: c, Recorder: b.recorder, Clock: b.clock, ReplicaIndices: true, Pod: pod.Options{OperatorVersion: "v1"}}
	b.restart()
	return b
}

// restart makes a new reconciler, which remembers nothing.
func (b *bench) restart(changes ...func(*Config)) {
	for _, change := range changes {
		change(&b.config)
	}
	b.reconciler = New(b.config)
}

func (b *bench) reconcile() (ctrl.Result, error) {
	return b.reconciler.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: key(b.rc)})
}

func (b *bench) mustReconcile() ctrl.Result {
	b.t.Helper()
	result, err := b.reconcile()
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// changeLabels makes a new version of the cluster.
func (b *bench) changeLabels() {
	b.t.Helper()
	rc := &rayv1.RayCluster{}
	if err := b.client.Get(b.t.Context(), key(b.rc), rc); err != nil {
		b.t.Fatal(err)
	}
	rc.Labels = map[string]string{"changed": "yes"}
	if err := b.client.Update(b.t.Context(), rc); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) pods() []corev1.Pod {
	b.t.Helper()
	var list corev1.PodList
	if err := b.client.List(b.t.Context(), &list); err != nil {
		b.t.Fatal(err)
	}
	return list.Items
}

func (b *bench) status() rayv1.RayClusterStatus {
	b.t.Helper()
	rc := &rayv1.RayCluster{}
	if err := b.client.Get(b.t.Context(), key(b.rc), rc); err != nil {
		b.t.Fatal(err)
	}
	return rc.Status
}

func (b *bench) events() []string {
	var all []string
	for {
		select {
		case e := <-b.recorder.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func TestConflictOnStatusIsRetriedWithoutAnError(t *testing.T) {
	conflicts := 1
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.Suspend(true)), interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			if conflicts > 0 {
				conflicts--
				return apierrors.NewConflict(schema.GroupResource{Resource: "rayclusters"}, o.GetName(), errors.New("changed"))
			}
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	})
	b.mustReconcile()
	b.mustReconcile() // the cache still shows the version that was replaced
	if conditions := b.status().Conditions; len(conditions) != 0 {
		t.Errorf("conditions %v were computed from a version that was replaced", conditions)
	}
	b.changeLabels() // by somebody else, which the conflict was about
	b.mustReconcile()
	if !meta.IsStatusConditionTrue(b.status().Conditions, rayv1.RayClusterSuspended) {
		t.Errorf("conditions %v, want Suspended", b.status().Conditions)
	}
}

// TestLostAnswerOfStatusIsLookedAtAgain: the API server stores a status and crashes before it responds. The cache shows the status
// only after the retry has met the conflict, and no event reports it.
func TestLostAnswerOfStatusIsLookedAtAgain(t *testing.T) {
	lost := false
	var lagging *rayv1.RayCluster
	b := newBench(t, raytest.RayCluster("ns/demo"), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if rc, ok := o.(*rayv1.RayCluster); ok && lagging != nil {
				lagging.DeepCopyInto(rc)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			err := c.SubResource(sub).Update(ctx, o, opts...)
			if err == nil && !lost {
				lost = true
				return io.ErrUnexpectedEOF
			}
			return err
		},
	})
	first := &rayv1.RayCluster{}
	if err := b.client.Get(t.Context(), key(b.rc), first); err != nil {
		t.Fatal(err)
	}
	lagging = first
	if _, err := b.reconcile(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("error %v, want that of the connection", err)
	}
	if result := b.mustReconcile(); result.RequeueAfter != reconcile.Soon {
		t.Errorf("looks again after %s, want at once: no event comes", result.RequeueAfter)
	}
	if result := b.mustReconcile(); result.RequeueAfter != reconcile.StaleCheck {
		t.Errorf("looks again after %s, want as soon as the cache may be up to date", result.RequeueAfter)
	}
	lagging = nil
	b.mustReconcile()
	if st := b.status(); st.ObservedGeneration != 1 || st.Head.PodName == "" {
		t.Errorf("status %+v, want that of the head", st)
	}
}

func TestProgressIsGatheredBeforeItIsWritten(t *testing.T) {
	created := func(rc *rayv1.RayCluster) { rc.CreationTimestamp = raytest.Epoch }
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.Workers("cpu", 2), created), interceptor.Funcs{})
	if result := b.mustReconcile(); result.RequeueAfter == 0 || result.RequeueAfter > settleTime {
		t.Errorf("looks again after %s, want within %s", result.RequeueAfter, settleTime)
	}
	if b.status().ObservedGeneration != 0 {
		t.Error("progress was written at once")
	}
	b.clock.Step(settleTime)
	b.mustReconcile()
	if st := b.status(); st.ObservedGeneration != 1 || st.DesiredWorkerReplicas != 2 {
		t.Errorf("status %+v, want progress", st)
	}
	got := b.events()
	if len(got) != 1 || !strings.Contains(got[0], "2 worker Pods in group cpu") {
		t.Errorf("events %q, want one for all Pods", got)
	}
}

func TestForeignHeadNameIsReported(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	theirs := raytest.HeadPod(rc, "demo-head-"+suffix(rc.UID), raytest.Orphaned())
	b := newBench(t, rc, interceptor.Funcs{}, theirs)
	b.mustReconcile()
	c := meta.FindStatusCondition(b.status().Conditions, rayv1.RayClusterReplicaFailure)
	if c == nil || c.Reason != rayv1.ReasonFailedCreateHeadPod || !strings.Contains(c.Message, theirs.Name) {
		t.Errorf("condition %+v, want one that names the Pod", c)
	}
	if got := len(b.pods()); got != 1 {
		t.Errorf("%d Pods, want theirs alone", got)
	}
}

func TestClustersOfOthersAreLeftAlone(t *testing.T) {
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.ManagedBy(rayv1.ManagedByMultiKueue)), interceptor.Funcs{})
	b.mustReconcile()
	if got := len(b.pods()); got != 0 {
		t.Errorf("%d Pods for a cluster that is managed elsewhere", got)
	}
}

func TestHeadThatKeepsEndingIsReplacedEverMoreSlowly(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	b := newBench(t, rc, interceptor.Funcs{}, raytest.HeadPod(rc, "demo-head-x", raytest.Phase(corev1.PodFailed)))
	b.mustReconcile()
	if got := len(b.pods()); got != 0 {
		t.Fatalf("%d Pods, want the ended head gone", got)
	}
	if result := b.mustReconcile(); result.RequeueAfter == 0 || len(b.pods()) != 0 {
		t.Errorf("looks again after %s with %d Pods, want a pause", result.RequeueAfter, len(b.pods()))
	}
	b.clock.Step(2 * time.Second)
	b.mustReconcile()
	if got := len(b.pods()); got != 1 {
		t.Errorf("%d Pods after the pause, want a new head", got)
	}
}

func TestResyncLooksAgainWithoutCause(t *testing.T) {
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.Suspend(true)), interceptor.Funcs{})
	b.mustReconcile()
	if got := b.mustReconcile().RequeueAfter; got != 0 {
		t.Errorf("a settled cluster is looked at again after %s, want never", got)
	}
	b.reconciler.config.Resync = time.Minute
	if got := b.mustReconcile().RequeueAfter; got != time.Minute {
		t.Errorf("looks again after %s, want %s", got, time.Minute)
	}
}

// TestPodThatTheCacheNeverShows: the Pod is deleted while the watch is interrupted, so no event reports the deletion.
func TestPodThatTheCacheNeverShows(t *testing.T) {
	blind := true
	b := newBench(t, raytest.RayCluster("ns/demo"), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, pods := list.(*corev1.PodList); pods && blind {
				return nil
			}
			return c.List(ctx, list, opts...)
		},
	})
	b.mustReconcile()
	b.clock.Step(settleTime)
	for range 3 { // until all that is to be written is written
		b.clock.Step(b.mustReconcile().RequeueAfter % overlay.Timeout)
	}
	blind = false
	head := b.pods()[0]
	if err := b.client.Delete(t.Context(), &head); err != nil {
		t.Fatal(err)
	}
	result := b.mustReconcile()
	if len(b.pods()) != 0 || result.RequeueAfter == 0 || result.RequeueAfter > overlay.Timeout {
		t.Fatalf("looks again after %s with %d Pods", result.RequeueAfter, len(b.pods()))
	}
	b.clock.Step(result.RequeueAfter)
	b.mustReconcile()
	if len(b.pods()) != 1 {
		t.Error("the lost Pod is not replaced")
	}
}
