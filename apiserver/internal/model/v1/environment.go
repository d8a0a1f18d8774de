package v1

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// reservedHead and reservedWorker are variables that V1 or the operator sets. They are not shown.
var (
	reservedHead   = []string{"MY_POD_IP", "RAY_CLUSTER_NAME", "RAY_PORT", "RAY_ADDRESS", "RAY_USAGE_STATS_KUBERAY_IN_USE"}
	reservedWorker = append(slices.Clone(reservedHead),
		"RAY_DISABLE_DOCKER_CPU_WARNING", "TYPE", "CPU_REQUEST", "CPU_LIMITS", "MEMORY_REQUESTS", "MEMORY_LIMITS", "MY_POD_NAME", "FQ_RAY_IP", "RAY_IP", "REDIS_PASSWORD")
)

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// environmentToRay sorts by name, so that the same message always makes the same Pod.
func environmentToRay(e *kuberay.EnvironmentVariables) []corev1.EnvVar {
	var all []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(e.GetValues())) {
		all = append(all, corev1.EnvVar{Name: name, Value: e.GetValues()[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(e.GetValuesFrom())) {
		from := e.GetValuesFrom()[name]
		object := corev1.LocalObjectReference{Name: from.GetName()}
		source := &corev1.EnvVarSource{}
		switch from.GetSource() {
		case kuberay.EnvValueFrom_CONFIGMAP:
			source.ConfigMapKeyRef = &corev1.ConfigMapKeySelector{LocalObjectReference: object, Key: from.GetKey()}
		case kuberay.EnvValueFrom_SECRET:
			source.SecretKeyRef = &corev1.SecretKeySelector{LocalObjectReference: object, Key: from.GetKey()}
		case kuberay.EnvValueFrom_RESOURCEFIELD:
			source.ResourceFieldRef = &corev1.ResourceFieldSelector{ContainerName: from.GetName(), Resource: from.GetKey()}
		default:
			source.FieldRef = &corev1.ObjectFieldSelector{FieldPath: from.GetKey()}
		}
		all = append(all, corev1.EnvVar{Name: name, ValueFrom: source})
	}
	return all
}

// environmentFromRay leaves out sources that V1 does not have. It returns a message if the container has any variable, even a reserved one.
func environmentFromRay(all []corev1.EnvVar, reserved []string) *kuberay.EnvironmentVariables {
	if len(all) == 0 {
		return nil
	}
	out := &kuberay.EnvironmentVariables{Values: map[string]string{}, ValuesFrom: map[string]*kuberay.EnvValueFrom{}}
	for i := range all {
		v := &all[i]
		if slices.Contains(reserved, v.Name) {
			continue
		}
		if v.ValueFrom == nil {
			out.Values[v.Name] = v.Value
			continue
		}
		if from := sourceFromRay(v.ValueFrom); from != nil {
			out.ValuesFrom[v.Name] = from
		}
	}
	return out
}

func sourceFromRay(s *corev1.EnvVarSource) *kuberay.EnvValueFrom {
	switch {
	case s.ConfigMapKeyRef != nil:
		return &kuberay.EnvValueFrom{Source: kuberay.EnvValueFrom_CONFIGMAP, Name: s.ConfigMapKeyRef.Name, Key: s.ConfigMapKeyRef.Key}
	case s.SecretKeyRef != nil:
		return &kuberay.EnvValueFrom{Source: kuberay.EnvValueFrom_SECRET, Name: s.SecretKeyRef.Name, Key: s.SecretKeyRef.Key}
	case s.ResourceFieldRef != nil:
		return &kuberay.EnvValueFrom{Source: kuberay.EnvValueFrom_RESOURCEFIELD, Name: s.ResourceFieldRef.ContainerName, Key: s.ResourceFieldRef.Resource}
	case s.FieldRef != nil:
		return &kuberay.EnvValueFrom{Source: kuberay.EnvValueFrom_FIELD, Key: s.FieldRef.FieldPath}
	}
	return nil
}
