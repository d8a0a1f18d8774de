package v1

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// Resources of the autoscaler container, if only one of the two is set.
const (
	defaultAutoscalerCPU    = "500m"
	defaultAutoscalerMemory = "512Mi"
)

func autoscalerToRay(o *kuberay.AutoscalerOptions, path *field.Path) (*rayv1.AutoscalerOptions, field.ErrorList) {
	if o == nil {
		return nil, nil
	}
	out := &rayv1.AutoscalerOptions{
		Env: environmentToRay(&kuberay.EnvironmentVariables{Values: o.GetEnvs().GetValues()}), IdleTimeoutSeconds: nonZero(max(o.GetIdleTimeoutSeconds(), 0)),
		UpscalingMode: nonZero(rayv1.UpscalingMode(o.GetUpscalingMode())), Image: nonZero(o.GetImage()),
	}
	if strings.EqualFold(o.GetImagePullPolicy(), string(corev1.PullAlways)) {
		out.ImagePullPolicy = new(corev1.PullAlways)
	}
	for _, key := range slices.Sorted(maps.Keys(o.GetEnvs().GetValuesFrom())) {
		from := o.GetEnvs().GetValuesFrom()[key]
		object := corev1.LocalObjectReference{Name: from.GetName()}
		switch from.GetSource() { //nolint:exhaustive // the others are no source of all variables
		case kuberay.EnvValueFrom_CONFIGMAP:
			out.EnvFrom = append(out.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: object}})
		case kuberay.EnvValueFrom_SECRET:
			out.EnvFrom = append(out.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: object}})
		}
	}
	for _, v := range o.GetVolumes() {
		out.VolumeMounts = append(out.VolumeMounts, mountToRay(v))
	}
	var errs field.ErrorList
	if o.GetCpu() != "" || o.GetMemory() != "" {
		out.Resources, errs = resourcesOf(cmp.Or(o.GetCpu(), defaultAutoscalerCPU), cmp.Or(o.GetMemory(), defaultAutoscalerMemory), path)
	}
	return out, errs
}

// resourcesOf returns requests and limits of CPU and memory.
func resourcesOf(cpu, memory string, path *field.Path) (*corev1.ResourceRequirements, field.ErrorList) {
	var errs field.ErrorList
	list := corev1.ResourceList{}
	for _, r := range []struct {
		name corev1.ResourceName
		text string
	}{{corev1.ResourceCPU, cpu}, {corev1.ResourceMemory, memory}} {
		q, err := resource.ParseQuantity(r.text)
		if err != nil {
			errs = append(errs, badQuantity(path.Child(string(r.name)), r.text))
		}
		list[r.name] = q
	}
	return &corev1.ResourceRequirements{Requests: list, Limits: maps.Clone(list)}, errs
}

// autoscalerFromRay numbers the sources of variables, which have no key in a RayCluster.
func autoscalerFromRay(o *rayv1.AutoscalerOptions) *kuberay.AutoscalerOptions {
	if o == nil {
		return nil
	}
	out := &kuberay.AutoscalerOptions{
		IdleTimeoutSeconds: ptr.Deref(o.IdleTimeoutSeconds, 0), UpscalingMode: string(ptr.Deref(o.UpscalingMode, "")), Image: ptr.Deref(o.Image, ""),
		ImagePullPolicy: string(ptr.Deref(o.ImagePullPolicy, "")),
	}
	envs := &kuberay.EnvironmentVariables{Values: map[string]string{}, ValuesFrom: map[string]*kuberay.EnvValueFrom{}}
	for _, v := range o.Env {
		if v.ValueFrom == nil { // all others cannot be said here
			envs.Values[v.Name] = v.Value
		}
	}
	for i, from := range o.EnvFrom {
		key := strconv.Itoa(i)
		switch {
		case from.ConfigMapRef != nil:
			envs.ValuesFrom[key] = &kuberay.EnvValueFrom{Source: kuberay.EnvValueFrom_CONFIGMAP, Name: from.ConfigMapRef.Name}
		case from.SecretRef != nil:
			envs.ValuesFrom[key] = &kuberay.EnvValueFrom{Source: kuberay.EnvValueFrom_SECRET, Name: from.SecretRef.Name}
		}
	}
	if len(envs.GetValues())+len(envs.GetValuesFrom()) > 0 {
		out.Envs = envs
	}
	for i := range o.VolumeMounts {
		v := &kuberay.Volume{Name: o.VolumeMounts[i].Name}
		mountFromRay(v, &o.VolumeMounts[i])
		out.Volumes = append(out.Volumes, v)
	}
	if o.Resources != nil {
		out.Cpu, out.Memory = amountOf(o.Resources, corev1.ResourceCPU), amountOf(o.Resources, corev1.ResourceMemory)
	}
	return out
}

// amountOf is the limit of a resource, or the request if there is no limit; empty for neither.
func amountOf(r *corev1.ResourceRequirements, name corev1.ResourceName) string {
	return cmp.Or(quantityText(r.Limits, name), quantityText(r.Requests, name))
}
