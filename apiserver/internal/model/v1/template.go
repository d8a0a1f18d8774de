package v1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// Labels and defaults of the ConfigMap of a compute template.
const (
	LabelConfigType       = "ray.io/config-type"
	ConfigTypeTemplate    = "compute-template"
	labelTemplate         = "ray.io/compute-template"
	defaultMemoryUnit     = "Gi"
	defaultGPUAccelerator = "nvidia.com/gpu"
)

// Templates are compute templates of one namespace by name.
type Templates map[string]*kuberay.ComputeTemplate

// TemplateToConfigMap returns the ConfigMap that keeps a compute template.
func TemplateToConfigMap(t *kuberay.ComputeTemplate) (*corev1.ConfigMap, field.ErrorList) {
	unit := cmp.Or(t.GetMemoryUnit(), defaultMemoryUnit)
	_, errs := memoryOf(t)
	extended, _ := json.Marshal(t.GetExtendedResources()) // of names and numbers: cannot fail
	cm := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: t.GetName(), Namespace: t.GetNamespace(), Labels: map[string]string{LabelConfigType: ConfigTypeTemplate, labelTemplate: t.GetName()},
		},
		Data: map[string]string{
			"name": t.GetName(), "namespace": t.GetNamespace(), "cpu": decimal(t.GetCpu()), "memory": decimal(t.GetMemory()), "gpu": decimal(t.GetGpu()),
			"memory_unit": unit, "gpu_accelerator": t.GetGpuAccelerator(), "extended_resources": string(extended),
		},
	}
	if len(t.GetTolerations()) > 0 {
		text, _ := json.Marshal(t.GetTolerations()) // the generated type has the tags that KubeRay's API server writes
		cm.Data["tolerations"] = string(text)
	}
	return cm, errs
}

// TemplateFromConfigMap returns the compute template in a ConfigMap; nil if it has none. Unreadable parts count as absent.
func TemplateFromConfigMap(cm *corev1.ConfigMap) *kuberay.ComputeTemplate {
	if cm.Labels[LabelConfigType] != ConfigTypeTemplate {
		return nil
	}
	t := &kuberay.ComputeTemplate{
		Name: cm.Name, Namespace: cm.Namespace, Cpu: parse(cm.Data["cpu"]), Memory: parse(cm.Data["memory"]), Gpu: parse(cm.Data["gpu"]),
		GpuAccelerator: cm.Data["gpu_accelerator"], MemoryUnit: cmp.Or(cm.Data["memory_unit"], defaultMemoryUnit),
	}
	var extended map[string]uint32
	if json.Unmarshal([]byte(cm.Data["extended_resources"]), &extended) == nil && len(extended) > 0 {
		t.ExtendedResources = extended
	}
	var tolerations []*kuberay.PodToleration
	if json.Unmarshal([]byte(cm.Data["tolerations"]), &tolerations) == nil {
		t.Tolerations = slices.DeleteFunc(tolerations, func(one *kuberay.PodToleration) bool { return one == nil })
	}
	return t
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func parse(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

func memoryOf(t *kuberay.ComputeTemplate) (resource.Quantity, field.ErrorList) {
	unit := cmp.Or(t.GetMemoryUnit(), defaultMemoryUnit)
	q, err := resource.ParseQuantity(decimal(t.GetMemory()) + unit)
	if err != nil {
		return q, field.ErrorList{field.Invalid(field.NewPath("memoryUnit"), unit, "is not a unit of a Kubernetes quantity: use for example Gi or Mi")}
	}
	return q, nil
}

// expand returns the resources and tolerations of a compute template. path is the field that names the template.
func (all Templates) expand(name string, path *field.Path) (corev1.ResourceRequirements, []corev1.Toleration, field.ErrorList) {
	t := all[name]
	if t == nil {
		return corev1.ResourceRequirements{}, nil, nil
	}
	memory, errs := memoryOf(t)
	if len(errs) > 0 {
		return corev1.ResourceRequirements{}, nil, field.ErrorList{field.Invalid(path, name, fmt.Sprintf("the memory of this compute template, %d%s, is not a quantity", t.GetMemory(), t.GetMemoryUnit()))}
	}
	list := corev1.ResourceList{corev1.ResourceCPU: whole(t.GetCpu()), corev1.ResourceMemory: memory}
	if t.GetGpu() != 0 {
		list[corev1.ResourceName(cmp.Or(t.GetGpuAccelerator(), defaultGPUAccelerator))] = whole(t.GetGpu())
	}
	for _, resource := range slices.Sorted(maps.Keys(t.GetExtendedResources())) {
		if amount := t.GetExtendedResources()[resource]; amount != 0 {
			list[corev1.ResourceName(resource)] = whole(amount)
		}
	}
	var tolerations []corev1.Toleration
	for _, one := range t.GetTolerations() {
		out := corev1.Toleration{Key: one.GetKey(), Operator: corev1.TolerationOpEqual, Value: one.GetValue(), Effect: corev1.TaintEffectPreferNoSchedule}
		if one.GetOperator() == string(corev1.TolerationOpExists) {
			out.Operator = corev1.TolerationOpExists
		}
		if effect := corev1.TaintEffect(one.GetEffect()); effect == corev1.TaintEffectNoExecute || effect == corev1.TaintEffectNoSchedule {
			out.Effect = effect
		}
		tolerations = append(tolerations, out)
	}
	return corev1.ResourceRequirements{Requests: list, Limits: maps.Clone(list)}, tolerations, nil
}

func whole(n uint32) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
