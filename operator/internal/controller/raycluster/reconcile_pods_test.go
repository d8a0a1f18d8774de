package raycluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/gang/registry"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// replicasIn counts the Pods by the name of their replica.
func replicasIn(list []corev1.Pod) map[string]int {
	count := map[string]int{}
	for _, p := range list {
		if name := p.Labels[rayv1.LabelWorkerGroupReplicaName]; name != "" {
			count[name]++
		}
	}
	return count
}

func TestReplicasThatAQuotaCutsShortAreFinished(t *testing.T) {
	var mu sync.Mutex
	quota := 5 // of workers, which two replicas of 4 hosts get in any mixture
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.Workers("tpu", 2, raytest.Hosts(4))), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			mu.Lock()
			defer mu.Unlock()
			if o.GetLabels()[rayv1.LabelGroup] == "tpu" {
				var list corev1.PodList
				if err := c.List(ctx, &list, client.MatchingLabels{rayv1.LabelGroup: "tpu"}); err != nil {
					return err
				}
				if used := len(list.Items); used >= quota {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, o.GetGenerateName()+"abcde",
						fmt.Errorf("exceeded quota: q, requested: pods=1, used: pods=%d, limited: pods=%d", used, quota))
				}
			}
			return c.Create(ctx, o, opts...)
		},
	})
	b.mustReconcile()
	if got := len(b.pods()); got != 6 {
		t.Fatalf("%d Pods, want the head and 5 workers", got)
	}
	c := meta.FindStatusCondition(b.status().Conditions, rayv1.ConditionReconciling)
	if c == nil || c.Reason != rayv1.ReasonQuotaExceeded || strings.Contains(c.Message, "used") {
		t.Errorf("condition %+v, want one about the quota that does not count", c)
	}
	retry := func() map[string]int {
		b.clock.Step(2 * reconcile.LastRetry)
		b.mustReconcile()
		return replicasIn(b.pods())
	}
	for range 4 {
		retry()
	}
	settled := retry() // one is whole, whatever the mixture was
	whole := ""
	for name, n := range settled {
		if n == 4 {
			whole = name
		}
	}
	if whole == "" {
		t.Fatalf("replicas %v, want one with all its hosts", settled)
	}
	for range 3 { // and now nothing is torn down any more
		if diff := cmp.Diff(settled, retry()); diff != "" {
			t.Errorf("replicas change while the quota is full (-before +after):\n%s", diff)
		}
	}
	quota = 100
	retry()
	after := retry()
	if len(after) != 2 || after[whole] != 4 {
		t.Errorf("replicas %v, want %s and another", after, whole)
	}
	for name, n := range after {
		if n != 4 {
			t.Errorf("replica %s has %d Pods, want 4", name, n)
		}
		if settled[name] == 0 && len(settled) == 2 {
			t.Errorf("the unfinished replica was made anew: before %v, after %v", settled, after)
		}
	}
}

func annotated(p *corev1.Pod, hash, version string) *corev1.Pod {
	p.Annotations = map[string]string{rayv1.AnnotationUpgradeStrategyRecreateHash: hash, rayv1.AnnotationKubeRayVersion: version}
	return p
}

func TestRecreateReplacesAllPodsOnce(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 2), raytest.Recreate())
	b := newBench(t, rc, interceptor.Funcs{},
		annotated(raytest.HeadPod(rc, "h"), "other", "v1"), raytest.WorkerPod(rc, "cpu", "a"), raytest.WorkerPod(rc, "cpu", "b"))
	b.mustReconcile()
	if got := len(b.pods()); got != 0 {
		t.Errorf("%d Pods, want none before the old head is gone", got)
	}
	b.mustReconcile()
	list := b.pods()
	if len(list) != 3 {
		t.Fatalf("%d Pods, want 3 new ones", len(list))
	}
	for _, p := range list {
		if p.Annotations[rayv1.AnnotationUpgradeStrategyRecreateHash] == "" || p.Annotations[rayv1.AnnotationKubeRayVersion] != "v1" {
			t.Errorf("Pod %s does not tell what it was made from: %v", p.Name, p.Annotations)
		}
	}
	b.mustReconcile()
	b.mustReconcile()
	if got := b.events(); len(got) != 2 || !strings.Contains(got[0], "DeletedPod") || !strings.Contains(got[1], "CreatedHeadPod") {
		t.Errorf("events %q, want one of deletion and one of creation", got)
	}
}

