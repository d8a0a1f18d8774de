package raycluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Actions of events, as events.k8s.io wants them.
const (
	actionValidate = "Validate"
	actionCreate   = "Create"
	actionUpdate   = "Update"
	actionDelete   = "Delete"
	actionSchedule = "Schedule"
	actionCleanup  = "Cleanup"
	// actionReconcile is for what concerns the cluster as a whole.
	actionReconcile = "Reconcile"
)

// notice is something that happened, to be told to the user once the status that goes with it is saved. Reasons are those
// of KubeRay 1.7.
type notice struct {
	kind, reason, action, note string
}

// maxNote is the longest note that the API server takes.
const maxNote = 1024

func newEvent(kind, reason, action, note string) notice {
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
	}
	return notice{kind: kind, reason: reason, action: action, note: note}
}

// eventInvalid tells of broken rules. KubeRay looks at the name first, and has a reason of its own for it.
func eventInvalid(errs field.ErrorList, note string) notice {
	reason := "InvalidRayClusterSpec"
	if slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Field == "metadata.name" }) {
		reason = "InvalidRayClusterMetadata"
	}
	return newEvent(corev1.EventTypeWarning, reason, actionValidate, note)
}

// eventAdopted tells that a head of another version of the operator counts as made from the spec of now. seen is the
// generation that the status was computed from: of a later one nobody knows whether Pods have it.
func eventAdopted(rc *rayv1.RayCluster, head string, seen int64) notice {
	note := fmt.Sprintf("Adopted head Pod %s of another version of the operator", head)
	if seen > 0 && seen < rc.Generation {
		note += "; should the spec have changed while no operator ran, Pods do not have that change: suspend and resume the cluster to make them anew"
	}
	return newEvent(corev1.EventTypeNormal, "AdoptedHeadPod", actionUpdate, note)
}

func eventHeadServiceFailed(message string) notice {
	return newEvent(corev1.EventTypeWarning, "FailedToCreateService", actionCreate, message)
}

func eventStalled(reason, message string) notice {
	return newEvent(corev1.EventTypeWarning, reason, actionReconcile, "The cluster makes no progress: "+message)
}

// eventsForPods tells of all Pods that one reconcile created and deleted. One event each for creation and deletion, and
// not one per Pod as KubeRay has it: a thousand events about one scale-up hide what matters and cost as many writes
// as the Pods.
func eventsForPods(o podsOutcome) []notice {
	var all []notice
	if e, ok := eventCreated(o); ok {
		all = append(all, e)
	}
	if e, ok := eventDeleted(o); ok {
		all = append(all, e)
	}
	return all
}

func eventCreated(o podsOutcome) (notice, bool) {
	var parts []string
	reason := "CreatedWorkerPod"
	if o.madeService != "" {
		parts = append(parts, "Service "+o.madeService)
	}
	if o.createdHead != "" {
		reason = "CreatedHeadPod"
		parts = append(parts, "head Pod "+o.createdHead)
	}
	for _, g := range o.groups {
		if len(g.created) > 0 {
			parts = append(parts, workers(g.name, g.created))
		}
	}
	if len(parts) == 0 {
		return notice{}, false
	}
	return newEvent(corev1.EventTypeNormal, reason, actionCreate, "Created "+strings.Join(parts, ", ")), true
}

func eventDeleted(o podsOutcome) (notice, bool) {
	var parts []string
	reason := "DeletedWorkerPod"
	if o.deletedHead != "" {
		reason = "DeletedHeadPod"
		parts = append(parts, "head Pod "+o.deletedHead)
	}
	for _, g := range o.groups {
		if len(g.deleted) > 0 {
			parts = append(parts, workers(g.name, g.deleted))
		}
	}
	if len(parts) == 0 {
		return notice{}, false
	}
	if o.allDeleted {
		reason = "DeletedPod"
	}
	if len(o.deleteReasons) > 0 {
		parts[len(parts)-1] += ": " + strings.Join(o.deleteReasons, "; ")
	}
	return newEvent(corev1.EventTypeNormal, reason, actionDelete, "Deleted "+strings.Join(parts, ", ")), true
}

// workers names a single Pod, and counts several.
func workers(group string, pods []string) string {
	if len(pods) == 1 {
		return fmt.Sprintf("worker Pod %s in group %s", pods[0], group)
	}
	return fmt.Sprintf("%d worker Pods in group %s", len(pods), group)
}

// podFailureEvents are the reasons of events by the reason of the condition ReplicaFailure.
var podFailureEvents = map[string]struct{ reason, action string }{
	rayv1.ReasonFailedDeleteAllPods:   {"FailedToDeletePodCollection", actionDelete},
	rayv1.ReasonFailedDeleteHeadPod:   {"FailedToDeleteHeadPod", actionDelete},
	rayv1.ReasonFailedCreateHeadPod:   {"FailedToCreateHeadPod", actionCreate},
	rayv1.ReasonFailedDeleteWorkerPod: {"FailedToDeleteWorkerPod", actionDelete},
	rayv1.ReasonFailedCreateWorkerPod: {"FailedToCreateWorkerPod", actionCreate},
}

func eventFailure(f failure) notice {
	if e, ok := podFailureEvents[f.reason]; ok {
		return newEvent(corev1.EventTypeWarning, cmp.Or(f.event, e.reason), e.action, f.message)
	}
	return eventHeadServiceFailed(f.message)
}
