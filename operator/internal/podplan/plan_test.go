package podplan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// outcome is a Plan by names, so that a difference reads like a sentence.
type outcome struct {
	Head    bool
	Workers []Create
	Delete  map[string]Reason
	Keep    []string
	Held    bool
	Await   bool
	Adopt   string
}

func outcomeOf(p Plan) outcome {
	o := outcome{Head: p.CreateHead, Workers: p.CreateWorkers, Held: p.HeadRestartDisabled, Await: p.AwaitSuspending}
	if p.AdoptHead != nil {
		o.Adopt = p.AdoptHead.Name
	}
	for _, d := range p.Delete {
		if o.Delete == nil {
			o.Delete = map[string]Reason{}
		}
		o.Delete[d.Pod.Name] = d.Reason
	}
	for _, pod := range p.Keep {
		o.Keep = append(o.Keep, pod.Name)
	}
	slices.Sort(o.Keep)
	return o
}

// at are new replicas of one host.
func at(indices ...int) []Replica {
	var list []Replica
	for _, i := range indices {
		list = append(list, Replica{Index: i})
	}
	return list
}

func TestFor(t *testing.T) {
	const restartDisabled = rayv1.AnnotationDisableProvisionedHeadRestart
	cluster := func(opts ...raytest.ClusterOption) *rayv1.RayCluster { return raytest.RayCluster("ns/demo", opts...) }
	ours := cluster() // for Pods: all clusters ns/demo of these tests have one UID
	head := raytest.HeadPod(ours, "head")
	worker := func(name string, opts ...raytest.PodOption) *corev1.Pod {
		return raytest.WorkerPod(ours, "cpu", name, opts...)
	}
	index := func(i string) raytest.PodOption { return raytest.PodLabel(rayv1.LabelWorkerGroupReplicaIndex, i) }

	cases := map[string]struct {
		cluster *rayv1.RayCluster
		pods    []*corev1.Pod
		shrink  bool
		want    outcome
	}{
		"a new cluster gets its head and all workers at once": {
			cluster: cluster(raytest.Workers("cpu", 2), raytest.Workers("gpu", 1), raytest.Workers("none", 0)),
			want: outcome{Head: true, Workers: []Create{
				{Group: 0, Replicas: at(0, 1)},
				{Group: 1, Replicas: at(0)},
			}},
		},
		"a complete cluster is left alone": {
			cluster: cluster(raytest.Workers("cpu", 2)),
			pods:    []*corev1.Pod{worker("a"), head, worker("b")},
			want:    outcome{Keep: []string{"a", "b", "head"}},
		},
		"replicas below the minimum are raised": {
			cluster: cluster(raytest.Workers("cpu", 0, raytest.Bounds(1, 3))),
			pods:    []*corev1.Pod{head},
			want:    outcome{Workers: []Create{{Group: 0, Replicas: at(0)}}, Keep: []string{"head"}},
		},
		"replicas above the maximum are capped": {
			cluster: cluster(raytest.Workers("cpu", 9, raytest.Bounds(0, 1))),
			pods:    []*corev1.Pod{head, worker("a")},
			want:    outcome{Keep: []string{"a", "head"}},
		},
		"new workers take the free indices": {
			cluster: cluster(raytest.Workers("cpu", 4)),
			pods:    []*corev1.Pod{head, worker("a", index("1")), worker("b", index("7"))},
			want:    outcome{Workers: []Create{{Group: 0, Replicas: at(0, 2)}}, Keep: []string{"a", "b", "head"}},
		},
		"shrinking takes the workers that matter least": {
			cluster: cluster(raytest.Workers("cpu", 2)),
			pods: []*corev1.Pod{
				head, worker("old"), worker("young", raytest.CreatedAfter(time.Hour)), worker("younger", raytest.CreatedAfter(2*time.Hour)),
				worker("starting", raytest.NotReady()), worker("pulling", raytest.Phase(corev1.PodPending)), worker("waiting", raytest.Unscheduled()),
			},
			want: outcome{
				Delete: map[string]Reason{"waiting": ReasonScaleDown, "pulling": ReasonScaleDown, "starting": ReasonScaleDown, "younger": ReasonScaleDown},
				Keep:   []string{"head", "old", "young"},
			},
		},
		"shrinking heeds what a user says a Pod costs": {
			cluster: cluster(raytest.Workers("cpu", 1)),
			pods: []*corev1.Pod{
				head, worker("dear", raytest.CreatedAfter(time.Hour), raytest.PodAnnotation(corev1.PodDeletionCost, "10")),
				worker("old"), worker("nonsense", raytest.PodAnnotation(corev1.PodDeletionCost, "much")),
			},
			want: outcome{Delete: map[string]Reason{"old": ReasonScaleDown, "nonsense": ReasonScaleDown}, Keep: []string{"dear", "head"}},
		},
		"with the autoscaler on a large group waits for it to name workers": {
			cluster: cluster(raytest.Workers("cpu", 1), raytest.Autoscaling()),
			pods:    []*corev1.Pod{head, worker("a"), worker("b")},
			want:    outcome{Keep: []string{"a", "b", "head"}},
		},
		"with the autoscaler on a switch of the operator still allows to choose": {
			cluster: cluster(raytest.Workers("cpu", 1), raytest.Autoscaling()),
			pods:    []*corev1.Pod{head, worker("a"), worker("b")},
			shrink:  true,
			want:    outcome{Delete: map[string]Reason{"b": ReasonScaleDown}, Keep: []string{"a", "head"}},
		},
		"the autoscaler names a worker and lowers replicas": {
			cluster: cluster(raytest.Workers("cpu", 1, raytest.WorkersToDelete("a")), raytest.Autoscaling()),
			pods:    []*corev1.Pod{head, worker("a"), worker("b")},
			want:    outcome{Delete: map[string]Reason{"a": ReasonRequested}, Keep: []string{"b", "head"}},
		},
		"a worker named without lowering replicas is replaced": {
			cluster: cluster(raytest.Workers("cpu", 2, raytest.WorkersToDelete("a", "a"))),
			pods:    []*corev1.Pod{head, worker("a"), worker("b")},
			want: outcome{
				Workers: []Create{{Group: 0, Replicas: at(0)}},
				Delete:  map[string]Reason{"a": ReasonRequested}, Keep: []string{"b", "head"},
			},
		},
		"a worker named again while it is leaving is not deleted again": {
			cluster: cluster(raytest.Workers("cpu", 1, raytest.WorkersToDelete("a"))),
			pods:    []*corev1.Pod{head, worker("a", raytest.Terminating()), worker("b")},
			want:    outcome{Keep: []string{"b", "head"}},
		},
		"Pods that are not of the group cannot be named": {
			cluster: cluster(raytest.Workers("cpu", 1, raytest.WorkersToDelete("head", "other", "gone")), raytest.Workers("gpu", 1)),
			pods:    []*corev1.Pod{head, worker("a"), raytest.WorkerPod(ours, "gpu", "other")},
			want:    outcome{Keep: []string{"a", "head", "other"}},
		},
		"a Pod of the same labels that the cluster does not control is not ours": {
			cluster: cluster(raytest.Workers("cpu", 1, raytest.WorkersToDelete("foreign"))),
			pods: []*corev1.Pod{
				head, worker("foreign", raytest.Orphaned()), worker("a"),
				raytest.WorkerPod(raytest.RayCluster("ns/demo", raytest.UID("earlier")), "cpu", "previous"),
				raytest.WorkerPod(raytest.RayCluster("ns/demo2"), "cpu", "neighbour"),
				raytest.HeadPod(raytest.RayCluster("other/demo"), "head"),
				worker("quarantined", raytest.PodLabel(rayv1.LabelCluster, "")),
			},
			want: outcome{Keep: []string{"a", "head"}},
		},
		"a failed worker is replaced at once, in every group": {
			cluster: cluster(raytest.Workers("cpu", 1), raytest.Workers("gpu", 1)),
			pods: []*corev1.Pod{
				head, worker("a", raytest.Phase(corev1.PodFailed)), raytest.WorkerPod(ours, "gpu", "b", raytest.Phase(corev1.PodSucceeded)),
			},
			want: outcome{
				Workers: []Create{{Group: 0, Replicas: at(0)}, {Group: 1, Replicas: at(0)}},
				Delete:  map[string]Reason{"a": ReasonUnhealthy, "b": ReasonUnhealthy}, Keep: []string{"head"},
			},
		},
		"a worker whose Ray ended is left to the kubelet, unless nothing restarts it": {
			cluster: cluster(raytest.Workers("cpu", 3)),
			pods: []*corev1.Pod{
				head, worker("always", raytest.RayExited(1)),
				worker("onfailure", raytest.RayExited(1), raytest.RestartPolicy(corev1.RestartPolicyOnFailure)),
				worker("never", raytest.RayExited(1), raytest.RestartPolicy(corev1.RestartPolicyNever)),
			},
			want: outcome{
				Workers: []Create{{Group: 0, Replicas: at(0)}},
				Delete:  map[string]Reason{"never": ReasonUnhealthy}, Keep: []string{"always", "head", "onfailure"},
			},
		},
		"a worker that somebody deletes is replaced before it is gone": {
			cluster: cluster(raytest.Workers("cpu", 2)),
			pods:    []*corev1.Pod{head, worker("a"), worker("b", raytest.Terminating())},
			want:    outcome{Workers: []Create{{Group: 0, Replicas: at(0)}}, Keep: []string{"a", "head"}},
		},
		"a failed head is deleted and not yet replaced, workers go on": {
			cluster: cluster(raytest.Workers("cpu", 1)),
			pods:    []*corev1.Pod{raytest.HeadPod(ours, "head", raytest.Phase(corev1.PodFailed))},
			want: outcome{
				Workers: []Create{{Group: 0, Replicas: at(0)}}, Delete: map[string]Reason{"head": ReasonUnhealthy},
			},
		},
		"a head that is leaving is waited for": {
			cluster: cluster(),
			pods:    []*corev1.Pod{raytest.HeadPod(ours, "head", raytest.Terminating())},
		},
		"of two heads the ready and older one stays": {
			cluster: cluster(),
			pods: []*corev1.Pod{
				raytest.HeadPod(ours, "a", raytest.NotReady()), raytest.HeadPod(ours, "b"), raytest.HeadPod(ours, "c", raytest.CreatedAfter(time.Minute)),
			},
			want: outcome{Delete: map[string]Reason{"a": ReasonExtraHead, "c": ReasonExtraHead}, Keep: []string{"b"}},
		},
		"a head that may not be restarted holds everything": {
			cluster: cluster(raytest.Workers("cpu", 2), raytest.Annotations(map[string]string{restartDisabled: "true"}),
				raytest.Condition(rayv1.RayClusterProvisioned, metav1.ConditionTrue)),
			pods: []*corev1.Pod{worker("a")},
			want: outcome{Keep: []string{"a"}, Held: true},
		},
		"a head that may not be restarted is created the first time": {
			cluster: cluster(raytest.Annotations(map[string]string{restartDisabled: "true"}),
				raytest.Condition(rayv1.RayClusterProvisioned, metav1.ConditionFalse)),
			want: outcome{Head: true},
		},
		"a suspension is put on record before the first Pod goes": {
			cluster: cluster(raytest.Workers("cpu", 2), raytest.Suspend(true)),
			pods:    []*corev1.Pod{head},
			want:    outcome{Await: true, Keep: []string{"head"}},
		},
		"a suspended cluster loses a Pod that turns up late": {
			cluster: cluster(raytest.Workers("cpu", 2), raytest.Suspend(true), raytest.Condition(rayv1.RayClusterSuspended, metav1.ConditionTrue)),
			pods:    []*corev1.Pod{worker("a")},
			want:    outcome{Delete: map[string]Reason{"a": ReasonSuspended}},
		},
		"a suspending cluster loses all its Pods": {
			cluster: cluster(raytest.Workers("cpu", 2), raytest.Suspend(true), raytest.Condition(rayv1.RayClusterSuspending, metav1.ConditionTrue)),
			pods:    []*corev1.Pod{head, worker("a"), worker("b", raytest.Terminating()), raytest.WorkerPod(ours, "gone", "c")},
			want:    outcome{Delete: map[string]Reason{"head": ReasonSuspended, "a": ReasonSuspended, "c": ReasonSuspended}},
		},
		"suspending and suspended at once is suspending": {
			cluster: cluster(raytest.Condition(rayv1.RayClusterSuspending, metav1.ConditionTrue), raytest.Condition(rayv1.RayClusterSuspended, metav1.ConditionTrue)),
			pods:    []*corev1.Pod{head},
			want:    outcome{Delete: map[string]Reason{"head": ReasonSuspended}},
		},
		"a suspension that has begun goes on when it is taken back": {
			cluster: cluster(raytest.Workers("cpu", 1), raytest.Suspend(false), raytest.Condition(rayv1.RayClusterSuspending, metav1.ConditionTrue)),
			pods:    []*corev1.Pod{worker("a")},
			want:    outcome{Delete: map[string]Reason{"a": ReasonSuspended}},
		},
		"a suspended group loses its workers, the others do not": {
			cluster: cluster(raytest.Workers("cpu", 1, raytest.SuspendGroup()), raytest.Workers("gpu", 1)),
			pods:    []*corev1.Pod{head, worker("a"), raytest.WorkerPod(ours, "gpu", "b")},
			want:    outcome{Delete: map[string]Reason{"a": ReasonGroupSuspended}, Keep: []string{"b", "head"}},
		},
		"workers of a removed group are deleted, also with the autoscaler on": {
			cluster: cluster(raytest.Autoscaling()),
			pods:    []*corev1.Pod{head, worker("a"), worker("b", raytest.Terminating())},
			want:    outcome{Delete: map[string]Reason{"a": ReasonGroupRemoved}, Keep: []string{"head"}},
		},
		"a group called headgroup does not take the head for a worker": {
			cluster: cluster(raytest.Workers(rayv1.HeadGroupName, 0)),
			pods:    []*corev1.Pod{head},
			want:    outcome{Keep: []string{"head"}},
		},
		"the Pod that cleans up Redis is not part of the cluster": {
			cluster: cluster(),
			pods:    []*corev1.Pod{head, raytest.HeadPod(ours, "cleanup", raytest.PodLabel(rayv1.LabelNodeType, string(rayv1.RedisCleanupNode)))},
			want:    outcome{Keep: []string{"head"}},
		},
		"a Pod reported twice counts once, and as leaving if one report says so": {
			cluster: cluster(raytest.Workers("cpu", 2)),
			pods:    []*corev1.Pod{head, head, worker("a"), worker("a"), worker("b"), worker("b", raytest.Terminating())},
			want:    outcome{Workers: []Create{{Group: 0, Replicas: at(0)}}, Keep: []string{"a", "head"}},
		},
		"a deleted cluster is left to garbage collection": {
			cluster: cluster(raytest.Workers("cpu", 2), func(rc *rayv1.RayCluster) { rc.DeletionTimestamp = new(raytest.Epoch) }),
			pods:    []*corev1.Pod{head},
			want:    outcome{Keep: []string{"head"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.cluster.DeepCopy()
			got := For(Input{Cluster: tc.cluster, Pods: tc.pods, ShrinkWithAutoscaler: tc.shrink, Replicas: true})
			if diff := cmp.Diff(tc.want, outcomeOf(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			reversed := slices.Clone(tc.pods)
			slices.Reverse(reversed)
			again := For(Input{Cluster: tc.cluster, Pods: reversed, ShrinkWithAutoscaler: tc.shrink, Replicas: true})
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("the plan depends on the order of Pods (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.cluster); diff != "" {
				t.Errorf("the cluster was changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeletionMessage(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 0, raytest.WorkersToDelete("named")),
		raytest.Workers("off", 1, raytest.SuspendGroup()), raytest.Workers("tpu", 2, raytest.Hosts(2)))
	suspended := raytest.RayCluster("ns/demo", raytest.Condition(rayv1.RayClusterSuspending, metav1.ConditionTrue))
	head := raytest.HeadPod(rc, "head")
	worker := func(group, name string, opts ...raytest.PodOption) *corev1.Pod {
		return raytest.WorkerPod(rc, group, name, opts...)
	}
	host := func(replica string, host int) raytest.PodOption { return raytest.Host(replica, 0, host) }
	evicted := worker("cpu", "evicted", raytest.Phase(corev1.PodFailed), raytest.RestartPolicy(corev1.RestartPolicyNever),
		raytest.RayExited(137), func(p *corev1.Pod) { p.Status.Reason = "Evicted" })
	cases := map[string]struct {
		cluster *rayv1.RayCluster
		pods    []*corev1.Pod // the first is the one that is deleted
		want    Deletion      // of it, but for the Pod
	}{
		"unhealthy": {rc, []*corev1.Pod{evicted, head}, Deletion{
			Group: "cpu", Reason: ReasonUnhealthy,
			Message: "its phase is Failed with restart policy Never (Evicted); the Ray container exited with code 137 (Error)",
		}},
		"requested": {rc, []*corev1.Pod{worker("cpu", "named"), head}, Deletion{Group: "cpu", Reason: ReasonRequested, Message: "the scale strategy names it"}},
		"surplus":   {rc, []*corev1.Pod{worker("cpu", "a"), head}, Deletion{Group: "cpu", Reason: ReasonScaleDown, Message: "the worker group has more workers than wanted"}},
		"group suspended": {rc, []*corev1.Pod{worker("off", "a"), head}, Deletion{
			Group: "off", Reason: ReasonGroupSuspended, Message: "the worker group is suspended",
		}},
		"group removed": {rc, []*corev1.Pod{worker("gone", "a"), head}, Deletion{
			Group: "gone", Reason: ReasonGroupRemoved, Message: "the worker group is no longer in the spec",
		}},
		"second head": {rc, []*corev1.Pod{raytest.HeadPod(rc, "z"), head}, Deletion{
			Group: rayv1.HeadGroupName, Reason: ReasonExtraHead, Message: "the cluster already has the head head",
		}},
		"suspended": {suspended, []*corev1.Pod{head}, Deletion{
			Group: rayv1.HeadGroupName, Reason: ReasonSuspended, Message: "the cluster is suspended",
		}},
		"replica of one that ended": {rc, []*corev1.Pod{worker("tpu", "a", host("r", 0)), worker("tpu", "b", host("r", 1), raytest.Phase(corev1.PodFailed)), head}, Deletion{
			Group: "tpu", Reason: ReasonUnhealthy, Message: "its replica goes as a whole with b: its phase is Failed with restart policy Always",
		}},
		"replica of one that is leaving": {rc, []*corev1.Pod{worker("tpu", "a", host("r", 0)), worker("tpu", "b", host("r", 1), raytest.Terminating()), head}, Deletion{
			Group: "tpu", Reason: ReasonReplicaIncomplete, Message: "another host of its replica is being deleted",
		}},
		"replica of one that is gone": {rc, []*corev1.Pod{worker("tpu", "a", host("r", 0)), head}, Deletion{
			Group: "tpu", Reason: ReasonReplicaIncomplete, Message: "another host of its replica is gone",
		}},
		"twin": {rc, []*corev1.Pod{worker("tpu", "z", host("r", 0)), worker("tpu", "a", host("r", 0)), worker("tpu", "b", host("r", 1)), head}, Deletion{
			Group: "tpu", Reason: ReasonScaleDown, Message: "its replica has all its hosts without it",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			plan := For(Input{Cluster: tc.cluster, Pods: tc.pods, Replicas: true})
			tc.want.Pod = tc.pods[0]
			i := slices.IndexFunc(plan.Delete, func(d Deletion) bool { return d.Pod == tc.pods[0] })
			if i < 0 {
				t.Fatalf("it is not deleted: %+v", outcomeOf(plan))
			}
			if diff := cmp.Diff(tc.want, plan.Delete[i]); diff != "" {
				t.Errorf("deletion (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPlanIsBounded(t *testing.T) {
	huge := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 2147483647, raytest.Hosts(2147483647)), raytest.Workers("b", 2147483647))
	for _, replicas := range []bool{true, false} {
		for _, c := range For(Input{Cluster: huge, Replicas: replicas}).CreateWorkers {
			if c.Pods() != MaxCreates {
				t.Errorf("replicas %t, group %d: want %d creates, got %d", replicas, c.Group, MaxCreates, c.Pods())
			}
		}
	}
	list := For(Input{Cluster: raytest.RayCluster("ns/demo", raytest.Workers("tpu", 3000, raytest.Hosts(3))), Replicas: true}).CreateWorkers
	if len(list) != 1 || list[0].Pods() != MaxCreates/3*3 || len(list[0].Replicas) != MaxCreates/3 {
		t.Errorf("want %d whole replicas, got %d Pods", MaxCreates/3, list[0].Pods())
	}
}

func TestEmpty(t *testing.T) {
	if p := (Plan{HeadRestartDisabled: true, Keep: []*corev1.Pod{{}}}); !p.Empty() {
		t.Error("a plan that only keeps is not empty")
	}
	for name, p := range map[string]Plan{
		"head": {CreateHead: true}, "workers": {CreateWorkers: []Create{{}}}, "deletions": {Delete: []Deletion{{}}}, "adoption": {AdoptHead: &corev1.Pod{}},
	} {
		if p.Empty() {
			t.Errorf("a plan with %s is empty", name)
		}
	}
}

// Empty reports whether there is nothing to do to Pods.
func (p Plan) Empty() bool {
	return !p.CreateHead && len(p.CreateWorkers) == 0 && len(p.Delete) == 0 && p.AdoptHead == nil
}
