package podplan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/test/raytest"
)

// FuzzFor plays a random cluster forward: carry out the plan, look again. After one round the workers are as wanted, after
// two the head is, and then nothing is left to do. Pods that are not the cluster's are never in a plan.
func FuzzFor(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		rc := randomCluster(r)
		pods := randomPods(r, rc)
		foreign := foreignIn(rc, pods)
		for round := range 2 {
			plan := For(Input{Cluster: rc, Pods: pods})
			assertOwn(t, rc, plan)
			pods = apply(rc, pods, plan)
			if round == 0 {
				assertWorkers(t, rc, pods)
			}
		}
		if plan := For(Input{Cluster: rc, Pods: pods}); !plan.Empty() {
			t.Errorf("after two rounds there is still something to do: %+v", outcomeOf(plan))
		}
		if got := foreignIn(rc, pods); got != foreign {
			t.Errorf("foreign Pods: want %d, got %d", foreign, got)
		}
	})
}

var groupNames = []string{"a", "b", "c", rayv1.HeadGroupName}

func randomCluster(r *rand.Rand) *rayv1.RayCluster {
	opts := []raytest.ClusterOption{}
	for _, name := range groupNames[:r.IntN(len(groupNames)+1)] {
		group := []raytest.GroupOption{raytest.Bounds(r.Int32N(3), 2+r.Int32N(4)), raytest.Hosts(r.Int32N(3))}
		if r.IntN(6) == 0 {
			group = append(group, raytest.SuspendGroup())
		}
		if r.IntN(3) == 0 {
			group = append(group, raytest.WorkersToDelete(fmt.Sprintf("pod-%d", r.IntN(20)), "pod-3"))
		}
		opts = append(opts, raytest.Workers(name, r.Int32N(8), group...))
	}
	if r.IntN(8) == 0 {
		opts = append(opts, raytest.Suspend(true))
	}
	return raytest.RayCluster("ns/demo", opts...)
}

func randomPods(r *rand.Rand, rc *rayv1.RayCluster) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range r.IntN(20) {
		owner, name := rc, fmt.Sprintf("pod-%d", i)
		if r.IntN(5) == 0 {
			owner = raytest.RayCluster("ns/demo", raytest.UID("another"))
		}
		opts := []raytest.PodOption{}
		for _, opt := range []raytest.PodOption{
			raytest.Terminating(), raytest.NotReady(), raytest.Unscheduled(), raytest.RayExited(1),
			raytest.RestartPolicy(corev1.RestartPolicyNever), raytest.Phase(corev1.PodFailed), raytest.Orphaned(),
		} {
			if r.IntN(6) == 0 {
				opts = append(opts, opt)
			}
		}
		if r.IntN(8) == 0 {
			pods = append(pods, raytest.HeadPod(owner, name, opts...))
		} else {
			pods = append(pods, raytest.WorkerPod(owner, groupNames[r.IntN(len(groupNames))], name, opts...))
		}
	}
	return pods
}

// apply carries out the plan; deleted Pods, and those that were being deleted, are gone afterwards.
func apply(rc *rayv1.RayCluster, pods []*corev1.Pod, plan Plan) []*corev1.Pod {
	var after []*corev1.Pod
	for _, pod := range pods {
		deleted := slices.ContainsFunc(plan.Delete, func(d Deletion) bool { return d.Pod == pod })
		if !deleted && (pod.DeletionTimestamp == nil || !Owned(rc, pod)) {
			after = append(after, pod)
		}
	}
	if plan.CreateHead {
		after = append(after, raytest.HeadPod(rc, "new-head"))
	}
	for _, c := range plan.CreateWorkers {
		group := rc.Spec.WorkerGroupSpecs[c.Group].GroupName
		for i := range c.Count {
			after = append(after, raytest.WorkerPod(rc, group, fmt.Sprintf("new-%s-%d", group, i)))
		}
	}
	return after
}

func assertOwn(t *testing.T, rc *rayv1.RayCluster, plan Plan) {
	t.Helper()
	for _, d := range plan.Delete {
		if !Owned(rc, d.Pod) || d.Pod.DeletionTimestamp != nil || d.Reason == "" || d.Message == "" {
			t.Errorf("must not be deleted like this: %s %s %q", d.Pod.Name, d.Reason, d.Message)
		}
		if slices.Contains(plan.Keep, d.Pod) {
			t.Errorf("both deleted and kept: %s", d.Pod.Name)
		}
	}
}

func assertWorkers(t *testing.T, rc *rayv1.RayCluster, pods []*corev1.Pod) {
	t.Helper()
	got := map[string]int64{}
	for _, pod := range pods {
		if Owned(rc, pod) && pod.Labels[rayv1.LabelNodeType] == string(rayv1.WorkerNode) {
			got[pod.Labels[rayv1.LabelGroup]]++
		}
	}
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		want := DesiredPods(g)
		if rc.Spec.Suspend != nil && *rc.Spec.Suspend {
			want = 0
		}
		if got[g.GroupName] != want {
			t.Errorf("workers of group %s: want %d, got %d", g.GroupName, want, got[g.GroupName])
		}
		delete(got, g.GroupName)
	}
	for group, n := range got {
		t.Errorf("group %s is not in the spec and has %d workers", group, n)
	}
}

func foreignIn(rc *rayv1.RayCluster, pods []*corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if !Owned(rc, pod) {
			n++
		}
	}
	return n
}
