package raycluster

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// updateStatus computes the status from what the steps found. All of it is in this list.
func updateStatus(s *scope) {
	if s.invalid != "" && !s.tolerated {
		refuse(s)
		return
	}
	t := tallyOf(s)
	setInvalidSpec(s)
	setReplicaFailure(s)
	setChildFailure(s)
	setBatchScheduler(s)
	setHeadPodReady(s, t)
	setSuspension(s, t) // before provisioned, which a completed suspension takes away
	setProvisioned(s, t)
	setStalled(s)
	setNumbers(s, t)
	setHead(s, t)
	setState(s, t)
	s.cluster.Status.ObservedGeneration = s.cluster.Generation
}

// refuse derives nothing from the spec, whose numbers mean nothing. What runs is left alone, but still looked at.
func refuse(s *scope) {
	st, t := &s.cluster.Status, tallyOf(s)
	st.ObservedGeneration = s.cluster.Generation
	st.State, st.Reason = rayv1.ClusterStateFailed, s.invalid
	st.ReadyWorkerReplicas, st.AvailableWorkerReplicas = t.ready, t.running
	setInvalidSpec(s)
	setHeadPodReady(s, t)
	// What was refused under an earlier spec is no longer tried.
	for _, kind := range []string{rayv1.RayClusterReplicaFailure, rayv1.RayClusterChildFailure, rayv1.RayClusterBatchSchedulerProblem} {
		meta.RemoveStatusCondition(&st.Conditions, kind)
	}
	setStalled(s)
}

func setNumbers(s *scope, t tally) {
	st := &s.cluster.Status
	st.ReadyWorkerReplicas = t.ready
	st.AvailableWorkerReplicas = t.running
	st.DesiredWorkerReplicas = t.desired.Desired
	st.MinWorkerReplicas = t.desired.Min
	st.MaxWorkerReplicas = t.desired.Max
	sum := podplan.TotalsOf(s.cluster)
	st.DesiredCPU, st.DesiredMemory, st.DesiredGPU, st.DesiredTPU = sum.CPU, sum.Memory, sum.GPU, sum.TPU
}

func setHead(s *scope, t tally) {
	st := &s.cluster.Status
	st.Head = rayv1.HeadInfo{}
	if t.head != nil {
		st.Head.PodName, st.Head.PodIP = t.head.Name, t.head.Status.PodIP
	}
	st.Endpoints = nil
	if s.headService == nil {
		return
	}
	st.Head.ServiceName = s.headService.Name
	st.Head.ServiceIP = s.headService.Spec.ClusterIP
	if st.Head.ServiceIP == corev1.ClusterIPNone {
		st.Head.ServiceIP = st.Head.PodIP
	}
	for _, p := range s.headService.Spec.Ports {
		if p.Name == "" {
			continue
		}
		if st.Endpoints == nil {
			st.Endpoints = map[string]string{}
		}
		st.Endpoints[p.Name] = endpoint(p)
	}
}

func endpoint(p corev1.ServicePort) string {
	switch {
	case p.NodePort != 0:
		return strconv.Itoa(int(p.NodePort))
	case p.TargetPort.Type == intstr.String:
		return p.TargetPort.StrVal
	case p.TargetPort.IntVal == 0:
		return strconv.Itoa(int(p.Port)) // what the API server makes of an unset target
	default:
		return strconv.Itoa(int(p.TargetPort.IntVal))
	}
}

// setState keeps the summary of old clients. It becomes ready with the last Pod and stays so for as long as the head is:
// with the autoscaler on, workers come and go all the time. KubeRay 1.7 never takes ready back, and says of a resumed cluster
// that it is suspended until it is ready again.
func setState(s *scope, t tally) {
	st := &s.cluster.Status
	st.Reason = ""
	if isTrue(s, rayv1.RayClusterStalled) {
		st.Reason = meta.FindStatusCondition(st.Conditions, rayv1.RayClusterStalled).Message
	}
	suspend := wantsSuspension(s.cluster)
	switch {
	case suspend && t.all == 0:
		st.State = rayv1.ClusterStateSuspended
	case !suspend && len(s.failures) == 0 && t.allReady():
		st.State = rayv1.ClusterStateReady
	case st.State == rayv1.ClusterStateReady && t.headReady():
	case st.State == rayv1.ClusterStateSuspended && isTrue(s, rayv1.RayClusterSuspending):
	default:
		st.State = ""
	}
}
