package readiness

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// clusterOf returns a cluster whose head and three workers are ready, changed, with its three conditions.
func clusterOf(change func(*rayv1.RayCluster), obstacles ...Obstacle) *rayv1.RayCluster {
	rc := &rayv1.RayCluster{TypeMeta: typeOf("RayCluster"), ObjectMeta: named()}
	rc.Status = rayv1.RayClusterStatus{
		State: rayv1.ClusterStateReady, ObservedGeneration: 1, DesiredWorkerReplicas: 3, AvailableWorkerReplicas: 3, ReadyWorkerReplicas: 3, MinWorkerReplicas: 1,
		Conditions: []metav1.Condition{
			is(rayv1.HeadPodReady, rayv1.ReasonHeadPodRunningAndReady, ""),
			isNot(rayv1.RayClusterSuspending, rayv1.ReasonRayClusterSuspending, ""),
			isNot(rayv1.RayClusterSuspended, rayv1.ReasonRayClusterSuspended, ""),
			is(rayv1.RayClusterProvisioned, rayv1.ReasonAllPodRunningAndReadyFirstTime, "All Ray Pods are ready for the first time"),
		},
	}
	change(rc)
	RayCluster(rc, obstacles, now)
	return rc
}

// put replaces a condition, or adds it.
func put(list *[]metav1.Condition, c metav1.Condition) {
	for i := range *list {
		if (*list)[i].Type == c.Type {
			(*list)[i] = c
			return
		}
	}
	*list = append(*list, c)
}

// starting is the status of a cluster without Pods that are ready.
func starting(head metav1.Condition) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) {
		rc.Status.State, rc.Status.AvailableWorkerReplicas, rc.Status.ReadyWorkerReplicas = "", 0, 0
		put(&rc.Status.Conditions, head)
		put(&rc.Status.Conditions, isNot(rayv1.RayClusterProvisioned, rayv1.ReasonRayClusterPodsProvisioning, "The Ray Pods are being made or are not ready"))
	}
}

// with adds a condition to a cluster that is ready.
func with(c metav1.Condition) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) { put(&rc.Status.Conditions, c) }
}

func workers(ready, desired int32) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) {
		rc.Status.ReadyWorkerReplicas, rc.Status.AvailableWorkerReplicas, rc.Status.DesiredWorkerReplicas = ready, ready, desired
	}
}

func autoscaled(ready, desired int32) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) {
		rc.Spec.EnableInTreeAutoscaling = new(true)
		workers(ready, desired)(rc)
	}
}

func suspendedTo(end bool, labels map[string]string) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) {
		starting(isNot(rayv1.HeadPodReady, rayv1.ReasonHeadPodNotFound, "Head Pod not found"))(rc)
		rc.Labels, rc.Spec.Suspend = labels, new(true)
		kind := rayv1.RayClusterSuspending
		if end {
			kind, rc.Status.State = rayv1.RayClusterSuspended, rayv1.ClusterStateSuspended
		}
		put(&rc.Status.Conditions, is(kind, kind, ""))
	}
}

