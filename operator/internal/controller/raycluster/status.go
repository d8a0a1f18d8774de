package raycluster

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// settleTime is how long progress (counters, addresses, readiness of the head) is gathered before it is written. What
// somebody waits for is written at once, see urgent.
const settleTime = 2 * time.Second

// updateStatus computes the status from what the steps found. All of it is in this list.
func updateStatus(s *scope) {
	if s.invalid != "" {
		// Of an invalid spec nothing is derived: the numbers would mean nothing. What runs is left alone.
		s.cluster.Status.ObservedGeneration = s.cluster.Generation
		setInvalidSpec(s)
		return
	}
	t := tallyOf(s)
	setInvalidSpec(s)
	setReplicaFailure(s)
	setBatchScheduler(s)
	setHeadPodReady(s, t)
	setSuspension(s, t) // before provisioned, which a completed suspension takes away
	setProvisioned(s, t)
	setNumbers(s, t)
	setHead(s, t)
	setState(s, t)
	s.cluster.Status.ObservedGeneration = s.cluster.Generation
}

// tally is what counts about the Pods. Pods that are being deleted do not.
type tally struct {
	head                       *corev1.Pod // nil if there is none
	heads, ready, running, all int32       // all: including those being deleted
	desired                    podplan.Counts
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
		switch {
		case kind == rayv1.HeadNode:
			t.heads++
		case p.Status.Phase == corev1.PodRunning:
			t.running++
			if podReady(p) {
				t.ready++
			}
		}
	}
	return t
}

// allReady reports whether the cluster is as wanted. Unlike KubeRay 1.7 it compares the count of Pods also for the
// condition, and does not take a Pod without a Ready condition for ready.
func (t tally) allReady() bool {
	return t.head != nil && t.head.DeletionTimestamp == nil && t.heads == 1 && podReady(t.head) &&
		t.ready == t.desired.Desired && t.all == t.desired.Desired+1
}

func podReady(p *corev1.Pod) bool {
	if p.Status.Phase != corev1.PodRunning {
		return false
	}
	c := podCondition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func podCondition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
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

// setState keeps ready, as old clients expect, when Pods are lost later. A resumed cluster is no longer suspended, though;
// KubeRay 1.7 says so until it is ready.
func setState(s *scope, t tally) {
	st := &s.cluster.Status
	suspend := wantsSuspension(s.cluster)
	switch {
	case suspend && t.all == 0:
		st.State = rayv1.ClusterStateSuspended
	case len(s.failures) == 0 && !suspend && t.allReady():
		st.State, st.Reason = rayv1.ClusterStateReady, ""
	case !suspend && st.State == rayv1.ClusterStateSuspended && !isTrue(s, rayv1.RayClusterSuspending):
		st.State = ""
	}
}

// persist saves the status if it changed, then sends the events. It asks to look again when it put the saving off.
func (r *Reconciler) persist(ctx context.Context, before *rayv1.RayCluster, s *scope) (time.Duration, error) {
	if s.deleting {
		return 0, nil
	}
	updateStatus(s)
	after := s.cluster
	now := r.clock.Now()
	if !statusDiffers(&before.Status, &after.Status) {
		r.memory.update(before, func(m *remembered) { m.changedSince = time.Time{} })
		r.send(after, s.events)
		return 0, nil
	}
	if wait := r.putOff(before, s, now); wait > 0 {
		r.send(after, facts(s.events)) // the next run comes to the others again
		return wait, nil
	}
	stamp(&before.Status, &after.Status, now)
	err := r.client.Status().Update(ctx, after)
	switch {
	case apierrors.IsConflict(err):
		// Somebody changed the object meanwhile. The next run reads it again; nothing of theirs is overwritten.
		r.send(after, facts(s.events))
		return cacheLag, nil
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		r.send(after, facts(s.events))
		return 0, fmt.Errorf("saving status: %w", err)
	}
	r.memory.update(before, func(m *remembered) {
		m.changedSince = time.Time{}
		if after.ResourceVersion != before.ResourceVersion {
			m.replaced = before.ResourceVersion
		}
	})
	r.send(after, s.events)
	if r.metrics != nil && provisioned(after) && !provisioned(before) {
		r.metrics.ObserveProvisioned(after, now.Sub(after.CreationTimestamp.Time))
	}
	return 0, nil
}

// putOff returns how long the status should still wait for more changes, zero for not at all.
func (r *Reconciler) putOff(before *rayv1.RayCluster, s *scope, now time.Time) time.Duration {
	if urgent(&before.Status, &s.cluster.Status) {
		return 0
	}
	var since time.Time
	r.memory.update(before, func(m *remembered) {
		if m.changedSince.IsZero() {
			m.changedSince = now
		}
		since = m.changedSince
	})
	return max(0, settleTime-now.Sub(since))
}

// urgent reports whether the difference is something that a user or another controller waits for.
func urgent(before, after *rayv1.RayClusterStatus) bool {
	if before.State != after.State {
		return true
	}
	for _, kind := range []string{
		rayv1.RayClusterInvalidSpec, rayv1.RayClusterReplicaFailure, rayv1.RayClusterProvisioned,
		rayv1.RayClusterSuspending, rayv1.RayClusterSuspended, rayv1.RayClusterBatchSchedulerProblem,
	} {
		b, a := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
		if truth(b) != truth(a) || truth(a) && b.Message != a.Message {
			return true
		}
	}
	return false
}

func truth(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func provisioned(rc *rayv1.RayCluster) bool {
	return meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned)
}

// statusDiffers compares everything but the times of earlier writes.
func statusDiffers(a, b *rayv1.RayClusterStatus) bool {
	x, y := *a, *b
	x.LastUpdateTime, y.LastUpdateTime = nil, nil
	x.StateTransitionTimes, y.StateTransitionTimes = nil, nil
	return !equality.Semantic.DeepEqual(x, y)
}

// stamp notes when the status was written and when the state was entered.
func stamp(before, after *rayv1.RayClusterStatus, now time.Time) {
	after.LastUpdateTime = new(metav1.NewTime(now))
	if after.State == before.State || after.State == "" {
		return
	}
	times := maps.Clone(after.StateTransitionTimes)
	if times == nil {
		times = map[rayv1.ClusterState]*metav1.Time{}
	}
	times[after.State] = new(metav1.NewTime(now))
	after.StateTransitionTimes = times
}

// facts are the events that stay true when the status could not be saved. The others belong to a condition, and are told
// when that is saved.
func facts(all []notice) []notice {
	var keep []notice
	for _, e := range all {
		if e.kind == corev1.EventTypeNormal {
			keep = append(keep, e)
		}
	}
	return keep
}

func (r *Reconciler) send(rc *rayv1.RayCluster, all []notice) {
	for _, e := range all {
		r.recorder.Eventf(rc, nil, e.kind, e.reason, e.action, "%s", e.note)
	}
}
