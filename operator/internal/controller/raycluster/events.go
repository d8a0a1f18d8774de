package raycluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/report"
)

// eventInvalid tells of broken rules. KubeRay looks at the name first, and has a reason of its own for it.
func eventInvalid(errs field.ErrorList, note string) report.Event {
	reason := "InvalidRayClusterSpec"
	if slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Field == "metadata.name" }) {
		reason = "InvalidRayClusterMetadata"
	}
	return report.Warning(reason, actionValidate, note)
}

// eventAdopted tells that a head of another version of the operator counts as made from the spec of now. seen is the
// generation that the status was computed from: of a later one nobody knows whether Pods have it.
func eventAdopted(rc *rayv1.RayCluster, head string, seen int64) report.Event {
	note := fmt.Sprintf("Adopted head Pod %s of another version of the operator", head)
	if seen > 0 && seen < rc.Generation {
		note += "; should the spec have changed while no operator ran, Pods do not have that change: suspend and resume the cluster to make them anew"
	}
	return report.Normal("AdoptedHeadPod", actionUpdate, "%s", note)
}

func eventHeadServiceFailed(message string) report.Event {
	return report.Warning("FailedToCreateService", actionCreate, message)
}

func eventStalled(reason, message string) report.Event {
	return report.Warning(reason, actionReconcile, "The cluster makes no progress: "+message)
}

// eventsForPods tells of all Pods that one reconcile created and deleted, and of the head Service made along with them, if any. One event each for creation and deletion, and
// not one per Pod as KubeRay has it: a thousand events about one scale-up hide what matters and cost as many writes
// as the Pods.
func eventsForPods(o podexec.Result, madeService string) []report.Event {
	var all []report.Event
	if e, ok := eventCreated(o, madeService); ok {
		all = append(all, e)
	}
	if e, ok := eventDeleted(o); ok {
		all = append(all, e)
	}
	return all
}

func eventCreated(o podexec.Result, madeService string) (report.Event, bool) {
	var parts []string
	reason := "CreatedWorkerPod"
	if madeService != "" {
		parts = append(parts, "Service "+madeService)
	}
	if o.CreatedHead != "" {
		reason = "CreatedHeadPod"
		parts = append(parts, "head Pod "+o.CreatedHead)
	}
	for _, g := range o.Groups {
		if len(g.Created) > 0 {
			parts = append(parts, workers(g.Name, g.Created))
		}
	}
	if len(parts) == 0 {
		return report.Event{}, false
	}
	return report.Normal(reason, actionCreate, "%s", "Created "+strings.Join(parts, ", ")), true
}

func eventDeleted(o podexec.Result) (report.Event, bool) {
	var parts []string
	reason := "DeletedWorkerPod"
	if o.DeletedHead != "" {
		reason = "DeletedHeadPod"
		parts = append(parts, "head Pod "+o.DeletedHead)
	}
	for _, g := range o.Groups {
		if len(g.Deleted) > 0 {
			parts = append(parts, workers(g.Name, g.Deleted))
		}
	}
	if len(parts) == 0 {
		return report.Event{}, false
	}
	if o.DeletedAll {
		reason = "DeletedPod"
	}
	if len(o.DeleteReasons) > 0 {
		parts[len(parts)-1] += ": " + strings.Join(o.DeleteReasons, "; ")
	}
	return report.Normal(reason, actionDelete, "%s", "Deleted "+strings.Join(parts, ", ")), true
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

func eventFailure(f podexec.Failure) report.Event {
	if e, ok := podFailureEvents[f.Reason]; ok {
		return report.Warning(cmp.Or(f.Event, e.reason), e.action, f.Message)
	}
	return eventHeadServiceFailed(f.Message)
}
