package resource

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// labelJobUID is Kueue's label of a Workload with the UID of the queued object.
const labelJobUID = kueueGroup + "/job-uid"

// workload is the part of a Workload of Kueue that diagnoses read. It is the same in v1beta1 and v1beta2.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions"`
		Admission  struct {
			ClusterQueue string `json:"clusterQueue"`
		} `json:"admission"`
		AdmissionChecks []struct{ Name, State, Message string } `json:"admissionChecks"`
	} `json:"status"`
	// position describes the place in the queue. Empty means unknown.
	position string
}

// is reports whether a condition is True. A Workload that is not known has none.
func (w *workload) is(condition string) bool {
	return w != nil && meta.IsStatusConditionTrue(w.Status.Conditions, condition)
}

// readWorkload reads the Workload of an object with a queue. It leaves the Workload nil if there is none, or if the caller may not read it.
func (e *evidence) readWorkload(ctx context.Context) {
	if !e.queued() || e.Core == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, kueueTime)
	defer cancel()
	var found struct{ Items []*workload }
	workloads := kueueResource{group: kueueGroup, name: "workloads", params: map[string]string{"labelSelector": labelJobUID + "=" + string(e.item.UID)}}
	if err := workloads.read(ctx, e.Core, e.item.Namespace, &found); err != nil {
		if !apierrors.IsNotFound(err) {
			e.Warn(ctx, fmt.Sprintf("the Workload of Kueue is left out: %v", err))
		}
		return
	}
	if len(found.Items) == 0 {
		return
	}
	// A job whose size changes has one Workload for each size.
	e.workload = slices.MaxFunc(found.Items, func(a, b *workload) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	if !e.workload.is("QuotaReserved") && !e.workload.is("Finished") {
		e.readPosition(ctx)
	}
}

// readPosition reads the position of the Workload in its queue, for which Kueue has an API of its own.
func (e *evidence) readPosition(ctx context.Context) {
	var pending struct {
		Items []struct {
			Metadata               metav1.ObjectMeta
			PositionInClusterQueue int
			PositionInLocalQueue   int
		}
	}
	queue := kueueResource{group: "visibility." + kueueGroup, name: "localqueues/" + e.item.Labels[rayv1.LabelKueueQueue] + "/pendingworkloads"}
	if queue.read(ctx, e.Core, e.item.Namespace, &pending) != nil {
		return // the API may be absent, and needs a permission of its own
	}
	for _, p := range pending.Items {
		if p.Metadata.Name == e.workload.Name {
			e.workload.position = fmt.Sprintf(" at position %d, which is position %d of its ClusterQueue", p.PositionInLocalQueue+1, p.PositionInClusterQueue+1)
		}
	}
}

// checkQueue reports why Kueue keeps the object suspended.
func (e *evidence) checkQueue() {
	w, queue, kind := e.workload, e.item.Labels[rayv1.LabelKueueQueue], e.item.Kind
	switch {
	case w == nil && e.item.At("spec.suspend").Bool():
		e.addSelf(severityInfo, "Queued", "see the Workload that Kueue has made for the "+kind,
			"Kueue has not admitted the %s to queue %s, and keeps it suspended", kind, queue)
		return
	case w == nil, w.is("Finished"), w.is("Admitted"):
		return
	case w.is("Evicted"):
		c := meta.FindStatusCondition(w.Status.Conditions, "Evicted")
		e.addWorkload(severityWarning, "Evicted", "Kueue admits it again when there is quota; a higher priority class protects it from others",
			"Kueue has stopped the %s (%s): %s", kind, c.Reason, c.Message)
	}
	switch c := meta.FindStatusCondition(w.Status.Conditions, "QuotaReserved"); {
	case c == nil:
		e.addWorkload(severityInfo, "Queued", "wait", "the %s waits in queue %s%s; Kueue has not tried to admit it yet", kind, queue, w.position)
	case c.Status == metav1.ConditionTrue:
		e.checkAdmissionChecks()
	case c.Reason == "Inadmissible":
		e.addWorkload(severityError, "QueueUnusable", "correct that, or name another queue in the label "+rayv1.LabelKueueQueue,
			"Kueue cannot admit the %s to queue %s: %s", kind, queue, c.Message)
	default:
		e.addWorkload(severityInfo, "Queued", "wait, request less, or ask for more quota", "the %s waits in queue %s%s: %s", kind, queue, w.position, c.Message)
	}
}

// checkAdmissionChecks reports the checks that an object with quota waits for.
func (e *evidence) checkAdmissionChecks() {
	for _, check := range e.workload.Status.AdmissionChecks {
		if check.State != "Ready" {
			e.addWorkload(severityInfo, "Queued", "see the controller of that AdmissionCheck", "the %s has its quota in ClusterQueue %s, and waits for AdmissionCheck %s: %s %s",
				e.item.Kind, e.workload.Status.Admission.ClusterQueue, check.Name, check.State, check.Message)
		}
	}
}

// addWorkload adds a finding about the Workload.
func (e *evidence) addWorkload(severity, reason, remedy, format string, args ...any) {
	e.about("Workload", e.workload.Name).add(severity, reason, remedy, format, args...)
}

// checkAdmitted reports that an object that is not ready does not wait for Kueue.
func (e *evidence) checkAdmitted(ready bool) {
	if w := e.workload; !ready && w.is("Admitted") && !w.is("Finished") {
		e.addWorkload(severityInfo, "Admitted", "", "Kueue has admitted the %s to ClusterQueue %s", e.item.Kind, w.Status.Admission.ClusterQueue)
	}
}

// queued reports whether Kueue, and not a user, suspends the object.
func (e *evidence) queued() bool {
	return e.item.Labels[rayv1.LabelKueueQueue] != "" && e.item.Kind != "RayCronJob"
}
