package resource

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
	"github.com/raygate/raygate/pkg/validation/examples"
)

func podOf(name string, node rayv1.RayNodeType, status corev1.PodStatus) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{rayv1.LabelNodeType: string(node)}}, Status: status}
}

func waiting(container, reason string) corev1.PodStatus {
	return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}}
}

func ended(container, reason string, code int32) corev1.PodStatus {
	s := waiting(container, "CrashLoopBackOff")
	s.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}
	return s
}

func TestDiagnose(t *testing.T) {
	head := func(s corev1.PodStatus) []corev1.Pod { return []corev1.Pod{podOf("demo-head", rayv1.HeadNode, s)} }
	warning := func(kind, name, reason string) []corev1.Event {
		return []corev1.Event{{InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name}, Type: corev1.EventTypeWarning, Reason: reason, Message: "m"}}
	}
	condition := func(name, reason, message string) func(*rayv1.RayCluster) {
		return func(rc *rayv1.RayCluster) {
			rc.Status.Conditions = []metav1.Condition{{Type: name, Status: metav1.ConditionTrue, Reason: reason, Message: message}}
		}
	}
	refusal := func(message string) []corev1.Event {
		return []corev1.Event{{InvolvedObject: corev1.ObjectReference{Kind: "RayCluster", Name: "demo"}, Type: corev1.EventTypeWarning, Reason: "FailedToCreateWorkerPod", Message: message}}
	}
	asks := func(name, amount string) func(*rayv1.RayCluster) {
		return func(rc *rayv1.RayCluster) {
			rc.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Resources.Limits[corev1.ResourceName(name)] = apiresource.MustParse(amount)
		}
	}
	registry, err := load.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	withHead := func(rc *rayv1.RayCluster) { rc.Status.Head.ServiceName = "demo-head-svc" }
	readyPod := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	for name, tc := range map[string]struct {
		change func(*rayv1.RayCluster)
		pods   []corev1.Pod
		events []corev1.Event
		log    string
		// dashboard is what the dashboard answers, nil that it does.
		dashboard error
		want      []string
	}{
		"nothing wrong": {pods: head(corev1.PodStatus{})},
		"suspended":     {change: func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(true) }, want: []string{"INFO Suspended"}},
		"elsewhere":     {change: func(rc *rayv1.RayCluster) { rc.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") }, want: []string{"INFO ManagedElsewhere"}},
		"deleting": {change: func(rc *rayv1.RayCluster) {
			rc.DeletionTimestamp = &metav1.Time{}
			rc.DeletionTimestamp.Time = metav1.Now().Time
		}, want: []string{"INFO Deleting"}},
		"invalid":       {change: func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].MinReplicas = new(int32(-1)) }, want: []string{"ERROR InvalidSpec"}},
		"no operator":   {change: func(rc *rayv1.RayCluster) { rc.Status.ObservedGeneration = 0 }, pods: head(corev1.PodStatus{}), want: []string{"WARNING NotObserved"}},
		"no head":       {want: []string{"ERROR HeadPodMissing"}},
		"quota":         {change: condition(rayv1.RayClusterReplicaFailure, "FailedCreateHeadPod", "exceeded quota: q"), want: []string{"ERROR QuotaExceeded"}},
		"admission":     {change: condition(rayv1.RayClusterReplicaFailure, "FailedCreateHeadPod", "admission webhook w denied"), want: []string{"ERROR AdmissionRefused"}},
		"no account":    {change: condition(rayv1.RayClusterReplicaFailure, "FailedCreateHeadPod", `serviceaccount "x" not found`), want: []string{"ERROR ServiceAccountMissing"}},
		"child":         {change: condition(rayv1.RayClusterChildFailure, "FailedToCreateIngress", "no"), pods: head(corev1.PodStatus{}), want: []string{"ERROR FailedToCreateIngress"}},
		"stalled":       {change: condition(rayv1.RayClusterStalled, "PodsHeld", "gang"), pods: head(corev1.PodStatus{}), want: []string{"ERROR PodsHeld"}},
		"unschedulable": {pods: head(corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes"}}}), want: []string{"ERROR Unschedulable"}},
		"no claim":      {pods: head(corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: `persistentvolumeclaim "p" not found`}}}), want: []string{"ERROR VolumeMissing"}},
		"no image":      {pods: head(waiting("ray-head", "ErrImagePull")), want: []string{"ERROR ImagePullFailed"}},
		"no secret":     {pods: head(waiting("ray-head", "CreateContainerConfigError")), want: []string{"ERROR ReferenceMissing"}},
		"crashing":      {pods: head(ended("ray-head", "Error", 1)), log: "boom", want: []string{"ERROR ContainerCrashing"}},
		"out of memory": {pods: head(ended("ray-head", "OOMKilled", 137)), want: []string{"ERROR OutOfMemory"}},
		"autoscaler":    {pods: head(ended("autoscaler", "Error", 1)), want: []string{"ERROR AutoscalerFailing"}},
		"redis": {
			change: func(rc *rayv1.RayCluster) {
				rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
			},
			pods: head(ended("ray-head", "Error", 1)), log: "Could not connect to Redis", want: []string{"ERROR RedisUnreachable"},
		},
		"evicted": {pods: head(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}), want: []string{"ERROR Evicted"}},
		"workers wait, the head first": {pods: []corev1.Pod{
			podOf("w1", rayv1.WorkerNode, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: rayv1.ContainerWaitGCSReady, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}),
			podOf("w2", rayv1.WorkerNode, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: rayv1.ContainerWaitGCSReady, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}),
			podOf("demo-head", rayv1.HeadNode, waiting("ray-head", "ImagePullBackOff")),
		}, want: []string{"ERROR ImagePullFailed", "INFO WaitingForHead"}},
		"dashboard away":                        {change: withHead, pods: head(readyPod), dashboard: errors.New("no endpoints"), want: []string{"WARNING DashboardUnreachable"}},
		"dashboard of a head that is not ready": {change: withHead, pods: head(corev1.PodStatus{}), dashboard: errors.New("no endpoints")},
		"dashboard there":                       {change: withHead, pods: head(readyPod)},
		"probe":                                 {pods: head(corev1.PodStatus{}), events: warning("Pod", "demo-head", "Unhealthy"), want: []string{"WARNING ProbeFailing"}},
		"mount":                                 {pods: head(corev1.PodStatus{}), events: warning("Pod", "demo-head", "FailedMount"), want: []string{"ERROR VolumeMissing"}},
		"overcome":                              {pods: head(corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}), events: warning("Pod", "demo-head", "Unhealthy")},
		"a failure":                             {pods: head(corev1.PodStatus{}), events: warning("RayCluster", "demo", "FailedToCreateService"), want: []string{"WARNING FailedToCreateService"}},
		"scheduling":                            {pods: head(corev1.PodStatus{}), events: warning("Pod", "demo-head", "FailedScheduling")},
		"devices refused":                       {change: condition(rayv1.RayClusterReplicaFailure, "FailedCreateWorkerPod", `creating workers of group gpu: admission webhook "devices-check.pod.ray.io" denied the request: container ray-worker`), want: []string{"ERROR DevicesRefused"}},
		"quota of devices":                      {change: condition(rayv1.RayClusterReplicaFailure, "FailedCreateWorkerPod", `admission webhook "devices-check.pod.ray.io" denied the request: exceeded quota: quota "q"`), want: []string{"ERROR DeviceQuotaExceeded"}},
		"devices were refused":                  {pods: head(corev1.PodStatus{}), events: refusal(`admission webhook "devices.pod.ray.io" denied the request`), want: []string{"WARNING DevicesRefused"}},
		"a worker was refused":                  {pods: head(corev1.PodStatus{}), events: refusal("no"), want: []string{"WARNING FailedToCreateWorkerPod"}},
		"devices to be refused":                 {change: asks("nvidia.com/gpumem", "8Gi"), pods: head(corev1.PodStatus{}), want: []string{"ERROR DevicesRefused"}},
		"the next of a group": {change: asks("nvidia.com/gpumem", "8Gi"), pods: append(head(corev1.PodStatus{}), corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "w", Labels: map[string]string{rayv1.LabelGroup: examples.Base().Spec.WorkerGroupSpecs[0].GroupName}},
		}), want: []string{"WARNING DevicesRefused"}},
		"a warning about devices": {change: asks("nvidia.com/gpumem", "3000"), pods: head(corev1.PodStatus{}), want: []string{"INFO DeviceWarning"}},
	} {
		t.Run(name, func(t *testing.T) {
			rc := examples.Base()
			rc.Name, rc.Generation, rc.Status.ObservedGeneration = "demo", 1, 1
			if tc.change != nil {
				tc.change(rc)
			}
			data, err := json.Marshal(rc)
			if err != nil {
				t.Fatal(err)
			}
			item, err := store.ParseItem(data)
			if err != nil {
				t.Fatal(err)
			}
			e := &evidence{Resource: clusters(Options{Devices: load.NewLive(registry)}), item: item, object: rc, cluster: rc, pods: tc.pods, events: tc.events, byText: map[string]int{}, log: func(string, string) string { return tc.log }, dashboard: func(string) error { return tc.dashboard }}
			e.check()
			var got []string
			for _, f := range e.findings {
				got = append(got, f.Severity+" "+f.Reason)
				if f.Message == "" || f.Object.Name == "" {
					t.Errorf("incomplete finding %v", f)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%v", diff, e.findings)
			}
		})
	}
}
