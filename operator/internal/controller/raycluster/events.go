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

func eventStalled(reason, message string) report.Event {
	return report.Warning(reason, actionReconcile, "The cluster makes no progress: "+message)
}

// eventsForPods tells of all Pods that one reconcile created and deleted, and of the head Service made along with them, if any. One event
// each for creation and deletion, and not one per Pod as KubeRay has it: a thousand events about one scale-up hide what matters and
// cost as many writes as the Pods.
func eventsForPods(o podexec.Result, madeService string) []report.Event {
	var created []string
	if madeService != "" {
		created = append(created, "Service "+madeService)
	}
	created = append(created, podNames(o.CreatedHead, o.Groups, func(g podexec.GroupResult) []string { return g.Created })...)
	deleted := podNames(o.DeletedHead, o.Groups, func(g podexec.GroupResult) []string { return g.Deleted })
	var all []report.Event
	if len(created) > 0 {
		reason := "CreatedWorkerPod"
		if o.CreatedHead != "" {
			reason = "CreatedHeadPod"
		}
		all = append(all, report.Normal(reason, actionCreate, "Created %s", strings.Join(created, ", ")))
	}
	if len(deleted) > 0 {
		reason := "DeletedWorkerPod"
		switch {
		case o.DeletedAll:
			reason = "DeletedPod"
		case o.DeletedHead != "":
			reason = "DeletedHeadPod"
		}
		note := "Deleted " + strings.Join(deleted, ", ")
		if len(o.DeleteReasons) > 0 {
			note += ": " + strings.Join(o.DeleteReasons, "; ")
		}
		all = append(all, report.Normal(reason, actionDelete, "%s", note))
	}
	return all
}

// podNames names the head, if any, and single workers of a group, and counts several.
func podNames(head string, groups []podexec.GroupResult, of func(podexec.GroupResult) []string) []string {
	var parts []string
	if head != "" {
		parts = append(parts, "head Pod "+head)
	}
	for _, g := range groups {
		switch workers := of(g); len(workers) {
		case 0:
		case 1:
			parts = append(parts, fmt.Sprintf("worker Pod %s in group %s", workers[0], g.Name))
		default:
			parts = append(parts, fmt.Sprintf("%d worker Pods in group %s", len(workers), g.Name))
		}
	}
	return parts
}

// failureEvent is the event that goes with a reason of the condition ReplicaFailure.
type failureEvent struct{ condition, reason, action string }

// failureEvents has what must work first on top.
var failureEvents = []failureEvent{
	{rayv1.ReasonFailedCreateHeadService, "FailedToCreateService", actionCreate},
	{rayv1.ReasonFailedDeleteAllPods, "FailedToDeletePodCollection", actionDelete},
	{rayv1.ReasonFailedCreateHeadPod, "FailedToCreateHeadPod", actionCreate},
	{rayv1.ReasonFailedDeleteHeadPod, "FailedToDeleteHeadPod", actionDelete},
	{rayv1.ReasonFailedCreateWorkerPod, "FailedToCreateWorkerPod", actionCreate},
	{rayv1.ReasonFailedDeleteWorkerPod, "FailedToDeleteWorkerPod", actionDelete},
}

func eventFailure(f podexec.Failure) report.Event {
	e := failureEvents[rank(f)]
	return report.Warning(cmp.Or(f.Event, e.reason), e.action, f.Message)
}
