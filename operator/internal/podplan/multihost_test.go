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

// TestMultiHost is about a group "tpu" of two hosts per replica; a Pod r0h1 is host 1 of the replica r0 with index 0.
func TestMultiHost(t *testing.T) {
	tpu := func(replicas int32, opts ...raytest.GroupOption) *rayv1.RayCluster {
		return raytest.RayCluster("ns/demo", raytest.Workers("tpu", replicas, append([]raytest.GroupOption{raytest.Hosts(2)}, opts...)...))
	}
	changed := func(rc *rayv1.RayCluster, opts ...raytest.ClusterOption) *rayv1.RayCluster {
		for _, opt := range opts {
			opt(rc)
		}
		return rc
	}
	head := raytest.HeadPod(tpu(1), "head")
	pod := func(replica string, index, host int, opts ...raytest.PodOption) *corev1.Pod {
		name := replica + "h" + string(rune('0'+host))
		return raytest.WorkerPod(tpu(1), "tpu", name, append([]raytest.PodOption{raytest.Host(replica, index, host)}, opts...)...)
	}
	both := func(replica string, index int, opts ...raytest.PodOption) []*corev1.Pod {
		return []*corev1.Pod{pod(replica, index, 0, opts...), pod(replica, index, 1, opts...)}
	}
	plain := func(name string, opts ...raytest.PodOption) *corev1.Pod {
		return raytest.WorkerPod(tpu(1), "tpu", name, opts...)
	}
	pods := func(lists ...[]*corev1.Pod) []*corev1.Pod { return append(slices.Concat(lists...), head) }
	whole := func(indices ...int) []Create {
		c := Create{}
		for _, i := range indices {
			c.Replicas = append(c.Replicas, Replica{Index: i, Hosts: []int{0, 1}})
		}
		return []Create{c}
	}
	refused := func(rc *rayv1.RayCluster) {
		rc.Status.Conditions = []metav1.Condition{{Type: rayv1.RayClusterReplicaFailure, Status: metav1.ConditionTrue, Message: "exceeded quota"}}
	}
	pending := raytest.Phase(corev1.PodPending)

	cases := map[string]struct {
		cluster *rayv1.RayCluster
		pods    []*corev1.Pod
		want    outcome
	}{
		"new replicas have indices and hosts": {
			tpu(2), pods(), outcome{Workers: whole(0, 1), Keep: []string{"head"}},
		},
		"complete replicas stay": {
			tpu(2), pods(both("r0", 0), both("r1", 1)), outcome{Keep: []string{"head", "r0h0", "r0h1", "r1h0", "r1h1"}},
		},
		"one host that ended takes its replica along, and its index is not used again at once": {
			tpu(2), pods([]*corev1.Pod{pod("r0", 0, 0, raytest.Phase(corev1.PodFailed)), pod("r0", 0, 1)}, both("r1", 1)),
			outcome{
				Workers: whole(2), Delete: map[string]Reason{"r0h0": ReasonUnhealthy, "r0h1": ReasonUnhealthy},
				Keep: []string{"head", "r1h0", "r1h1"},
			},
		},
		"the index of a replica that is gone is used again": {
			tpu(2), pods(both("r1", 1)), outcome{Workers: whole(0), Keep: []string{"head", "r1h0", "r1h1"}},
		},
		"the index of a replica that is leaving is not": {
			tpu(1), pods(both("r0", 0, raytest.Terminating())), outcome{Workers: whole(1), Keep: []string{"head"}},
		},
		"a host that somebody deletes takes its replica along": {
			tpu(1), pods([]*corev1.Pod{pod("r0", 0, 0, raytest.Terminating()), pod("r0", 0, 1)}),
			outcome{Workers: whole(1), Delete: map[string]Reason{"r0h1": ReasonReplicaIncomplete}, Keep: []string{"head"}},
		},
		"a host that vanished takes its replica along": {
			tpu(1), pods([]*corev1.Pod{pod("r0", 0, 1)}),
			outcome{Workers: whole(1), Delete: map[string]Reason{"r0h1": ReasonReplicaIncomplete}, Keep: []string{"head"}},
		},
		"so does one that leaves before the replica has worked": {
			tpu(1), pods([]*corev1.Pod{pod("r0", 0, 0, raytest.Terminating()), pod("r0", 0, 1, pending)}),
			outcome{Workers: whole(1), Delete: map[string]Reason{"r0h1": ReasonReplicaIncomplete}, Keep: []string{"head"}},
		},
		"a host that vanished takes its replica along though that is not ready": {
			tpu(1), pods([]*corev1.Pod{pod("r0", 0, 1, raytest.NotReady())}),
			outcome{Workers: whole(1), Delete: map[string]Reason{"r0h1": ReasonReplicaIncomplete}, Keep: []string{"head"}},
		},
		"unfinished replicas are finished in the order of their indices": {
			tpu(2), pods([]*corev1.Pod{pod("r0", 0, 0, pending), pod("r1", 1, 0, raytest.Unscheduled())}),
			outcome{Workers: []Create{{Replicas: []Replica{{Index: 0, Name: "r0", Hosts: []int{1}}, {Index: 1, Name: "r1", Hosts: []int{1}}}}}, Keep: []string{"head", "r0h0", "r1h0"}},
		},
		"a replica that was never complete is finished": {
			tpu(1), pods([]*corev1.Pod{pod("r0", 0, 1, pending)}),
			outcome{Workers: []Create{{Replicas: []Replica{{Index: 0, Name: "r0", Hosts: []int{0}}}}}, Keep: []string{"head", "r0h1"}},
		},
		"a replica of which a host was refused is finished, though the others work": {
			changed(tpu(1), refused), pods([]*corev1.Pod{pod("r3", 3, 0)}),
			outcome{Workers: []Create{{Replicas: []Replica{{Index: 3, Name: "r3", Hosts: []int{1}}}}}, Keep: []string{"head", "r3h0"}},
		},
		"of two unfinished replicas that are refused one gives way": {
			changed(tpu(3), refused), pods([]*corev1.Pod{pod("r0", 0, 0), pod("r1", 1, 0, raytest.CreatedAfter(time.Hour))}),
			outcome{
				Workers: []Create{{Replicas: []Replica{{Index: 0, Name: "r0", Hosts: []int{1}}}}},
				Delete:  map[string]Reason{"r1h0": ReasonScaleDown}, Keep: []string{"head", "r0h0"},
			},
		},
		"naming one host takes the whole replica": {
			tpu(1, raytest.WorkersToDelete("r0h1")), pods(both("r0", 0), both("r1", 1)),
			outcome{Delete: map[string]Reason{"r0h0": ReasonRequested, "r0h1": ReasonRequested}, Keep: []string{"head", "r1h0", "r1h1"}},
		},
		"shrinking takes the replica whose worst Pod is worst": {
			tpu(1), pods([]*corev1.Pod{pod("r0", 0, 0, raytest.NotReady()), pod("r0", 0, 1)}, both("r1", 1, raytest.CreatedAfter(time.Hour))),
			outcome{Delete: map[string]Reason{"r0h0": ReasonScaleDown, "r0h1": ReasonScaleDown}, Keep: []string{"head", "r1h0", "r1h1"}},
		},
		"the autoscaler names what goes": {
			changed(tpu(1), raytest.Autoscaling()), pods(both("r0", 0), both("r1", 1)),
			outcome{Keep: []string{"head", "r0h0", "r0h1", "r1h0", "r1h1"}},
		},
		"what is unfinished and not wanted goes also with the autoscaler on": {
			changed(tpu(1), raytest.Autoscaling()), pods(both("r0", 0), []*corev1.Pod{pod("r1", 1, 0, pending)}),
			outcome{Delete: map[string]Reason{"r1h0": ReasonScaleDown}, Keep: []string{"head", "r0h0", "r0h1"}},
		},
		"a host made twice goes once, and its replica stays": {
			tpu(1), pods(both("r0", 0), []*corev1.Pod{raytest.WorkerPod(tpu(1), "tpu", "twin", raytest.Host("r0", 0, 1), raytest.CreatedAfter(time.Hour))}),
			outcome{Delete: map[string]Reason{"twin": ReasonScaleDown}, Keep: []string{"head", "r0h0", "r0h1"}},
		},
		"a host made twice goes once though another host is worth less": {
			tpu(1), pods([]*corev1.Pod{pod("r0", 0, 0, raytest.NotReady()), pod("r0", 0, 1), raytest.WorkerPod(tpu(1), "tpu", "twin", raytest.Host("r0", 0, 1), raytest.CreatedAfter(time.Hour))}),
			outcome{Delete: map[string]Reason{"twin": ReasonScaleDown}, Keep: []string{"head", "r0h0", "r0h1"}},
		},
		"with fewer hosts per replica the last ones go, whatever they are worth": {
			tpu(1), pods(both("r0", 0, raytest.NotReady()), []*corev1.Pod{pod("r0", 0, 2)}),
			outcome{Delete: map[string]Reason{"r0h2": ReasonScaleDown}, Keep: []string{"head", "r0h0", "r0h1"}},
		},
		"a twin that is leaving does no harm": {
			tpu(1), pods(both("r0", 0), []*corev1.Pod{raytest.WorkerPod(tpu(1), "tpu", "twin", raytest.Host("r0", 0, 1), raytest.Terminating())}),
			outcome{Keep: []string{"head", "r0h0", "r0h1"}},
		},
		"Pods from before the gate are neither made again nor deleted": {
			tpu(2), pods([]*corev1.Pod{plain("a"), plain("b"), plain("c"), plain("d")}),
			outcome{Keep: []string{"a", "b", "c", "d", "head"}},
		},
		"a missing Pod from before the gate is replaced by one of its kind": {
			tpu(2), pods([]*corev1.Pod{plain("a"), plain("b"), plain("c")}),
			outcome{Workers: []Create{{Plain: 1}}, Keep: []string{"a", "b", "c", "head"}},
		},
		"a group from before the gate grows by named replicas": {
			tpu(2), pods([]*corev1.Pod{plain("a"), plain("b")}), outcome{Workers: whole(0), Keep: []string{"a", "b", "head"}},
		},
		"a group from before the gate shrinks by as many Pods as a replica has": {
			tpu(1), pods([]*corev1.Pod{plain("a"), plain("b", raytest.NotReady()), plain("c"), plain("d", raytest.Unscheduled())}),
			outcome{Delete: map[string]Reason{"b": ReasonScaleDown, "d": ReasonScaleDown}, Keep: []string{"a", "c", "head"}},
		},
		"a failed Pod from before the gate is replaced alone": {
			tpu(1), pods([]*corev1.Pod{plain("a"), plain("b", raytest.Phase(corev1.PodFailed))}),
			outcome{Workers: []Create{{Plain: 1}}, Delete: map[string]Reason{"b": ReasonUnhealthy}, Keep: []string{"a", "head"}},
		},
		"one too many from before the gate goes": {
			tpu(1), pods([]*corev1.Pod{plain("a"), plain("b"), plain("c")}),
			outcome{Delete: map[string]Reason{"c": ReasonScaleDown}, Keep: []string{"a", "b", "head"}},
		},
		"but not while the autoscaler is on": {
			changed(tpu(1), raytest.Autoscaling()), pods([]*corev1.Pod{plain("a"), plain("b"), plain("c")}),
			outcome{Keep: []string{"a", "b", "c", "head"}},
		},
		"a suspended group loses all": {
			tpu(1, raytest.SuspendGroup()), pods(both("r0", 0), []*corev1.Pod{plain("a")}),
			outcome{Delete: map[string]Reason{"r0h0": ReasonGroupSuspended, "r0h1": ReasonGroupSuspended, "a": ReasonGroupSuspended}, Keep: []string{"head"}},
		},
		"no hosts mean one": {
			tpu(1, raytest.Hosts(0)), pods(), outcome{Workers: []Create{{Replicas: at(0)}}, Keep: []string{"head"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := For(Input{Cluster: tc.cluster, Pods: tc.pods, Replicas: true})
			if diff := cmp.Diff(tc.want, outcomeOf(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			slices.Reverse(tc.pods)
			if diff := cmp.Diff(got, For(Input{Cluster: tc.cluster, Pods: tc.pods, Replicas: true})); diff != "" {
				t.Errorf("the plan depends on the order of Pods (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("what the caller knows of refusals counts as well", func(t *testing.T) {
		in := Input{Cluster: tpu(1), Pods: pods([]*corev1.Pod{pod("r0", 0, 0)}), Replicas: true, Refused: func(group string) bool { return group == "tpu" }}
		want := outcome{Workers: []Create{{Replicas: []Replica{{Index: 0, Name: "r0", Hosts: []int{1}}}}}, Keep: []string{"head", "r0h0"}}
		if diff := cmp.Diff(want, outcomeOf(For(in))); diff != "" {
			t.Errorf("plan (-want +got):\n%s", diff)
		}
	})
	t.Run("with the gate off Pods are interchangeable", func(t *testing.T) {
		want := outcome{Workers: []Create{{Plain: 1}}, Keep: []string{"head", "r0h0", "r0h1", "r1h0"}}
		got := For(Input{Cluster: tpu(2), Pods: pods(both("r0", 0), []*corev1.Pod{pod("r1", 1, 0)})})
		if diff := cmp.Diff(want, outcomeOf(got)); diff != "" {
			t.Errorf("plan (-want +got):\n%s", diff)
		}
	})
}
