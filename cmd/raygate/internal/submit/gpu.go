package submit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const nvidiaGPU = "nvidia.com/gpu"

// gpuProducts has the products of each type of NVIDIA's GPUs, as GPU feature discovery writes them. The Python client has the same types in
// gpus.py.
var gpuProducts = map[string][]string{
	"a10":   {"NVIDIA-A10"},
	"a100":  {"NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-PCIE-40GB", "NVIDIA-A100-80GB-PCIe"},
	"a10g":  {"NVIDIA-A10G"},
	"b200":  {"NVIDIA-B200"},
	"gb200": {"NVIDIA-GB200"},
	"h100":  {"NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "NVIDIA-H100-NVL"},
	"h200":  {"NVIDIA-H200", "NVIDIA-H200-NVL"},
	"l4":    {"NVIDIA-L4"},
	"l40s":  {"NVIDIA-L40S"},
	"t4":    {"Tesla-T4"},
	"v100":  {"Tesla-V100-SXM2-16GB", "Tesla-V100-SXM2-32GB", "Tesla-V100-SXM3-32GB", "Tesla-V100-PCIE-16GB", "Tesla-V100-PCIE-32GB"},
}

// gpusOfGKE has the names of GKE, for the types that it has.
var gpusOfGKE = map[string][]string{
	"a100":  {"nvidia-tesla-a100", "nvidia-a100-80gb"},
	"b200":  {"nvidia-b200"},
	"gb200": {"nvidia-gb200"},
	"h100":  {"nvidia-h100-80gb", "nvidia-h100-mega-80gb"},
	"h200":  {"nvidia-h200-141gb"},
	"l4":    {"nvidia-l4"},
	"t4":    {"nvidia-tesla-t4"},
	"v100":  {"nvidia-tesla-v100"},
}

// GPUTypes returns the possible values of GPUType.
func GPUTypes() []string { return slices.Sorted(maps.Keys(gpuProducts)) }

// addGPUType requires nodes with GPUs of the type for all Pods with GPUs.
func (o *Options) addGPUType(head, worker *corev1.PodTemplateSpec) error {
	if o.GPUType == "" {
		return nil
	}
	if gpuProducts[o.GPUType] == nil {
		return fmt.Errorf("--gpu-type: %q is not a type of GPU; use %s", o.GPUType, strings.Join(GPUTypes(), ", "))
	}
	pods := []*corev1.PodTemplateSpec{head}
	if o.Workers > 0 {
		pods = append(pods, worker)
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.PodTemplateSpec) bool {
		return len(pod.Spec.Containers) == 0 || pod.Spec.Containers[0].Resources.Limits.Name(nvidiaGPU, "").IsZero()
	})
	if len(pods) == 0 {
		return errors.New("--gpu-type needs Pods with GPUs: set --workers and --worker-gpu, or --head-gpu")
	}
	for _, pod := range pods {
		pod.Spec.Affinity = toNodesWith(o.GPUType)
	}
	return nil
}

// toNodesWith requires the label of GPU feature discovery, of GKE, or of Karpenter on AWS. A node has at least one of them.
func toNodesWith(gpuType string) *corev1.Affinity {
	var terms []corev1.NodeSelectorTerm
	for _, label := range []struct {
		key    string
		values []string
	}{
		{"nvidia.com/gpu.product", gpuProducts[gpuType]}, {"cloud.google.com/gke-accelerator", gpusOfGKE[gpuType]}, {"karpenter.k8s.aws/instance-gpu-name", []string{gpuType}},
	} {
		if len(label.values) > 0 {
			terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: label.key, Operator: corev1.NodeSelectorOpIn, Values: label.values}}})
		}
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
}
