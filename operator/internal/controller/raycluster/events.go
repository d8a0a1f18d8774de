package raycluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
	var all []report.Event
	created, head := podNames(o.Created)
	if madeService != "" {
		created = slices.Insert(created, 0, "Service "+madeService)
	}
	if len(created) > 0 {
		reason := "CreatedWorkerPod"
		if head {
			reason = "CreatedHeadPod"
		}
		all = append(all, report.Normal(reason, actionCreate, "Created %s", strings.Join(created, ", ")))
	}
	var gone []*corev1.Pod
	var why []string
	for _, d := range o.Deleted {
		gone, why = append(gone, d.Pod), append(why, d.Message)
	}
	if deleted, head := podNames(gone); len(deleted) > 0 {
		reason := "DeletedWorkerPod"
		switch {
		case o.DeletedAll:
			reason = "DeletedPod"
		case head:
			reason = "DeletedHeadPod"
		}
		slices.Sort(why)
		all = append(all, report.Normal(reason, actionDelete, "Deleted %s: %s", strings.Join(deleted, ", "), strings.Join(slices.Compact(why), "; ")))
	}
	return all
}

// podNames names the head, if it is among the Pods, and single workers of a group, and counts several.
func podNames(pods []*corev1.Pod) (parts []string, head bool) {
	groups := map[string][]string{}
	for _, p := range pods {
		if isHead(p) {
			parts, head = append(parts, "head Pod "+p.Name), true
			continue
		}
		group := p.Labels[rayv1.LabelGroup]
		groups[group] = append(groups[group], p.Name)
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if workers := groups[group]; len(workers) == 1 {
			parts = append(parts, fmt.Sprintf("worker Pod %s in group %s", workers[0], group))
		} else {
			parts = append(parts, fmt.Sprintf("%d worker Pods in group %s", len(workers), group))
		}
	}
	return parts, head
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
