package resources

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Accelerators returns the GPUs and TPUs that a Pod of Ray requests, by the name of the resource in Ray, from its containers and the
// annotation about its ResourceClaims. Devices of claims that several Pods share belong to none of them. Nil means none.
func Accelerators(p *corev1.Pod) map[string]float64 {
	var out map[string]float64
	add := func(name string, amount float64) {
		if amount <= 0 {
			return
		}
		if out == nil {
			out = map[string]float64{}
		}
		out[name] += amount
	}
	requested := OfContainers(p.Spec.Containers)
	gpus, tpus := GPUs(requested), requested[TPU]
	add("GPU", gpus.AsApproximateFloat64())
	add("TPU", tpus.AsApproximateFloat64())
	for pair := range strings.SplitSeq(p.Annotations[rayv1.AnnotationClaimedDevices], ",") {
		name, text, _ := strings.Cut(pair, "=")
		if name != "GPU" && name != "TPU" {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 32); err == nil {
			add(name, float64(n))
		}
	}
	return out
}
