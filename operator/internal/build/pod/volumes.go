package pod

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// addVolume adds a volume unless the user has one with this name.
func addVolume(s *corev1.PodSpec, name string, source corev1.VolumeSource) {
	if !slices.ContainsFunc(s.Volumes, func(v corev1.Volume) bool { return v.Name == name }) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
}

// addMount adds a mount unless the user mounted this volume or another one at this path.
func addMount(c *corev1.Container, m corev1.VolumeMount) {
	hasVolume := slices.ContainsFunc(c.VolumeMounts, func(o corev1.VolumeMount) bool { return o.Name == m.Name })
	if !hasVolume && mountAt(c.VolumeMounts, m.MountPath) == nil {
		c.VolumeMounts = append(c.VolumeMounts, m)
	}
}

// mountAt returns the mount at a path, in any spelling of the path, or nil.
func mountAt(mounts []corev1.VolumeMount, at string) *corev1.VolumeMount {
	for i := range mounts {
		if path.Clean(mounts[i].MountPath) == path.Clean(at) {
			return &mounts[i]
		}
	}
	return nil
}

// mountEmptyDir mounts an emptyDir at a path unless the user mounted something there.
func mountEmptyDir(s *corev1.PodSpec, c *corev1.Container, name, at string, source corev1.EmptyDirVolumeSource) {
	if mountAt(c.VolumeMounts, at) == nil {
		addVolume(s, name, corev1.VolumeSource{EmptyDir: &source})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at})
	}
}

// addSharedMemory mounts memory at /dev/shm for Ray's object store; the default is 64 MiB. Like KubeRay, it uses the container's
// memory as the limit, because shared memory counts against it anyway.
func addSharedMemory(s *corev1.PodSpec, ray *corev1.Container) {
	mountEmptyDir(s, ray, rayv1.VolumeSharedMemory, rayv1.VolumeSharedMemoryPath, corev1.EmptyDirVolumeSource{
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

// addLogs shares the directory of Ray's logs and sockets with the sidecars that use it.
func addLogs(s *corev1.PodSpec, c parts) {
	for _, sidecar := range []*corev1.Container{c.autoscaler, c.collector} {
		if sidecar == nil {
			continue
		}
		mountEmptyDir(s, c.ray, rayv1.VolumeRayLogs, rayv1.VolumeRayLogsPath, corev1.EmptyDirVolumeSource{})
		if mountAt(sidecar.VolumeMounts, rayv1.VolumeRayLogsPath) != nil {
			continue
		}
		// Share a user's volume at this path regardless of its name; KubeRay mounts an empty volume in the sidecar instead. Do not
		// share a path with variables, which the sidecar may lack.
		if m := mountAt(c.ray.VolumeMounts, rayv1.VolumeRayLogsPath); m.SubPathExpr == "" {
			sidecar.VolumeMounts = append(sidecar.VolumeMounts, *m.DeepCopy())
			continue
		}
		mountEmptyDir(s, sidecar, rayv1.VolumeRayLogs, rayv1.VolumeRayLogsPath, corev1.EmptyDirVolumeSource{})
	}
}
