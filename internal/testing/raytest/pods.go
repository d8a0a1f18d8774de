package raytest

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Epoch is the creation time of Pods without CreatedAfter.
var Epoch = metav1.NewTime(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))

// PodOption changes an observed Pod that is being built.
type PodOption func(*corev1.Pod)

// HeadPod returns a running and ready head Pod of the cluster.
func HeadPod(rc *rayv1.RayCluster, name string, opts ...PodOption) *corev1.Pod {
	return observed(rc, name, rayv1.HeadNode, rayv1.HeadGroupName, opts)
}

// WorkerPod returns a running and ready worker of the group, which the spec of the cluster need not have.
func WorkerPod(rc *rayv1.RayCluster, group, name string, opts ...PodOption) *corev1.Pod {
	return observed(rc, name, rayv1.WorkerNode, group, opts)
}

func observed(rc *rayv1.RayCluster, name string, node rayv1.RayNodeType, group string, opts []PodOption) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         rc.Namespace,
			Name:              name,
			UID:               types.UID("uid-of-pod-" + name),
			CreationTimestamp: Epoch,
			Labels: map[string]string{
				rayv1.LabelCluster:   rc.Name,
				rayv1.LabelNodeType:  string(node),
				rayv1.LabelGroup:     group,
				rayv1.LabelIsRayNode: rayv1.LabelIsRayNodeValue,
				rayv1.LabelAppName:   rayv1.AppName,
				rayv1.LabelCreatedBy: rayv1.ControllerName,
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rc, rayv1.GroupVersion.WithKind("RayCluster"))},
		},
		Spec: corev1.PodSpec{
			NodeName:      "node-1",
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "ray-" + string(node), Image: Image}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
			},
		},
	}
	for _, opt := range opts {
		opt(p)
	}
	return p
}

// Phase sets the phase. Any phase except Running also removes readiness.
func Phase(phase corev1.PodPhase) PodOption {
	return func(p *corev1.Pod) {
		p.Status.Phase = phase
		if phase != corev1.PodRunning {
			NotReady()(p)
		}
	}
}

// NotReady turns the Ready condition to False.
func NotReady() PodOption {
	return func(p *corev1.Pod) {
		for i := range p.Status.Conditions {
			if p.Status.Conditions[i].Type == corev1.PodReady {
				p.Status.Conditions[i].Status = corev1.ConditionFalse
			}
		}
	}
}

// Unscheduled makes a Pod that waits for a node.
func Unscheduled() PodOption {
	return func(p *corev1.Pod) {
		Phase(corev1.PodPending)(p)
		p.Spec.NodeName, p.Status.PodIP = "", ""
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}}
	}
}

// Terminating sets the deletion timestamp.
func Terminating() PodOption {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp = new(metav1.NewTime(Epoch.Add(time.Hour)))
		p.DeletionGracePeriodSeconds = new(int64(30))
	}
}

// CreatedAfter sets the age: created this long after Epoch.
func CreatedAfter(d time.Duration) PodOption {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(Epoch.Add(d)) }
}

// RestartPolicy sets the restart policy.
func RestartPolicy(policy corev1.RestartPolicy) PodOption {
	return func(p *corev1.Pod) { p.Spec.RestartPolicy = policy }
}

// RayExited gives the Ray container the state terminated with this exit code.
func RayExited(code int32) PodOption {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name:  p.Spec.Containers[0].Name,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}},
		}}
	}
}

// PodLabel sets a label; an empty value removes it.
func PodLabel(key, value string) PodOption {
	return func(p *corev1.Pod) {
		if value == "" {
			delete(p.Labels, key)
			return
		}
		p.Labels[key] = value
	}
}

// PodAnnotation sets an annotation.
func PodAnnotation(key, value string) PodOption {
	return func(p *corev1.Pod) { p.Annotations = merged(p.Annotations, map[string]string{key: value}) }
}

// Host places a worker in a replica of several hosts, by the labels that the operator gives it.
func Host(replica string, index, host int) PodOption {
	return func(p *corev1.Pod) {
		p.Labels[rayv1.LabelWorkerGroupReplicaName] = replica
		p.Labels[rayv1.LabelWorkerGroupReplicaIndex] = strconv.Itoa(index)
		p.Labels[rayv1.LabelReplicaHostIndex] = strconv.Itoa(host)
	}
}

// Orphaned removes the owner references.
func Orphaned() PodOption {
	return func(p *corev1.Pod) { p.OwnerReferences = nil }
}
