package podplan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/internal/testing/raytest"
)

func waiting(reason, message string) raytest.PodOption {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "ray", Image: "img", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	}
}

func TestTroublesOf(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	soon, late := raytest.Epoch.Add(20*time.Second), raytest.Epoch.Add(2*time.Hour)
	unscheduled := func(p *corev1.Pod) {
		raytest.Unscheduled()(p)
		p.Status.Conditions[0].Message = "0/2 nodes are available"
	}
	gated := func(p *corev1.Pod) {
		raytest.Unscheduled()(p)
		p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated
	}
	crashed := func(restarts int32, ready bool) raytest.PodOption {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "ray", Ready: ready, RestartCount: restarts,
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
			}}
		}
	}
	head := func(opts ...raytest.PodOption) *corev1.Pod { return raytest.HeadPod(rc, "head", opts...) }
	worker := func(name string, opts ...raytest.PodOption) *corev1.Pod {
		return raytest.WorkerPod(rc, "gpu", name, opts...)
	}
	pulls := []Trouble{{"ImagePullFailed", "head Pod head cannot pull the image img of container ray: not found"}}
	cases := map[string]struct {
		pods  []*corev1.Pod
		now   time.Time
		want  []Trouble
		later time.Duration
	}{
		"none":             {pods: []*corev1.Pod{head(), worker("a")}, now: late},
		"starting":         {pods: []*corev1.Pod{head(waiting("ContainerCreating", ""))}, now: late},
		"no node, not yet": {pods: []*corev1.Pod{head(), worker("a", unscheduled)}, now: soon, later: 40 * time.Second},
		"no node": {pods: []*corev1.Pod{head(), worker("a", unscheduled)}, now: late,
			want: []Trouble{{"Unschedulable", "worker Pod a in group gpu finds no node: 0/2 nodes are available"}}},
		"gated": {pods: []*corev1.Pod{head(gated)}, now: late,
			want: []Trouble{{"SchedulingGated", "head Pod head is held back by its scheduling gates"}}},
		"no image": {pods: []*corev1.Pod{head(waiting("ErrImagePull", "not found"))}, now: late, want: pulls},
		"no image, waiting to try again": {pods: []*corev1.Pod{head(waiting("ImagePullBackOff", `Back-off pulling image "img": ErrImagePull: not found`))}, now: late,
			want: pulls},
		"no Secret": {pods: []*corev1.Pod{head(waiting("CreateContainerConfigError", `secret "s" not found`))}, now: late,
			want: []Trouble{{"ContainerCannotStart", `head Pod head cannot start its container ray: secret "s" not found`}}},
		"crashed once":             {pods: []*corev1.Pod{head(crashed(1, false))}, now: late},
		"crashed often, now ready": {pods: []*corev1.Pod{head(crashed(9, true))}, now: late},
		"crashes again and again": {pods: []*corev1.Pod{head(crashed(3, false))}, now: late,
			want: []Trouble{{"CrashLoop", "head Pod head starts its container ray again and again: it ended with code 137 the last time (OOMKilled)"}}},
		"in a crash loop, says the kubelet": {pods: []*corev1.Pod{head(waiting("CrashLoopBackOff", ""))}, now: late,
			want: []Trouble{{"CrashLoop", "head Pod head starts its container ray again and again"}}},
		"crashes without a reason": {pods: []*corev1.Pod{head(crashed(3, false), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "Error"
		})}, now: late, want: []Trouble{{"CrashLoop", "head Pod head starts its container ray again and again: it ended with code 137 the last time"}}},
		"the first that becomes trouble is waited for": {pods: []*corev1.Pod{
			worker("a", unscheduled), worker("b", unscheduled, raytest.CreatedAfter(-10*time.Second)), worker("c", unscheduled),
		}, now: soon, later: 30 * time.Second},
		"ending": {pods: []*corev1.Pod{head(raytest.Terminating())}, now: raytest.Epoch.Add(time.Hour), later: time.Minute},
		"does not end": {pods: []*corev1.Pod{head(raytest.Terminating())}, now: late,
			want: []Trouble{{"TerminationStuck", "head Pod head does not end; if its node is lost for good, delete the node, or the Pod with --force"}}},
		"several": {pods: []*corev1.Pod{worker("b", unscheduled), worker("c", waiting("InvalidImageName", "")), worker("a", unscheduled), head(gated)}, now: late,
			want: []Trouble{
				{"SchedulingGated", "head Pod head is held back by its scheduling gates"},
				{"ImagePullFailed", "worker Pod c in group gpu cannot use the image img of container ray"},
				{"Unschedulable", "worker Pod a in group gpu, like others, finds no node: 0/2 nodes are available"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, later := TroublesOf(tc.pods, tc.now)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("trouble (-want +got):\n%s", diff)
			}
			if later != tc.later {
				t.Errorf("look again after %s, want %s", later, tc.later)
			}
		})
	}
}

func FuzzTroubleOf(f *testing.F) {
	f.Add("ImagePullBackOff", "ErrImagePull: ", int32(5), int64(70), true)
	f.Add("", "", int32(0), int64(-5), false)
	f.Fuzz(func(t *testing.T, reason, message string, restarts int32, seconds int64, terminating bool) {
		p := raytest.WorkerPod(raytest.RayCluster("ns/demo"), "g", "p", waiting(reason, message))
		p.Status.ContainerStatuses[0].RestartCount = restarts
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionStatus(message), Reason: reason}}
		if terminating {
			p.DeletionTimestamp = new(metav1.NewTime(raytest.Epoch.Time))
		}
		got, later := TroubleOf(p, raytest.Epoch.Add(time.Duration(seconds%1e6)*time.Second))
		if (got.Reason == "") != (got.Message == "") || got.Reason != "" && later != 0 || later < 0 {
			t.Errorf("%+v, later %s", got, later)
		}
	})
}
