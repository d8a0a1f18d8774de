package v1

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

var (
	propagations = map[kuberay.Volume_MountPropagationMode]corev1.MountPropagationMode{
		kuberay.Volume_HOSTTOCONTAINER: corev1.MountPropagationHostToContainer, kuberay.Volume_BIDIRECTIONAL: corev1.MountPropagationBidirectional,
	}
	accessModes = map[kuberay.Volume_AccessMode]corev1.PersistentVolumeAccessMode{
		kuberay.Volume_RWO: corev1.ReadWriteOnce, kuberay.Volume_ROX: corev1.ReadOnlyMany, kuberay.Volume_RWX: corev1.ReadWriteMany,
	}
)

// volumesToRay returns the volumes of a Pod and the mounts of its Ray container.
func volumesToRay(all []*kuberay.Volume, path *field.Path) (volumes []corev1.Volume, mounts []corev1.VolumeMount, errs field.ErrorList) {
	for i, v := range all {
		source, more := sourceToRay(v, path.Index(i))
		errs = append(errs, more...)
		volumes = append(volumes, corev1.Volume{Name: v.GetName(), VolumeSource: source})
		mounts = append(mounts, mountToRay(v))
	}
	return volumes, mounts, errs
}

func mountToRay(v *kuberay.Volume) corev1.VolumeMount {
	m := corev1.VolumeMount{Name: v.GetName(), ReadOnly: v.GetReadOnly(), MountPath: v.GetMountPath()}
	if mode, ok := propagations[v.GetMountPropagationMode()]; ok {
		m.MountPropagation = &mode
	}
	return m
}

func sourceToRay(v *kuberay.Volume, path *field.Path) (s corev1.VolumeSource, errs field.ErrorList) {
	switch v.GetVolumeType() {
	case kuberay.Volume_PERSISTENT_VOLUME_CLAIM:
		s.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.GetSource(), ReadOnly: v.GetReadOnly()}
	case kuberay.Volume_HOST_PATH:
		kind := corev1.HostPathDirectory
		if v.GetHostPathType() == kuberay.Volume_FILE {
			kind = corev1.HostPathFile
		}
		s.HostPath = &corev1.HostPathVolumeSource{Path: v.GetSource(), Type: &kind}
	case kuberay.Volume_EPHEMERAL:
		size, err := resource.ParseQuantity(v.GetStorage())
		if err != nil {
			errs = append(errs, badQuantity(path.Child("storage"), v.GetStorage()))
		}
		mode, ok := accessModes[v.GetAccessMode()]
		if !ok {
			errs = append(errs, unknownEnum(path.Child("accessMode"), v.GetAccessMode(), "RWO, ROX or RWX"))
		}
		claim := &corev1.PersistentVolumeClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{labelManagedBy: managedBy}},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{mode}, StorageClassName: nonZero(v.GetStorageClassName()),
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
			},
		}
		s.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: claim}
	case kuberay.Volume_CONFIGMAP:
		s.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: v.GetSource()}, Items: itemsToRay(v.GetItems())}
	case kuberay.Volume_SECRET:
		s.Secret = &corev1.SecretVolumeSource{SecretName: v.GetSource(), Items: itemsToRay(v.GetItems())}
	case kuberay.Volume_EMPTY_DIR:
		s.EmptyDir = &corev1.EmptyDirVolumeSource{}
		if v.GetStorage() != "" {
			size, err := resource.ParseQuantity(v.GetStorage())
			if err != nil {
				errs = append(errs, badQuantity(path.Child("storage"), v.GetStorage()))
			}
			s.EmptyDir.SizeLimit = &size
		}
	default: // a mount of no volume, which the Pod would be refused for
		errs = append(errs, unknownEnum(path.Child("volumeType"), v.GetVolumeType(), "one of 0 to 5"))
	}
	return s, errs
}

func badQuantity(path *field.Path, text string) *field.Error {
	return field.Invalid(path, text, "is not a quantity: write for example 500m, 2 or 10Gi")
}