func TestTheHeadOfAnotherOperatorIsAdoptedOnce(t *testing.T) {
	patches := 0
	rc := raytest.RayCluster("ns/demo", raytest.Recreate())
	b := newBench(t, rc, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			patches++
			return c.Patch(ctx, o, p, opts...)
		},
	}, annotated(raytest.HeadPod(rc, "h"), "theirs", "nightly"))
	b.mustReconcile()
	b.mustReconcile()
	list := b.pods()
	if len(list) != 1 || list[0].UID != "uid-of-pod-h" || patches != 1 {
		t.Fatalf("%d Pods, %d patches; want the old head, patched once", len(list), patches)
	}
	if v := list[0].Annotations[rayv1.AnnotationKubeRayVersion]; v != "v1" {
		t.Errorf("version %q", v)
	}
	if diff := cmp.Diff([]string{"Normal AdoptedHeadPod"}, b.reasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// From now on a change of the spec is noticed.
	changed := &rayv1.RayCluster{}
	if err := b.client.Get(t.Context(), key(rc), changed); err != nil {
		t.Fatal(err)
	}
	changed.Spec.RayVersion = "2.53.0"
	if err := b.client.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	b.mustReconcile()
	if got := len(b.pods()); got != 0 {
		t.Errorf("%d Pods after the spec has changed", got)
	}
}

func TestAServerThatCannotBeAskedIsNoRefusal(t *testing.T) {
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1)), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if _, ok := o.(*corev1.Pod); ok {
				return apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "create", 1)
			}
			return c.Create(ctx, o, opts...)
		},
	})
	if _, err := b.reconcile(); err == nil {
		t.Error("the work queue is not asked to try again")
	}
	if meta.FindStatusCondition(b.status().Conditions, rayv1.RayClusterReplicaFailure) != nil {
		t.Error("an answer that did not come is reported as a refusal")
	}
	if got := b.events(); len(got) != 0 {
		t.Errorf("events %q", got)
	}
}

func TestEveryPodIsMadePartOfTheGang(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 2), raytest.Workers("b", 1, raytest.Hosts(2)), raytest.Labels(map[string]string{
		rayv1.LabelYuniKornAppID: "app", rayv1.LabelGangSchedulingEnabled: "true",
	}))
	b := newBench(t, rc, interceptor.Funcs{})
	b.reconciler = New(Config{
		Client: b.client, Live: b.client, Recorder: b.recorder, Clock: b.clock, ReplicaIndices: true, Scheduler: registry.Find("yunikorn"),
	})
	b.mustReconcile()
	list := b.pods()
	if len(list) != 5 {
		t.Fatalf("%d Pods, want 5", len(list))
	}
	groups := map[string]bool{}
	for _, p := range list {
		member := p.Labels[rayv1.LabelGroup]
		if p.Spec.SchedulerName != "yunikorn" || p.Labels["applicationId"] != "app" || p.Annotations[rayv1.AnnotationYuniKornTaskGroupName] != member {
			t.Errorf("Pod %s of %s: scheduler %q, labels %v, annotations %v", p.Name, member, p.Spec.SchedulerName, p.Labels, p.Annotations)
		}
		if _, placed := p.Labels[rayv1.LabelWorkerGroupReplicaIndex]; placed == (member == rayv1.HeadGroupName) {
			t.Errorf("Pod %s of %s has a place in a replica: %t", p.Name, member, placed)
		}
		groups[p.Annotations[rayv1.AnnotationYuniKornTaskGroups]] = true
	}
	if len(groups) != 1 {
		t.Errorf("Pods of one application describe its groups differently: %v", groups)
	}
}
