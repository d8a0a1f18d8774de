package podplan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// FuzzFor plays a random cluster forward: carry out the plan, look again. After a few rounds nothing is left to do, the
// workers are as wanted and replicas are whole. Pods that are not the cluster's are never in a plan.
func FuzzFor(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		rc := randomCluster(r)
		pods := randomPods(r, rc)
		foreign := foreignIn(rc, pods)
		in := Input{Cluster: rc, Replicas: r.IntN(4) > 0, Hash: "new", Version: "v1"}
		refusedOnce := r.IntN(3) == 0
		settled := false
		for round := 0; round < 5 && !settled; round++ {
			in.Pods = pods
			in.Refused = func(string) bool { return refusedOnce && round == 0 }
			plan := For(in)
			assertOwn(t, rc, plan)
			settled = plan.Empty() && !plan.AwaitSuspending
			pods = apply(rc, pods, plan, round)
			if plan.AwaitSuspending {
				raytest.Condition(rayv1.RayClusterSuspending, metav1.ConditionTrue)(rc)
			}
		}
		if !settled {
			t.Errorf("there is still something to do: %+v", outcomeOf(For(in)))
		}
		assertWorkers(t, rc, pods)
		if in.Replicas {
			assertReplicas(t, rc, pods)
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
	if r.IntN(4) == 0 {
		opts = append(opts, raytest.Recreate())
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
		if r.IntN(3) == 0 {
			opts = append(opts, raytest.Host(fmt.Sprintf("r%d", r.IntN(4)), r.IntN(4), r.IntN(3)))
		}
		if r.IntN(3) == 0 {
			opts = append(opts,
				raytest.PodAnnotation(rayv1.AnnotationUpgradeStrategyRecreateHash, []string{"", "old", "new"}[r.IntN(3)]),
				raytest.PodAnnotation(rayv1.AnnotationKubeRayVersion, []string{"", "v0", "v1"}[r.IntN(3)]))
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
func apply(rc *rayv1.RayCluster, pods []*corev1.Pod, plan Plan, round int) []*corev1.Pod {
	var after []*corev1.Pod
	for _, pod := range pods {
		deleted := slices.ContainsFunc(plan.Delete, func(d Deletion) bool { return d.Pod == pod })
		if deleted || pod.DeletionTimestamp != nil && rc.Owns(pod) {
			continue
		}
		if pod == plan.AdoptHead {
			pod = pod.DeepCopy()
			pod.Annotations[rayv1.AnnotationUpgradeStrategyRecreateHash] = "new"
			pod.Annotations[rayv1.AnnotationKubeRayVersion] = "v1"
		}
		after = append(after, pod)
	}
	if plan.CreateHead {
		after = append(after, raytest.HeadPod(rc, "new-head"))
	}
	for _, c := range plan.CreateWorkers {
		group := rc.Spec.WorkerGroupSpecs[c.Group].GroupName
		create := func(opts ...raytest.PodOption) {
			after = append(after, raytest.WorkerPod(rc, group, fmt.Sprintf("new-%d-%d", round, len(after)), opts...))
		}
		for range c.Plain {
			create()
		}
		for i, replica := range c.Replicas {
			if replica.Hosts == nil {
				create(raytest.PodLabel(rayv1.LabelWorkerGroupReplicaIndex, strconv.Itoa(replica.Index)))
			}
			for _, host := range replica.Hosts {
				create(raytest.Host(cmp.Or(replica.Name, fmt.Sprintf("new-%s-%d-%d", group, round, i)), replica.Index, host))
			}
		}
	}
	return after
}

// assertReplicas demands that each named replica of a group of several hosts has as many Pods as hosts.
func assertReplicas(t *testing.T, rc *rayv1.RayCluster, pods []*corev1.Pod) {
	t.Helper()
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		count := map[string]int64{}
		for _, pod := range pods {
			name := pod.Labels[rayv1.LabelWorkerGroupReplicaName]
			if name != "" && rc.Owns(pod) && pod.Labels[rayv1.LabelNodeType] == string(rayv1.WorkerNode) && pod.Labels[rayv1.LabelGroup] == g.GroupName {
				count[name]++
			}
		}
		for name, n := range count {
			if hosts(g) > 1 && n != hosts(g) {
				t.Errorf("replica %s of group %s has %d Pods, want %d", name, g.GroupName, n, hosts(g))
			}
		}
	}
}

func assertOwn(t *testing.T, rc *rayv1.RayCluster, plan Plan) {
	t.Helper()
	for _, d := range plan.Delete {
		if !rc.Owns(d.Pod) || d.Pod.DeletionTimestamp != nil || d.Reason == "" || d.Message == "" {
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
		if rc.Owns(pod) && pod.Labels[rayv1.LabelNodeType] == string(rayv1.WorkerNode) {
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
		if !rc.Owns(pod) {
			n++
		}
	}
	return n
}
