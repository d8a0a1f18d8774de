package raycluster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// summary is what a user sees of the status at a glance.
type summary struct {
	State   rayv1.ClusterState
	Reason  string // of the status
	Stalled string // reason of the condition
	Waits   string // reason of Reconciling if that is for a node or a quota
	Head    string // reason of HeadPodReady
	Events  []string
}

func TestStatusSummary(t *testing.T) {
	const ready, suspended = rayv1.ClusterStateReady, rayv1.ClusterStateSuspended
	state := func(st rayv1.ClusterState) raytest.ClusterOption {
		return func(rc *rayv1.RayCluster) { rc.Status.State = st }
	}
	unscheduled := func(p *corev1.Pod) {
		raytest.Unscheduled()(p)
		p.Status.Conditions[0].Message = "0/2 nodes are available"
	}
	odd := func(p *corev1.Pod) {
		raytest.NotReady()(p)
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].Reason = "no reason that conditions take"
		}
	}
	const running = rayv1.ReasonHeadPodRunningAndReady
	cases := map[string]struct {
		cluster []raytest.ClusterOption
		head    []raytest.PodOption // nil for no head
		worker  []raytest.PodOption // nil for no worker
		want    summary
	}{
		"all are ready": {
			head: []raytest.PodOption{}, worker: []raytest.PodOption{}, want: summary{State: ready, Head: running},
		},
		"a worker is not ready": {
			head: []raytest.PodOption{}, worker: []raytest.PodOption{raytest.NotReady()}, want: summary{Head: running},
		},
		"a worker was lost after all were ready": {
			cluster: []raytest.ClusterOption{state(ready)},
			head:    []raytest.PodOption{}, worker: []raytest.PodOption{raytest.NotReady()}, want: summary{State: ready, Head: running},
		},
		"the head was lost after all were ready": {
			cluster: []raytest.ClusterOption{state(ready)},
			head:    []raytest.PodOption{raytest.NotReady()}, worker: []raytest.PodOption{}, want: summary{Head: rayv1.ReasonUnknown},
		},
		"a reason that conditions cannot have": {
			head: []raytest.PodOption{odd}, worker: []raytest.PodOption{}, want: summary{Head: rayv1.ReasonUnknown},
		},
		"a spec that is refused is not ready": {
			cluster: []raytest.ClusterOption{state(ready), raytest.HeadParams(map[string]string{"num-cpus": "1"}),
				raytest.Head(func(h *rayv1.HeadGroupSpec) { h.Resources = map[string]string{"CPU": "2"} })},
			head: []raytest.PodOption{}, worker: []raytest.PodOption{},
			want: summary{State: rayv1.ClusterStateFailed, Reason: "spec.headGroupSpec", Stalled: rayv1.ReasonInvalidRayClusterSpec, Head: running, Events: []string{"InvalidRayClusterSpec"}},
		},
		"a name that is too long for Pods": {
			cluster: []raytest.ClusterOption{func(rc *rayv1.RayCluster) { rc.Name = strings.Repeat("a", 60) }},
			want:    summary{State: rayv1.ClusterStateFailed, Reason: "metadata.name", Stalled: rayv1.ReasonInvalidRayClusterSpec, Head: rayv1.ReasonHeadPodNotFound, Events: []string{"InvalidRayClusterMetadata"}},
		},
		"what was refused is over when the spec is refused": {
			cluster: []raytest.ClusterOption{
				raytest.Condition(rayv1.RayClusterReplicaFailure, metav1.ConditionTrue), raytest.Condition(rayv1.RayClusterStalled, metav1.ConditionTrue),
				raytest.Condition(rayv1.RayClusterChildFailure, metav1.ConditionTrue), raytest.Condition(rayv1.RayClusterBatchSchedulerProblem, metav1.ConditionTrue),
				raytest.HeadContainer(func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "RAY_REDIS_ADDRESS", Value: "r"}} }),
			},
			head: []raytest.PodOption{}, worker: []raytest.PodOption{},
			want: summary{State: rayv1.ClusterStateFailed, Reason: "spec.headGroupSpec", Stalled: rayv1.ReasonInvalidRayClusterSpec, Head: running, Events: []string{"InvalidRayClusterSpec"}},
		},
		"a spec that was repaired": {
			cluster: []raytest.ClusterOption{state(rayv1.ClusterStateFailed)},
			head:    []raytest.PodOption{}, worker: []raytest.PodOption{raytest.NotReady()}, want: summary{Head: running},
		},
		"a resumed cluster is no longer suspended": {
			cluster: []raytest.ClusterOption{state(suspended), raytest.Condition(rayv1.RayClusterSuspended, metav1.ConditionTrue)},
			head:    []raytest.PodOption{raytest.NotReady()}, worker: []raytest.PodOption{}, want: summary{Head: rayv1.ReasonUnknown},
		},
		"a worker finds no node": {
			head: []raytest.PodOption{}, worker: []raytest.PodOption{unscheduled},
			want: summary{
				Reason: "worker Pod w in group cpu finds no node: 0/2 nodes are available", Waits: "Unschedulable", Head: running,
				Events: []string{"Unschedulable"},
			},
		},
		"the same again": {
			cluster: []raytest.ClusterOption{func(rc *rayv1.RayCluster) {
				rc.Status.Conditions = []metav1.Condition{{Type: rayv1.RayClusterStalled, Status: metav1.ConditionTrue, Reason: "Unschedulable"}}
			}},
			head: []raytest.PodOption{}, worker: []raytest.PodOption{unscheduled},
			want: summary{Reason: "worker Pod w in group cpu finds no node", Waits: "Unschedulable", Head: running},
		},
		"the head may not come back": {
			cluster: []raytest.ClusterOption{state(ready), raytest.Condition(rayv1.RayClusterProvisioned, metav1.ConditionTrue),
				raytest.Annotations(map[string]string{rayv1.AnnotationDisableProvisionedHeadRestart: "true"})},
			worker: []raytest.PodOption{},
			want: summary{
				Reason: "the head Pod is gone and the annotation", Stalled: "HeadRestartDisabled", Head: rayv1.ReasonHeadPodNotFound,
				Events: []string{"HeadRestartDisabled"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", append([]raytest.ClusterOption{raytest.Workers("cpu", 1)}, tc.cluster...)...)
			var objects []client.Object
			if tc.head != nil {
				objects = append(objects, raytest.HeadPod(rc, "h", tc.head...))
			}
			if tc.worker != nil {
				objects = append(objects, raytest.WorkerPod(rc, "cpu", "w", tc.worker...))
			}
			b := newBench(t, rc, interceptor.Funcs{}, objects...)
			b.clock.Step(2 * time.Minute) // since the Pods were made
			b.mustReconcile()
			b.clock.Step(settleTime)
			b.mustReconcile()
			st := b.status()
			got := summary{State: st.State, Reason: st.Reason}
			if strings.HasPrefix(st.Reason, tc.want.Reason) && tc.want.Reason != "" {
				got.Reason = tc.want.Reason
			}
			if c := meta.FindStatusCondition(st.Conditions, rayv1.RayClusterStalled); c != nil {
				got.Stalled = c.Reason
			}
			if c := meta.FindStatusCondition(st.Conditions, rayv1.ConditionReconciling); c != nil && rayv1.Awaited(c.Reason) {
				got.Waits = c.Reason
			}
			if c := meta.FindStatusCondition(st.Conditions, rayv1.HeadPodReady); c != nil {
				got.Head = c.Reason
			}
			for _, e := range b.events() {
				got.Events = append(got.Events, strings.Fields(e)[1])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if st.State == rayv1.ClusterStateFailed && len(st.Conditions) != 4 {
				t.Errorf("conditions %v, want InvalidSpec, HeadPodReady, Ready and Stalled alone", st.Conditions)
			}
			for _, c := range st.Conditions {
				if c.ObservedGeneration != rc.Generation {
					t.Errorf("condition %s was observed at generation %d, want %d", c.Type, c.ObservedGeneration, rc.Generation)
				}
			}
		})
	}
}

