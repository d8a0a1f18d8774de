// Package resources reads resource amounts of containers and Pods. Start parameters, status totals and gang scheduling share it.
package resources

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/raygate/raygate/pkg/devices/raycount"
)

// TPU is the resource name of Google's TPU chips.
const TPU corev1.ResourceName = "google.com/tpu"

// OfContainers returns the sum of the containers' requests. A limit counts if a container has no request for that resource.
func OfContainers(containers []corev1.Container) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i := range containers {
		asked := containers[i].Resources.Limits.DeepCopy()
		if asked == nil {
			asked = corev1.ResourceList{}
		}
		maps.Copy(asked, containers[i].Resources.Requests)
		Add(sum, asked, 1)
	}
	return sum
}

// OfPod returns the amounts that the Kubernetes scheduler reserves: the sum of the containers or the largest init container,
// whichever is more. Sidecar init containers count in both. Requests at the Pod level replace the result.
func OfPod(s *corev1.PodSpec) corev1.ResourceList {
	sum, peak, running := OfContainers(s.Containers), corev1.ResourceList{}, corev1.ResourceList{}
	for i := range s.InitContainers {
		asked := OfContainers(s.InitContainers[i : i+1])
		if p := s.InitContainers[i].RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			Add(sum, asked, 1)
			Add(running, asked, 1)
			raise(peak, running)
			continue
		}
		Add(asked, running, 1)
		raise(peak, asked)
	}
	raise(sum, peak)
	if s.Resources != nil {
		maps.Copy(sum, s.Resources.Limits)
		maps.Copy(sum, s.Resources.Requests)
	}
	Add(sum, s.Overhead, 1)
	return sum
}

// raise raises the amounts in list to at least those in least.
func raise(list, least corev1.ResourceList) {
	for name, amount := range least {
		if now := list[name]; now.Cmp(amount) < 0 {
			list[name] = amount.DeepCopy()
		}
	}
}

// Add adds n times the amounts in more to sum, in place.
func Add(sum, more corev1.ResourceList, n int64) {
	for name, amount := range more {
		amount = amount.DeepCopy()
		if n != 1 {
			amount.Mul(n)
		}
		total := sum[name].DeepCopy()
		total.Add(amount)
		sum[name] = total
	}
}

// GPUs returns the sum of all GPU amounts.
func GPUs(list corev1.ResourceList) resource.Quantity {
	var sum resource.Quantity
	for name, amount := range list {
		if raycount.IsGPU(string(name)) {
			sum.Add(amount)
		}
	}
	return sum
}
