package resource

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// checkPods reports the problems of Pods, the head first, because the others wait for it.
func (e *evidence) checkPods() {
	for _, head := range []bool{true, false} {
		for i := range e.pods {
			p := &e.pods[i]
			if isHead(p) == head {
				e.checkPod(p)
			}
		}
	}
}

func (e *evidence) checkPod(p *corev1.Pod) {
	pod := e.about("Pod", p.Name)
	if c := conditionOf(p, corev1.PodScheduled); c.Status == corev1.ConditionFalse {
		reason, remedy := "Unschedulable", "request less, add nodes, or check taints and selectors"
		if strings.Contains(c.Message, "persistentvolumeclaim") {
			reason, remedy = "VolumeMissing", "create the PersistentVolumeClaim, or remove the volume"
		}
		pod.add(severityError, reason, remedy, "%s", c.Message)
	}
	if p.Status.Phase == corev1.PodFailed && p.Status.Reason != "" {
		pod.add(severityError, p.Status.Reason, "", "the Pod failed: %s", p.Status.Message)
	}
	for i := range p.Status.InitContainerStatuses {
		s := &p.Status.InitContainerStatuses[i]
		if s.Name == rayv1.ContainerWaitGCSReady && s.State.Running != nil {
			pod.add(severityInfo, "WaitingForHead", "see what keeps the head from being ready", "the worker waits for the head to be ready")
			continue
		}
		e.checkContainer(p, s)
	}
	for i := range p.Status.ContainerStatuses {
		e.checkContainer(p, &p.Status.ContainerStatuses[i])
	}
}

// waitingReasons are the reasons why containers do not start, with the reasons and remedies of findings.
var waitingReasons = map[string]struct{ reason, remedy string }{
	"ErrImagePull":               {"ImagePullFailed", "correct the image, or give the Pod credentials for its registry"},
	"ImagePullBackOff":           {"ImagePullFailed", "correct the image, or give the Pod credentials for its registry"},
	"InvalidImageName":           {"ImagePullFailed", "correct the image"},
	"ErrImageNeverPull":          {"ImagePullFailed", "put the image on the node, or change imagePullPolicy"},
	"CreateContainerConfigError": {"ReferenceMissing", "create the Secret or ConfigMap that the container refers to, or remove the reference"},
	"CreateContainerError":       {"ContainerNotCreated", "see the events of the Pod"},
	"RunContainerError":          {"ContainerNotCreated", "see the command and the image of the container"},
}

func (e *evidence) checkContainer(p *corev1.Pod, s *corev1.ContainerStatus) {
	pod := e.about("Pod", p.Name)
	ended := s.State.Terminated
	if w := s.State.Waiting; w != nil {
		if known, ok := waitingReasons[w.Reason]; ok {
			pod.add(severityError, known.reason, known.remedy, "container %s: %s: %s", s.Name, w.Reason, w.Message)
			return
		}
		if w.Reason == "CrashLoopBackOff" {
			ended = s.LastTerminationState.Terminated
		}
	}
	if ended == nil || ended.ExitCode == 0 {
		return
	}
	reason, remedy := "ContainerCrashing", "see the log of the container"
	lines := e.log(p.Name, s.Name)
	switch {
	case ended.Reason == "OOMKilled":
		reason, remedy = "OutOfMemory", "give the container more memory"
	case s.Name == rayv1.ContainerAutoscaler:
		reason = "AutoscalerFailing"
	case submits(p, s.Name):
		reason = "SubmitterFailing"
	case e.cluster.Spec.GcsFaultToleranceOptions != nil && strings.Contains(strings.ToLower(lines), "redis"):
		reason, remedy = "RedisUnreachable", "see the address and the password of Redis in gcsFaultToleranceOptions"
	}
	text := ""
	if lines != "" {
		text = "; its last lines:\n" + lines
	}
	pod.add(severityError, reason, remedy, "container %s ended with exit code %d (%s), started %d times again%s", s.Name, ended.ExitCode, ended.Reason, s.RestartCount, text)
}