func clusterStates() []state {
	noHead := isNot(rayv1.HeadPodReady, rayv1.ReasonHeadPodNotFound, "Head Pod not found")
	creating := isNot(rayv1.HeadPodReady, "ContainerCreating", "containers with unready status: [ray-head]; ray-head: ")
	pending := isNot(rayv1.HeadPodReady, "Unschedulable", "0/3 nodes are available: 3 Insufficient cpu.")
	noNode := Obstacle{rayv1.ReasonUnschedulable, "head Pod demo-head-b8k2p finds no node: 0/3 nodes are available: 3 Insufficient cpu."}
	noGPU := Obstacle{rayv1.ReasonUnschedulable, "worker Pod demo-gpu-worker-7dk2x in group gpu finds no node: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}
	image := Obstacle{rayv1.ReasonImagePullFailed, "worker Pod demo-gpu-worker-7dk2x in group gpu cannot pull the image ray:typo of container ray-worker: not found"}
	refuses := func(message string) func(*rayv1.RayCluster) {
		return func(rc *rayv1.RayCluster) {
			starting(creating)(rc)
			put(&rc.Status.Conditions, is(rayv1.RayClusterReplicaFailure, rayv1.ReasonFailedCreateWorkerPod, message))
		}
	}
	const quota = `creating worker Pods in group gpu: pods is forbidden: exceeded quota: team-a`
	const denied = `creating worker Pods in group gpu: admission webhook "images.example.com" denied the request: not from this registry`
	return []state{
		{"new", inProgress, unobserved, &rayv1.RayCluster{TypeMeta: typeOf("RayCluster"), ObjectMeta: named()}},
		{"without-pods", inProgress, "", clusterOf(starting(noHead))},
		{"head-starts", inProgress, "", clusterOf(starting(creating))},
		{"head-waits-for-a-node", inProgress, "", clusterOf(starting(pending), noNode)},
		{"gated", inProgress, "", clusterOf(starting(isNot(rayv1.HeadPodReady, "SchedulingGated", "")),
			Obstacle{rayv1.ReasonSchedulingGated, "head Pod demo-head-b8k2p is held back by its scheduling gates"})},
		{"waits-for-a-quota", inProgress, "", clusterOf(refuses(quota), Obstacle{rayv1.ReasonQuotaExceeded, quota})},
		{"pods-denied", degraded, "", clusterOf(refuses(denied), Obstacle{rayv1.ReasonAdmissionDenied, denied})},
		{"workers-start", inProgress, "", clusterOf(workers(0, 3))},
		{"ready", healthy, "", clusterOf(func(*rayv1.RayCluster) {})},
		{"without-workers", healthy, "", clusterOf(workers(0, 0))},
		{"scaled-up-by-hand", inProgress, "", clusterOf(workers(3, 5))},
		{"scaled-down-by-hand", inProgress, "", clusterOf(workers(3, 1))},
		{"autoscaler-waits-for-a-node", healthy, "", clusterOf(autoscaled(1, 5), noGPU)},
		{"autoscaled-below-minimum", inProgress, "", clusterOf(autoscaled(0, 5), noGPU)},
		{"head-lost", inProgress, "", clusterOf(with(noHead))},
		{"head-may-not-come-back", degraded, "", clusterOf(with(noHead),
			Obstacle{rayv1.ReasonHeadRestartDisabled, "the head Pod is gone and the annotation ray.io/disable-provisioned-head-restart forbids to replace it"})},
		{"image-missing", degraded, "", clusterOf(workers(2, 3), image)},
		{"image-missing-and-no-node", degraded, "", clusterOf(workers(1, 3), noNode, image)},
		{"crash-loop", degraded, "", clusterOf(starting(isNot(rayv1.HeadPodReady, "CrashLoopBackOff", "")),
			Obstacle{rayv1.ReasonCrashLoop, "head Pod demo-head-b8k2p starts its container ray-head again and again: it ended with code 1 the last time"})},
		{"pod-does-not-end", degraded, "", clusterOf(with(noHead),
			Obstacle{rayv1.ReasonTerminationStuck, "head Pod demo-head-b8k2p does not end; if its node is lost for good, delete the node, or the Pod with --force"})},
		{"ingress-denied", degraded, "", clusterOf(with(is(rayv1.RayClusterChildFailure, "FailedToCreateIngress", "Ingress demo-head-ingress: denied by a policy")))},
		{"certificates-awaited", inProgress, "", clusterOf(func(rc *rayv1.RayCluster) {
			starting(noHead)(rc)
			put(&rc.Status.Conditions, is(rayv1.RayClusterChildFailure, reasonCertificates, "waiting for cert-manager"))
		})},
		{"batch-scheduler-problem", healthy, "", clusterOf(with(is(rayv1.RayClusterBatchSchedulerProblem, rayv1.ReasonBatchSchedulerProblem, "the queue does not exist")))},
		{"invalid", degraded, "", clusterOf(func(rc *rayv1.RayCluster) {
			starting(noHead)(rc)
			rc.Status.State = rayv1.ClusterStateFailed
			put(&rc.Status.Conditions, is(rayv1.RayClusterInvalidSpec, rayv1.ReasonInvalidRayClusterSpec, "spec.headGroupSpec.template: Required value"))
		})},
		{"invalid-but-tolerated", healthy, "", clusterOf(with(is(rayv1.RayClusterInvalidSpec, rayv1.ReasonToleratedRayClusterSpec, "spec.workerGroupSpecs[0]: Invalid value")))},
		{"suspending", inProgress, "", clusterOf(suspendedTo(false, nil))},
		{"suspended", onPurpose, "", clusterOf(suspendedTo(true, nil))},
		{"queued", inProgress, "", clusterOf(suspendedTo(true, queued))},
		{"edited", inProgress, unobserved, edited(clusterOf(func(*rayv1.RayCluster) {}))},
		{"deleted", inProgress, beingPruned, deleted(clusterOf(func(*rayv1.RayCluster) {}))},
	}
}

// edited returns the object with a spec that the operator has not observed.
func edited[T metav1.Object](o T) T {
	o.SetGeneration(2)
	return o
}

func deleted[T metav1.Object](o T) T {
	o.SetDeletionTimestamp(new(metav1.NewTime(now)))
	o.SetFinalizers([]string{"ray.io/gcs-ft-redis-cleanup-finalizer"})
	return o
}

// TestTheReasonIsOneThatTheConditionsShow, since the controller sends an event about each reason that they did not show before.
func TestTheReasonIsOneThatTheConditionsShow(t *testing.T) {
	noNode, image := Obstacle{rayv1.ReasonUnschedulable, "a"}, Obstacle{rayv1.ReasonImagePullFailed, "b"}
	for name, tc := range map[string]struct {
		change    func(*rayv1.RayCluster)
		obstacles []Obstacle
		want      Obstacle
	}{
		"none":                     {change: func(*rayv1.RayCluster) {}},
		"the one that is stalled":  {workers(0, 3), []Obstacle{noNode, image}, Obstacle{rayv1.ReasonImagePullFailed, "a; b"}},
		"a child is worse":         {with(is(rayv1.RayClusterChildFailure, "FailedToCreateIngress", "c")), []Obstacle{noNode}, Obstacle{"", "a"}},
		"it is about to suspend":   {suspendedTo(false, nil), []Obstacle{noNode}, Obstacle{"", "a"}},
		"the autoscaler waits":     {autoscaled(2, 3), []Obstacle{noNode}, noNode},
		"the same sentence, twice": {workers(0, 3), []Obstacle{noNode, noNode}, noNode},
	} {
		t.Run(name, func(t *testing.T) {
			rc := clusterOf(tc.change)
			got := RayCluster(rc, tc.obstacles, now)
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
			if got.Reason != "" && !Shows(rc.Status.Conditions, got.Reason) {
				t.Errorf("conditions %+v do not show it", rc.Status.Conditions)
			}
		})
	}
}