func TestAPodThatWaitsForANodeIsLookedAtInTime(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	b := newBench(t, rc, interceptor.Funcs{}, raytest.HeadPod(rc, "h", raytest.Unscheduled()))
	b.mustReconcile()
	b.clock.Step(settleTime)
	result := b.mustReconcile()
	if result.RequeueAfter == 0 || result.RequeueAfter > time.Minute {
		t.Fatalf("looks again after %s", result.RequeueAfter)
	}
	b.clock.Step(result.RequeueAfter)
	b.mustReconcile()
	if c := meta.FindStatusCondition(b.status().Conditions, rayv1.ConditionReconciling); c == nil || c.Reason != rayv1.ReasonUnschedulable {
		t.Errorf("conditions %v, want Reconciling with the reason Unschedulable", b.status().Conditions)
	}
}

// TestSuspensionThatIsTakenBackInTheMiddle: the last event about such a cluster may be that of its last Pod.
func TestSuspensionThatIsTakenBackInTheMiddle(t *testing.T) {
	b := newBench(t, raytest.RayCluster("ns/demo", raytest.Condition(rayv1.RayClusterSuspending, metav1.ConditionTrue)), interceptor.Funcs{})
	result := b.mustReconcile()
	if !meta.IsStatusConditionTrue(b.status().Conditions, rayv1.RayClusterSuspended) || result.RequeueAfter == 0 || result.RequeueAfter > settleTime {
		t.Errorf("looks again after %s, conditions %v", result.RequeueAfter, b.status().Conditions)
	}
	b.mustReconcile()
	if len(b.pods()) != 1 || meta.IsStatusConditionTrue(b.status().Conditions, rayv1.RayClusterSuspended) {
		t.Errorf("%d Pods, conditions %v, want the cluster resumed", len(b.pods()), b.status().Conditions)
	}
}

func TestASuspensionIsOnRecordBeforeTheFirstPodGoes(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Suspend(true))
	b := newBench(t, rc, interceptor.Funcs{}, raytest.HeadPod(rc, "h"))
	if result := b.mustReconcile(); result.RequeueAfter == 0 || len(b.pods()) != 1 {
		t.Errorf("looks again after %s with %d Pods, want soon with 1", result.RequeueAfter, len(b.pods()))
	}
	if !meta.IsStatusConditionTrue(b.status().Conditions, rayv1.RayClusterSuspending) {
		t.Fatalf("conditions %v, want Suspending", b.status().Conditions)
	}
	b.mustReconcile()
	b.mustReconcile()
	st := b.status()
	if len(b.pods()) != 0 || !meta.IsStatusConditionTrue(st.Conditions, rayv1.RayClusterSuspended) || st.State != rayv1.ClusterStateSuspended {
		t.Errorf("%d Pods, state %q, conditions %v", len(b.pods()), st.State, st.Conditions)
	}
	if got := b.events(); len(got) != 1 || !strings.Contains(got[0], "DeletedPod") {
		t.Errorf("events %q, want one", got)
	}
}
