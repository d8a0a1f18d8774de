package raycluster

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/readiness"
)

// statusPart sets a part of the status from the results of the steps.
type statusPart struct {
	// step is the last step that provides the values. If it did not complete, the part keeps its old values. Empty if no step is
	// needed.
	step string
	set  func(*scope, tally)
}

// statusParts are all parts of the status, in order.
var statusParts = []statusPart{
	{"", setInvalidSpec},
	{stepPods, setReplicaFailure},
	{stepPods, setChildFailure},
	{stepPods, setUpgrade},
	{stepGangs, setBatchScheduler},
	{"", setHeadPodReady},
	{"", setSuspension}, // before setProvisioned, which a completed suspension resets
	{"", setProvisioned},
	{"", setNumbers},
	{"", setHeadPod},
	{stepHeadService, setHeadService},
	{stepPods, setState},
	{stepExpiry, setExpiry},
	{stepPods, setReadiness}, // after all that it derives from
	{stepPods, setGeneration},
}

// updateStatus computes the new status.
func updateStatus(s *scope) {
	t := tallyOf(s)
	if s.invalid != "" && !s.tolerated {
		refuse(s, t)
		return
	}
	for _, part := range statusParts {
		if part.step == "" || s.progress.Done(part.step) {
			part.set(s, t)
		}
	}
}

// refuse sets the status for a rejected spec without using its numbers. Existing Pods keep running and are still reported.
func refuse(s *scope, t tally) {
	st := &s.cluster.Status
	st.State, st.Reason = rayv1.ClusterStateFailed, s.invalid
	st.ReadyWorkerReplicas, st.AvailableWorkerReplicas = t.ready, t.running
	setInvalidSpec(s, t)
	setHeadPodReady(s, t)
	// Failures of an earlier generation are cleared.
	s.conditions().Remove(rayv1.RayClusterReplicaFailure, rayv1.RayClusterChildFailure, rayv1.RayClusterBatchSchedulerProblem)
	readiness.RayCluster(s.cluster, nil, s.now)
	setGeneration(s, t)
}

func setGeneration(s *scope, _ tally) { s.cluster.Status.ObservedGeneration = s.cluster.Generation }

func setNumbers(s *scope, t tally) {
	st := &s.cluster.Status
	st.ReadyWorkerReplicas = t.ready
	st.AvailableWorkerReplicas = t.running
	st.DesiredWorkerReplicas = t.desired.Desired
	st.MinWorkerReplicas = t.desired.Min
	st.MaxWorkerReplicas = t.desired.Max
	sum := podplan.TotalsOf(s.cluster, s.claims)
	st.DesiredCPU, st.DesiredMemory, st.DesiredGPU, st.DesiredTPU = sum.CPU, sum.Memory, sum.GPU, sum.TPU
}

func setHeadPod(s *scope, t tally) {
	head := &s.cluster.Status.Head
	if t.head == nil && podplan.HoldsSubmitter(s.cluster) {
		return
	}
	head.PodName, head.PodIP = "", ""
	if t.head != nil {
		head.PodName, head.PodIP = t.head.Name, t.head.Status.PodIP
	}
}

func setHeadService(s *scope, _ tally) {
	if s.headServiceUnknown {
		return
	}
	st := &s.cluster.Status
	st.Head.ServiceName, st.Head.ServiceIP, st.Endpoints = "", "", nil
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
		return strconv.Itoa(int(p.Port)) // the API server's default for an unset target
	default:
		return strconv.Itoa(int(p.TargetPort.IntVal))
	}
}

// setState sets the summary for old clients. It becomes ready with the last Pod and stays ready while the head is, because the
// autoscaler adds and removes workers all the time. KubeRay 1.7 never leaves ready, and reports a resumed cluster as suspended
// until it is ready again.
func setState(s *scope, t tally) {
	st := &s.cluster.Status
	suspend := s.cluster.Suspended()
	switch {
	case suspend && t.all == 0:
		st.State = rayv1.ClusterStateSuspended
	case !suspend && len(s.failures) == 0 && t.allReady():
		st.State = rayv1.ClusterStateReady
	case st.State == rayv1.ClusterStateReady && t.headReady():
	case st.State == rayv1.ClusterStateSuspended && s.conditions().True(rayv1.RayClusterSuspending):
	default:
		st.State = ""
	}
}

// tally contains counts of Pods that are not being deleted, except where noted.
type tally struct {
	head    *corev1.Pod // nil if there is none; one that is being deleted only if there is no other
	heads   int32
	workers int32 // includes running, which includes ready
	running int32
	ready   int32
	all     int32 // head and workers, including those that are being deleted
	desired podplan.Counts
}

func tallyOf(s *scope) tally {
	t := tally{desired: podplan.CountsOf(s.cluster)}
	for _, p := range s.pods {
		kind := rayv1.RayNodeType(p.Labels[rayv1.LabelNodeType])
		if kind != rayv1.HeadNode && kind != rayv1.WorkerNode {
			continue
		}
		t.all++
		if kind == rayv1.HeadNode && (t.head == nil || p.DeletionTimestamp == nil) {
			t.head = p
		}
		if p.DeletionTimestamp != nil {
			continue
		}
		if kind == rayv1.HeadNode {
			t.heads++
			continue
		}
		t.workers++
		if p.Status.Phase == corev1.PodRunning {
			t.running++
		}
		if podReady(p) {
			t.ready++
		}
	}
	return t
}

// allReady reports whether the Pods are as wanted. Unlike KubeRay 1.7 it compares the number of Pods for the condition too, does
// not treat a Pod without a Ready condition as ready, and does not wait for Pods that are being deleted.
func (t tally) allReady() bool {
	return t.headReady() && t.heads == 1 && t.workers == t.desired.Desired && t.ready == t.desired.Desired
}

func (t tally) headReady() bool {
	return t.head != nil && t.head.DeletionTimestamp == nil && podReady(t.head)
}

func podReady(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && podplan.Ready(p) }
