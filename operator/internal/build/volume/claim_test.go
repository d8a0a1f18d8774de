package volume

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/test/raytest"
)

func TestDifferences(t *testing.T) {
	with := func(s rayv1.GcsEmbeddedStorage) *corev1.PersistentVolumeClaim {
		return Claim(raytest.RayCluster("ns/demo", raytest.Spec(func(spec *rayv1.RayClusterSpec) {
			spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB, Storage: &s}
		})))
	}
	cases := map[string]struct {
		wanted, found rayv1.GcsEmbeddedStorage
		want          []string
	}{
		"equal, written differently": {
			wanted: rayv1.GcsEmbeddedStorage{Size: new(resource.MustParse("1Gi"))},
			found:  rayv1.GcsEmbeddedStorage{Size: new(resource.MustParse("1024Mi"))},
		},
		"the default class is whatever it is": {
			found: rayv1.GcsEmbeddedStorage{StorageClassName: new("standard")},
		},
		"modes in another order": {
			wanted: rayv1.GcsEmbeddedStorage{AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteMany", "ReadOnlyMany"}},
			found:  rayv1.GcsEmbeddedStorage{AccessModes: []corev1.PersistentVolumeAccessMode{"ReadOnlyMany", "ReadWriteMany"}},
		},
		"everything": {
			wanted: rayv1.GcsEmbeddedStorage{Size: new(resource.MustParse("2Gi")), StorageClassName: new("fast"), AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteMany"}},
			want:   []string{"its size is 1Gi, not 2Gi", `its storage class is "", not "fast"`, "its access modes are ReadWriteOnce, not ReadWriteMany"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Differences(with(tc.wanted), with(tc.found))); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
