package podplan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// TroubleAfter is how long a Pod may wait for a node, or exceed its grace period, before that is reported. A node that has to be
// started often takes longer; the report is still correct.
const TroubleAfter = time.Minute

// manyRestarts is the number of restarts from which an unready container counts as a crash loop, even while it runs.
const manyRestarts = 3

// Trouble is why a Pod does not run or end without an action of the user.
type Trouble struct {
	// Reason is the reason of the condition Stalled.
	Reason string
	// Message completes "Pod X ...". It is stable while the problem is the same, as far as Kubernetes' messages are.
	Message string
}

// TroubleOf returns the problem of the Pod, with an empty reason if there is none. A positive later is the time until the current
// state becomes a problem.
func TroubleOf(pod *corev1.Pod, now time.Time) (t Trouble, later time.Duration) {
	if !pod.DeletionTimestamp.IsZero() { // the timestamp includes the grace period
		return after(TroubleAfter-now.Sub(pod.DeletionTimestamp.Time), Trouble{
			rayv1.ReasonTerminationStuck, "does not end; if its node is lost for good, delete the node, or the Pod with --force",
		})
	}
	if c := Condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse && pod.Spec.NodeName == "" {
		since := cmp.Or(c.LastTransitionTime.Time, pod.CreationTimestamp.Time)
		if c.Reason == corev1.PodReasonSchedulingGated {
			return after(TroubleAfter-now.Sub(since), Trouble{rayv1.ReasonSchedulingGated, "is held back by its scheduling gates"})
		}
		return after(TroubleAfter-now.Sub(since), Trouble{rayv1.ReasonUnschedulable, withDetail("finds no node", c.Message)})
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t := troubleOfContainer(s); t.Reason != "" {
			return t, 0
		}
	}
	return Trouble{}, 0
}

func after(wait time.Duration, t Trouble) (Trouble, time.Duration) {
	if wait > 0 {
		return Trouble{}, wait
	}
	return t, 0
}

func troubleOfContainer(s corev1.ContainerStatus) Trouble {
	var reason, message string
	if s.State.Waiting != nil {
		reason, message = s.State.Waiting.Reason, s.State.Waiting.Message
	}
	switch reason {
	case "ErrImagePull", "ImagePullBackOff":
		// These two alternate; the latter often contains the text of the former.
		_, cause, _ := strings.Cut(message, "ErrImagePull: ")
		if reason == "ErrImagePull" {
			cause = message
		}
		return Trouble{rayv1.ReasonImagePullFailed, withDetail(fmt.Sprintf("cannot pull the image %s of container %s", s.Image, s.Name), cause)}
	case "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		return Trouble{rayv1.ReasonImagePullFailed, withDetail(fmt.Sprintf("cannot use the image %s of container %s", s.Image, s.Name), message)}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError":
		return Trouble{rayv1.ReasonContainerCannotStart, withDetail("cannot start its container "+s.Name, message)}
	}
	if last := s.LastTerminationState.Terminated; reason == "CrashLoopBackOff" || last != nil && !s.Ready && s.RestartCount >= manyRestarts {
		return Trouble{rayv1.ReasonCrashLoop, withDetail("starts its container "+s.Name+" again and again", endOf(last))}
	}
	return Trouble{}
}

// endOf describes how a container ended the last time; empty if that is not known.
func endOf(last *corev1.ContainerStateTerminated) string {
	if last == nil {
		return ""
	}
	how := fmt.Sprintf("it ended with code %d the last time", last.ExitCode)
	if last.Reason != "" && last.Reason != "Error" {
		how += " (" + last.Reason + ")"
	}
	return how
}

func withDetail(text, detail string) string {
	if detail == "" {
		return text
	}
	return text + ": " + detail
}

// TroublesOf summarizes the problems of all Pods of a cluster: one per group and reason, the head first, then groups by name. Each
// message names one Pod. later is as in TroubleOf.
func TroublesOf(list []*corev1.Pod, now time.Time) (all []Trouble, later time.Duration) {
	type key struct {
		kind          rayv1.RayNodeType
		group, reason string
	}
	found := map[key][]string{} // names
	first := map[string]Trouble{}
	for _, pod := range list {
		kind := rayv1.RayNodeType(pod.Labels[rayv1.LabelNodeType])
		if kind != rayv1.HeadNode && kind != rayv1.WorkerNode {
			continue
		}
		one, wait := TroubleOf(pod, now)
		if wait > 0 && (later == 0 || wait < later) {
			later = wait
		}
		if one.Reason == "" {
			continue
		}
		k := key{kind, pod.Labels[rayv1.LabelGroup], one.Reason}
		found[k] = append(found[k], pod.Name)
		first[pod.Name] = one
	}
	order := func(a, b key) int { // head sorts before worker
		return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.group, b.group), strings.Compare(a.reason, b.reason))
	}
	for _, k := range slices.SortedFunc(maps.Keys(found), order) {
		name := slices.Min(found[k])
		who := "head Pod " + name
		if k.kind == rayv1.WorkerNode {
			who = "worker Pod " + name + " in group " + k.group
		}
		if len(found[k]) > 1 {
			who += ", like others," // without their number, which would change often
		}
		all = append(all, Trouble{k.reason, who + " " + first[name].Message})
	}
	return all, later
}

// schedulingTime is how long the scheduler may take to process a Pod. A slower scheduler is down or overloaded; then Pods are
// still created.
const schedulingTime = 2 * time.Second

// Unscheduled counts the Pods that the Kubernetes scheduler has not processed yet. Pods of other schedulers, which may wait for a
// whole gang, do not count.
func Unscheduled(pods []*corev1.Pod, now time.Time) int {
	n := 0
	for _, p := range pods {
		inOrder := p.Spec.SchedulerName == "" || p.Spec.SchedulerName == corev1.DefaultSchedulerName
		if inOrder && p.Spec.NodeName == "" && p.DeletionTimestamp == nil && now.Sub(p.CreationTimestamp.Time) < schedulingTime && Condition(p, corev1.PodScheduled) == nil {
			n++
		}
	}
	return n
}
