package raycluster

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// becomeReady makes all Pods ready and reconciles a while later.
func (b *bench) becomeReady() {
	b.t.Helper()
	for _, p := range b.pods() {
		p.Spec.NodeName = "node-1"
		if err := b.client.Update(b.t.Context(), &p); err != nil {
			b.t.Fatal(err)
		}
		p.Status = raytest.HeadPod(b.rc, "x").Status
		if err := b.client.Status().Update(b.t.Context(), &p); err != nil {
			b.t.Fatal(err)
		}
	}
	b.clock.Step(settleTime)
	b.mustReconcile()
	b.mustReconcile() // as after the event of a deletion
}

// edit changes the cluster and reconciles.
func (b *bench) edit(change func(*rayv1.RayCluster)) {
	b.t.Helper()
	rc := &rayv1.RayCluster{}
	if err := b.client.Get(b.t.Context(), key(b.rc), rc); err != nil {
		b.t.Fatal(err)
	}
	change(rc)
	if err := b.client.Update(b.t.Context(), rc); err != nil {
		b.t.Fatal(err)
	}
	b.clock.Step(settleTime)
	b.mustReconcile()
	b.mustReconcile() // as after the event of a deletion
}

// upgrade returns the state of the condition as "status reason", empty if it is absent, and the events since the last call.
func (b *bench) upgrade() (condition string, events []string) {
	b.t.Helper()
	if c := meta.FindStatusCondition(b.status().Conditions, rayv1.RayClusterUpgradeInProgress); c != nil {
		condition = string(c.Status) + " " + c.Reason
	}
	for _, e := range b.events() {
		if reason := strings.Fields(e)[1]; strings.Contains(reason, "Upgrade") {
			events = append(events, reason)
		}
	}
	return condition, events
}

func images(list []corev1.Pod) map[string]int {
	count := map[string]int{}
	for _, p := range list {
		if !isHead(&p) {
			count[p.Spec.Containers[0].Image]++
		}
	}
	return count
}

func TestRollingUpgrade(t *testing.T) {
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.Workers("cpu", 3)), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetUID(uuid.NewUUID()) // deletions are remembered by it
			return c.Create(ctx, o, opts...)
		},
	})
	b.mustReconcile()
	b.becomeReady()
	step := func(what, wantCondition string, wantEvents []string, wantNew int) {
		t.Helper()
		condition, events := b.upgrade()
		if diff := cmp.Diff(wantEvents, events); diff != "" || condition != wantCondition {
			t.Errorf("%s: condition %q, want %q; events (-want +got):\n%s", what, condition, wantCondition, diff)
		}
		if got := images(b.pods()); got["new"] != wantNew || len(b.pods()) != 4 {
			t.Errorf("%s: images %v of %d Pods, want %d new ones", what, got, len(b.pods()), wantNew)
		}
	}
	annotate := func(key, value string) func(*rayv1.RayCluster) {
		return func(rc *rayv1.RayCluster) { metav1.SetMetaDataAnnotation(&rc.ObjectMeta, key, value) }
	}
	image := func(image string) func(*rayv1.RayCluster) {
		return func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Image = image }
	}
	b.edit(annotate(rayv1.AnnotationUpgradeStrategy, rayv1.UpgradeRollingUpdate))
	step("the annotation replaces nothing", "", nil, 0)
	b.edit(image("new"))
	step("one worker is replaced", "True RollingUpdate", []string{"UpgradeStarted"}, 1)
	b.edit(annotate(rayv1.AnnotationUpgradePaused, "true"))
	b.becomeReady()
	step("a pause holds", "True UpgradePaused", []string{"UpgradePaused"}, 1)
	b.edit(annotate(rayv1.AnnotationUpgradePaused, "false"))
	step("the next worker is replaced", "True RollingUpdate", nil, 2)
	b.edit(annotate(rayv1.AnnotationUpgradeDeadline, "1m"))
	step("there is time left", "True RollingUpdate", nil, 2)
	b.clock.Step(time.Minute)
	b.mustReconcile()
	step("the deadline passes once", "True UpgradeDeadlineExceeded", []string{"UpgradeDeadlineExceeded"}, 2)
	b.becomeReady()
	step("the last worker is replaced", "True UpgradeDeadlineExceeded", nil, 3)
	b.becomeReady()
	step("the end", "", []string{"UpgradeCompleted"}, 3)
	b.edit(func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Image = "new" })
	step("a head without fault tolerance stays", "False HeadNotUpgraded", []string{"UpgradeCompleted"}, 3)
	b.mustReconcile()
	step("which is said once", "False HeadNotUpgraded", nil, 3)
}

func TestProgressOfUpgrade(t *testing.T) {
	got := progressOf(&podplan.Upgrade{HeadFollows: true, Groups: []podplan.GroupUpgrade{{Name: "cpu", Updated: 1, Wanted: 3}, {Name: "gpu", Wanted: 2}}})
	if want := "workers that are ready with the current template: 1 of 3 in group cpu, 0 of 2 in group gpu; the head Pod follows"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
