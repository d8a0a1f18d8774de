package volume

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/gcs"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Needed reports whether the metadata of the cluster is kept on a volume.
func Needed(rc *rayv1.RayCluster) bool {
	return gcs.Backend(rc) == rayv1.GcsFTBackendRocksDB
}

// Brought is the name of the claim that the user brings along, "" if the operator makes one.
func Brought(rc *rayv1.RayCluster) string { return storage(rc).ClaimName }

// Retained reports whether the claim outlives the cluster. Such a claim has no owner.
func Retained(rc *rayv1.RayCluster) bool {
	p := storage(rc).DeletionPolicy
	return p != nil && *p == rayv1.GCSStorageRetain
}

// Claim builds the claim that the operator makes. It has no owner if it is to be retained.
func Claim(rc *rayv1.RayCluster) *corev1.PersistentVolumeClaim {
	s := storage(rc)
	size := resource.MustParse("1Gi")
	if s.Size != nil {
		size = s.Size.DeepCopy()
	}
	modes := slices.Clone(s.AccessModes)
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
			AccessModes: modes,
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if s.StorageClassName != nil {
		claim.Spec.StorageClassName = new(*s.StorageClassName)
	}
	if !Retained(rc) {
		claim.OwnerReferences = []metav1.OwnerReference{child.Controller(rc)}
	}
	return claim
}

// Differences says, in words, in what the claim that exists differs from what is asked for. A claim is never changed after it
// was made: its data is worth more than its shape.
func Differences(wanted, found *corev1.PersistentVolumeClaim) []string {
	var all []string
	w, f := wanted.Spec.Resources.Requests[corev1.ResourceStorage], found.Spec.Resources.Requests[corev1.ResourceStorage]
	if w.Cmp(f) != 0 {
		all = append(all, fmt.Sprintf("its size is %s, not %s", f.String(), w.String()))
	}
	if c := wanted.Spec.StorageClassName; c != nil {
		have := ""
		if found.Spec.StorageClassName != nil {
			have = *found.Spec.StorageClassName
		}
		if have != *c {
			all = append(all, fmt.Sprintf("its storage class is %q, not %q", have, *c))
		}
	}
	if w, f := sorted(wanted.Spec.AccessModes), sorted(found.Spec.AccessModes); w != f {
		all = append(all, fmt.Sprintf("its access modes are %s, not %s", cmp.Or(f, "unset"), w))
	}
	return all
}

func sorted(modes []corev1.PersistentVolumeAccessMode) string {
	list := make([]string, len(modes))
	for i, m := range modes {
		list[i] = string(m)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func storage(rc *rayv1.RayCluster) rayv1.GcsEmbeddedStorage {
	if o := rc.Spec.GcsFaultToleranceOptions; o != nil && o.Storage != nil {
		return *o.Storage
	}
	return rayv1.GcsEmbeddedStorage{}
}
