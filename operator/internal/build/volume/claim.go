// Package volume builds the volume claim for the embedded store of the GCS.
package volume

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/gcs"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Needed reports whether the cluster stores its metadata on a volume.
func Needed(rc *rayv1.RayCluster) bool {
	return gcs.Backend(rc) == rayv1.GcsFTBackendRocksDB
}

// UserProvided returns the name of the user-provided claim, or "" if the operator creates one.
func UserProvided(rc *rayv1.RayCluster) string { return storage(rc).ClaimName }

// Retained reports whether the claim outlives the cluster. Such a claim has no owner.
func Retained(rc *rayv1.RayCluster) bool {
	return ptr.Deref(storage(rc).DeletionPolicy, "") == rayv1.GCSStorageRetain
}

// Claim builds the operator's claim. A retained claim has no owner.
func Claim(rc *rayv1.RayCluster) *corev1.PersistentVolumeClaim {
	s := storage(rc).DeepCopy()
	size := ptr.Deref(s.Size, resource.MustParse("1Gi"))
	modes := s.AccessModes
	if len(modes) == 0 {
		modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:      names.GCSClaim(rc.Name),
			Namespace: rc.Namespace,
			Labels:    map[string]string{rayv1.LabelCluster: rc.Name},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      modes,
			StorageClassName: s.StorageClassName,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if !Retained(rc) {
		claim.OwnerReferences = []metav1.OwnerReference{child.Controller(rc)}
	}
	return claim
}

func storage(rc *rayv1.RayCluster) *rayv1.GcsEmbeddedStorage {
	if o := rc.Spec.GcsFaultToleranceOptions; o != nil && o.Storage != nil {
		return o.Storage
	}
	return &rayv1.GcsEmbeddedStorage{}
}