func itemsToRay(items map[string]string) []corev1.KeyToPath {
	var all []corev1.KeyToPath
	for _, key := range slices.Sorted(maps.Keys(items)) {
		all = append(all, corev1.KeyToPath{Key: key, Path: items[key]})
	}
	return all
}

func itemsFromRay(items []corev1.KeyToPath) map[string]string {
	all := map[string]string{}
	for _, item := range items {
		all[item.Key] = item.Path
	}
	return all
}

// volumesFromRay returns the volumes of a Pod that V1 has a type for, each with its first mount. A volume without a mount has no path.
func volumesFromRay(spec *corev1.PodSpec) []*kuberay.Volume {
	mounts := map[string]*corev1.VolumeMount{}
	for i := range spec.Containers {
		for j := range spec.Containers[i].VolumeMounts {
			m := &spec.Containers[i].VolumeMounts[j]
			if mounts[m.Name] == nil {
				mounts[m.Name] = m
			}
		}
	}
	var all []*kuberay.Volume
	for i := range spec.Volumes {
		v := &kuberay.Volume{Name: spec.Volumes[i].Name}
		if !sourceFromVolume(v, &spec.Volumes[i].VolumeSource) {
			continue
		}
		if m := mounts[v.GetName()]; m != nil {
			mountFromRay(v, m)
		}
		all = append(all, v)
	}
	return all
}

func mountFromRay(v *kuberay.Volume, m *corev1.VolumeMount) {
	v.MountPath, v.ReadOnly = m.MountPath, v.GetReadOnly() || m.ReadOnly
	v.MountPropagationMode = enumOf(propagations, ptr.Deref(m.MountPropagation, ""))
}

// enumOf returns the enum of a name, zero for an unknown name.
func enumOf[E, N comparable](names map[E]N, name N) (enum E) {
	for e, n := range names {
		if n == name {
			enum = e
		}
	}
	return enum
}

// sourceFromVolume fills in v. It returns false if V1 has no type for the volume.
func sourceFromVolume(v *kuberay.Volume, s *corev1.VolumeSource) bool {
	switch {
	case s.PersistentVolumeClaim != nil:
		v.VolumeType, v.Source, v.ReadOnly = kuberay.Volume_PERSISTENT_VOLUME_CLAIM, s.PersistentVolumeClaim.ClaimName, s.PersistentVolumeClaim.ReadOnly
	case s.HostPath != nil:
		v.VolumeType, v.Source = kuberay.Volume_HOST_PATH, s.HostPath.Path
		if ptr.Deref(s.HostPath.Type, "") == corev1.HostPathFile {
			v.HostPathType = kuberay.Volume_FILE
		}
	case s.Ephemeral != nil && s.Ephemeral.VolumeClaimTemplate != nil:
		claim := &s.Ephemeral.VolumeClaimTemplate.Spec
		v.VolumeType, v.Storage = kuberay.Volume_EPHEMERAL, quantityText(claim.Resources.Requests, corev1.ResourceStorage)
		v.StorageClassName = ptr.Deref(claim.StorageClassName, "")
		if len(claim.AccessModes) > 0 {
			v.AccessMode = enumOf(accessModes, claim.AccessModes[0])
		}
	case s.ConfigMap != nil:
		v.VolumeType, v.Source, v.Items = kuberay.Volume_CONFIGMAP, s.ConfigMap.Name, itemsFromRay(s.ConfigMap.Items)
	case s.Secret != nil:
		v.VolumeType, v.Source, v.Items = kuberay.Volume_SECRET, s.Secret.SecretName, itemsFromRay(s.Secret.Items)
	case s.EmptyDir != nil:
		v.VolumeType = kuberay.Volume_EMPTY_DIR
		if s.EmptyDir.SizeLimit != nil {
			v.Storage = s.EmptyDir.SizeLimit.String()
		}
	default:
		return false
	}
	return true
}

// quantityText is an amount in its canonical form; empty if there is none.
func quantityText(list corev1.ResourceList, name corev1.ResourceName) string {
	if q, ok := list[name]; ok {
		return q.String()
	}
	return ""
}
