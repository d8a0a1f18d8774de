package raycluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/volume"
	"github.com/raygate/raygate/pkg/validation"
)

func embedded(c *Config) {
	c.Validation.Gates = map[validation.Gate]bool{validation.GateEmbeddedGCSStorage: true}
}

func onVolume(s *rayv1.GcsEmbeddedStorage) raytest.ClusterOption {
	return raytest.Spec(func(spec *rayv1.RayClusterSpec) {
		spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB, Storage: s}
	})
}

// childFailure is the message of the condition, empty for none.
func (w *world) childFailure(name string) string {
	if c := meta.FindStatusCondition(w.get(name).Status.Conditions, rayv1.RayClusterChildFailure); c != nil {
		return c.Message
	}
	return ""
}

func TestClaimFollowsItsDeletionPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asOperator()
	w.startOperator(embedded)
	w.Create(w.cluster("demo", onVolume(nil)))
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "demo-gcs-pvc"}}
	w.eventuallyThere("the claim", claim)
	owned := func() bool { return w.Read(claim) && metav1.IsControlledBy(claim, w.get("demo")) }
	if !owned() {
		t.Error("the claim has no owner")
	}
	policy := func(p rayv1.GCSStorageDeletionPolicy) func(*rayv1.RayCluster) {
		return func(rc *rayv1.RayCluster) {
			rc.Spec.GcsFaultToleranceOptions.Storage = &rayv1.GcsEmbeddedStorage{DeletionPolicy: &p}
		}
	}
	w.ChangeCluster("demo", policy(rayv1.GCSStorageRetain))
	w.Eventually("the claim to be let go", func() bool { return !owned() })
	w.ChangeCluster("demo", policy(rayv1.GCSStorageDeleteWithCluster))
	w.Eventually("the claim to be owned again", owned)
	w.ChangeCluster("demo", policy(rayv1.GCSStorageRetain))
	w.Eventually("the claim to be let go again", func() bool { return !owned() })
	w.delete("demo")
	w.Eventually("the cluster to go", func() bool { return w.gone("demo") })
	if !w.Read(claim) || claim.DeletionTimestamp != nil {
		t.Error("the retained claim went with the cluster")
	}
	// A later cluster of the name takes it over as it is.
	w.Create(w.cluster("demo", onVolume(&rayv1.GcsEmbeddedStorage{Size: new(resource.MustParse("5Gi"))})))
	w.Eventually("the new owner", owned)
	w.Eventually("the difference", func() bool {
		return strings.Contains(w.childFailure("demo"), "storage.size: Forbidden: has no effect on the PersistentVolumeClaim that exists, where it is 1Gi")
	})
	w.oneEvent("demo", "FailedToCreatePVC")
}

func TestClaimThatNoOperatorMadeIsUsedAndNeverOwned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claim := volume.Claim(raytest.RayCluster(w.Namespace + "/demo"))
	claim.Labels, claim.OwnerReferences = nil, nil
	w.Create(claim)
	version := claim.ResourceVersion
	w.startOperator(embedded)
	w.Create(w.cluster("demo", onVolume(nil)))
	w.Eventually("the head Pod", func() bool { return len(w.pods("demo")) == 1 })
	if !w.Read(claim) || len(claim.OwnerReferences) > 0 {
		t.Errorf("owners %v, version %s, was %s", claim.OwnerReferences, claim.ResourceVersion, version)
	}
}

func TestMissingClaimOfTheUserIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator(embedded)
	w.Create(w.cluster("demo", onVolume(&rayv1.GcsEmbeddedStorage{ClaimName: "mine"})))
	w.Eventually("the condition", func() bool { return strings.Contains(w.childFailure("demo"), "PersistentVolumeClaim mine") })
	w.Eventually("the head Pod all the same", func() bool { return len(w.pods("demo")) == 1 })
	w.oneEvent("demo", "FailedToCreatePVC")
	claim := volume.Claim(raytest.RayCluster(w.Namespace + "/demo"))
	claim.Name, claim.Labels, claim.OwnerReferences = "mine", nil, nil
	w.Create(claim)
	w.Eventually("the condition to go", func() bool { return w.childFailure("demo") == "" })
}
