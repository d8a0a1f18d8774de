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

// gcsClaim creates the volume claim for the embedded store of the GCS. It never changes or deletes a claim. The owner reference,
// which follows the deletion policy, decides whether the claim is deleted with the cluster.
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

// ownClaim ensures the operator's own claim. It uses an existing claim as it is, even if another client created it. The step
// checkDependents reports differences from the spec.
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
		// A claim without the label was not created by an operator. KubeRay makes the cluster its owner all the same, which deletes
		// user data.
		if found.Labels[rayv1.LabelCluster] == rc.Name {
			s.dependent(r.children.SetController(ctx, rc, child.Controller(rc), found, !volume.Retained(rc)))
		}
	}
}
