package simnode

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations of Pods that control the simulation.
const (
	annotationStayPending = "raygate.io/sim-stay-pending"
	annotationExitCode    = "raygate.io/sim-exit-code"
)

// next returns the next status of the Pod, or nil if it has that status already. It is pure. ip is the Pod's address, hostIP its
// node's address; probed reports whether its probes succeed.
func next(pod *corev1.Pod, ip, hostIP string, probed bool, now time.Time) *corev1.PodStatus {
	switch {
	case hasEnded(pod):
		return nil
	case pod.DeletionTimestamp != nil:
		return ended(pod, 0, now)
	case pod.Annotations[annotationStayPending] == "true":
		return nil
	case !isRunning(pod):
		return running(pod, ip, hostIP, probed, now)
	}
	if code, ok := exitCode(pod); ok {
		return ended(pod, code, now)
	}
	if isReady(pod) != (probed && gatesOpen(pod)) {
		return &corev1.PodStatus{
			Phase:              corev1.PodRunning,
			ObservedGeneration: pod.Generation,
			Conditions:         readiness(pod, probed, now),
			ContainerStatuses:  startedAll(pod, probed, metav1.NewTime(now)),
		}
	}
	return nil
}

// hasEnded reports whether the Pod has ended for good.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func exitCode(pod *corev1.Pod) (int32, bool) {
	code, err := strconv.ParseInt(pod.Annotations[annotationExitCode], 10, 32)
	return int32(code), err == nil
}

// crashes reports whether a running Pod has to end by itself.
func crashes(pod *corev1.Pod) bool {
	_, ok := exitCode(pod)
	return ok && isRunning(pod)
}

func isRunning(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != ""
}

func isReady(pod *corev1.Pod) bool { return conditionTrue(pod, corev1.PodReady) }

// gatesOpen reports whether the conditions of all readiness gates are true.
func gatesOpen(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		return !conditionTrue(pod, g.ConditionType)
	})
}

func conditionTrue(pod *corev1.Pod, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == t && c.Status == corev1.ConditionTrue
	})
}

// running returns the status of a Pod whose containers have all started.
func running(pod *corev1.Pod, ip, hostIP string, probed bool, now time.Time) *corev1.PodStatus {
	at := metav1.NewTime(now)
	s := &corev1.PodStatus{
		Phase:              corev1.PodRunning,
		ObservedGeneration: pod.Generation,
		StartTime:          &at,
		HostIP:             hostIP,
		HostIPs:            []corev1.HostIP{{IP: hostIP}},
		PodIP:              ip,
		PodIPs:             []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{
			condition(pod, corev1.PodReadyToStartContainers, true, "", now),
			condition(pod, corev1.PodInitialized, true, "", now),
		},
	}
	s.Conditions = append(s.Conditions, readiness(pod, probed, now)...)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			s.InitContainerStatuses = append(s.InitContainerStatuses, started(pod, c, at))
			continue
		}
		st := terminated(pod, c, 0, at, at)
		st.Ready = true // as kubelets report completed init containers
		s.InitContainerStatuses = append(s.InitContainerStatuses, st)
	}
	s.ContainerStatuses = startedAll(pod, probed, at)
	return s
}

// startedAll returns the container states of a running Pod. Only the first container has a probe that can fail.
func startedAll(pod *corev1.Pod, probed bool, now metav1.Time) []corev1.ContainerStatus {
	if pod.Status.StartTime != nil {
		now = *pod.Status.StartTime
	}
	var out []corev1.ContainerStatus
	for i, c := range pod.Spec.Containers {
		s := started(pod, c, now)
		s.Ready = probed || i > 0
		out = append(out, s)
	}
	return out
}

// ended returns the status of a Pod whose containers have all ended with this code.
func ended(pod *corev1.Pod, code int32, now time.Time) *corev1.PodStatus {
	phase, reason := corev1.PodSucceeded, "PodCompleted"
	if code != 0 {
		phase, reason = corev1.PodFailed, "PodFailed"
	}
	begin := metav1.NewTime(now)
	if pod.Status.StartTime != nil {
		begin = *pod.Status.StartTime
	}
	s := &corev1.PodStatus{
		Phase:              phase,
		ObservedGeneration: pod.Generation,
		Conditions: []corev1.PodCondition{
			condition(pod, corev1.ContainersReady, false, reason, now),
			condition(pod, corev1.PodReady, false, reason, now),
		},
	}
	for _, c := range pod.Spec.InitContainers {
		s.InitContainerStatuses = append(s.InitContainerStatuses, terminated(pod, c, 0, begin, metav1.NewTime(now)))
	}
	for _, c := range pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, terminated(pod, c, code, begin, metav1.NewTime(now)))
	}
	return s
}

// readiness returns the conditions that follow from probes and readiness gates.
func readiness(pod *corev1.Pod, probed bool, now time.Time) []corev1.PodCondition {
	reason := ""
	switch {
	case !probed:
		reason = "ContainersNotReady"
	case !gatesOpen(pod):
		reason = "ReadinessGatesNotReady"
	}
	containers := condition(pod, corev1.ContainersReady, probed, "", now)
	if !probed {
		containers.Reason = reason
	}
	return []corev1.PodCondition{containers, condition(pod, corev1.PodReady, reason == "", reason, now)}
}

func condition(pod *corev1.Pod, t corev1.PodConditionType, is bool, reason string, now time.Time) corev1.PodCondition {
	c := corev1.PodCondition{
		Type:               t,
		Status:             corev1.ConditionFalse,
		Reason:             reason,
		ObservedGeneration: pod.Generation,
		LastTransitionTime: metav1.NewTime(now),
	}
	if is {
		c.Status = corev1.ConditionTrue
	}
	return c
}

func started(pod *corev1.Pod, c corev1.Container, at metav1.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: "sim://" + c.Image,
		ContainerID: containerID(pod, c),
		Ready:       true,
		Started:     new(true),
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
	}
}

func terminated(pod *corev1.Pod, c corev1.Container, code int32, begin, end metav1.Time) corev1.ContainerStatus {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: "sim://" + c.Image,
		ContainerID: containerID(pod, c),
		Started:     new(false),
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, StartedAt: begin, FinishedAt: end, ContainerID: containerID(pod, c),
		}},
	}
}

func containerID(pod *corev1.Pod, c corev1.Container) string {
	return "sim://" + string(pod.UID) + "/" + c.Name
}
