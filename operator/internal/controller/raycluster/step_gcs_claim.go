package raycluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/volume"
	"github.com/raygate/raygate/operator/internal/children"
)

const failedClaim = "FailedToCreatePVC"

// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch

// gcsClaim makes the volume claim for the embedded store of the GCS. A claim is never changed and never deleted here: what
// becomes of it when the cluster goes depends on its owner, which follows the deletion policy.
func (r *Reconciler) gcsClaim(ctx context.Context, s *scope) {
	rc := s.cluster
	if !volume.Needed(rc) {
		return
	}
	if name := volume.UserProvided(rc); name != "" {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, Name: name}}
		if s.missing(r.children.Missing(ctx, rc, children.Look{ID: "PersistentVolumeClaim " + name, Find: r.children.Exists(claim)})) {
			s.children = append(s.children, childFailure{reason: failedClaim, action: actionValidate, message: fmt.Sprintf(
				"PersistentVolumeClaim %s, which gcsFaultToleranceOptions.storage.claimName names, does not exist; the head Pod waits for it", name)})
		}
		return
	}
	r.ownClaim(ctx, s)
}

// ownClaim sees to the claim of the operator's making. One that is there is used as it is, whoever made it; that it may differ from the
// spec is for the step checkDependents.
func (r *Reconciler) ownClaim(ctx context.Context, s *scope) {
	rc := s.cluster
	result := r.children.Ensure(ctx, rc, children.Child{Desired: volume.Claim(rc), MayBeUsers: true, AsFound: true})
	s.dependent(result)
	found, ok := result.Object.(*corev1.PersistentVolumeClaim)
	switch {
	case !ok || result.Failure != nil:
	case found.DeletionTimestamp != nil:
		s.children = append(s.children, childFailure{reason: failedClaim, action: actionUpdate, message: fmt.Sprintf(
			"PersistentVolumeClaim %s is being deleted, with the metadata of the cluster in it", found.Name)})
	case result.Done == children.Create:
	default:
		s.facts.Claim = &found.Spec
		// Without the label no operator made it. KubeRay makes the cluster its owner all the same, and so deletes data of the user's.
		if found.Labels[rayv1.LabelCluster] == rc.Name {
			s.dependent(r.children.SetController(ctx, rc, child.Controller(rc), found, !volume.Retained(rc)))
		}
	}
}
