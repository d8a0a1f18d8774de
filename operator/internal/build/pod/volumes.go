package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// addSharedMemory backs Ray's object store with memory: /dev/shm of a container is 64 MiB otherwise. Its limit is the
// container's memory, as KubeRay's, because what is written there counts against it anyway.
func addSharedMemory(spec *corev1.PodSpec, ray *corev1.Container) {
	mountEmptyDir(spec, ray, rayv1.VolumeSharedMemory, rayv1.VolumeSharedMemoryPath, corev1.EmptyDirVolumeSource{
		Medium:    corev1.StorageMediumMemory,
		SizeLimit: memoryOf(ray.Resources),
	})
}

func memoryOf(r corev1.ResourceRequirements) *resource.Quantity {
	for _, list := range []corev1.ResourceList{r.Limits, r.Requests} {
		if q, ok := list[corev1.ResourceMemory]; ok && !q.IsZero() {
			return new(q.DeepCopy())
		}
	}
	return nil
}

// mountEmptyDir mounts an emptyDir at path, unless the user mounted something there. A volume of the user with the same
// name is taken instead of a new one.
func mountEmptyDir(spec *corev1.PodSpec, c *corev1.Container, name, path string, source corev1.EmptyDirVolumeSource) {
	if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path }) {
		return
	}
	if !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name }) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &source}})
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}
