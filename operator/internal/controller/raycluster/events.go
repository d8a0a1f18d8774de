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

func eventInvalid(errs field.ErrorList, note string) report.Event {
	return report.Invalid("metadata.name", "InvalidRayClusterMetadata", "InvalidRayClusterSpec", errs, note)
}

// eventAdopted reports that a head of another operator version is treated as built from the current spec. seen is the generation
// from which the status was computed. Pods may lack changes of later generations.
func eventAdopted(rc *rayv1.RayCluster, head string, seen int64) report.Event {
	note := fmt.Sprintf("Adopted head Pod %s of another version of the operator", head)
	if seen > 0 && seen < rc.Generation {
		note += "; Pods lack changes of the spec that were made while no operator ran: suspend and resume the cluster to replace them"
	}
	return report.Normal("AdoptedHeadPod", actionUpdate, "%s", note)
}

func eventStalled(reason, message string) report.Event {
	return report.Warning(reason, actionReconcile, "The cluster makes no progress: "+message)
}

// eventsForPods reports all Pods that one reconcile created and deleted, and the head Service created with them. It returns one
// event for creations and one for deletions. KubeRay sends one per Pod: a thousand events about one scale-up hide other events and
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

// podNames lists the head and the only worker of a group by name, and otherwise the number of workers of a group.
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

// failureEvent is the event for a reason of the condition ReplicaFailure.
type failureEvent struct{ condition, reason, action string }

// failureEvents are sorted by importance, the most important first.
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
