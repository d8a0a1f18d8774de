package raycluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apply"
	buildchild "github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/volume"
)

// gcsClaim makes the volume claim for the embedded store of the GCS. A claim is never changed and never deleted here: what
// becomes of it when the cluster goes depends on its owner, which follows the deletion policy.
type gcsClaim struct{ children *children }

const failedClaim = "FailedToCreatePVC"

// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch

// Run implements step.
func (g *gcsClaim) Run(ctx context.Context, s *scope) (outcome, error) {
	rc := s.cluster
	if !volume.Needed(rc) {
		return outcome{}, nil
	}
	if name := volume.Brought(rc); name != "" {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, Name: name}}
		if g.children.lacks(ctx, s, "PersistentVolumeClaim "+name, g.children.exists(claim)) {
			s.children = append(s.children, childFailure{reason: failedClaim, action: actionValidate, message: fmt.Sprintf(
				"PersistentVolumeClaim %s, which gcsFaultToleranceOptions.storage.claimName names, does not exist; the head Pod waits for it", name)})
		}
		return outcome{}, nil
	}
	g.own(ctx, s)
	return outcome{}, nil
}

// own sees to the claim of the operator's making. One that is there is used as it is, whoever made it.
func (g *gcsClaim) own(ctx context.Context, s *scope) {
	c, rc := g.children, s.cluster
	desired := volume.Claim(rc)
	_, id, err := c.identify(desired)
	if err != nil {
		s.errs = append(s.errs, err)
		return
	}
	st := c.memory.of(rc.UID, id)
	now := c.clock.Now()
	found, err := c.find(ctx, desired)
	if err != nil {
		s.errs = append(s.errs, err)
		return
	}
	if found = st.believed(found, now); found == nil {
		if st.found == rc.Generation {
			return // the user's own, which the cache does not show
		}
		if wait := st.wait(rc.Generation, now); wait > 0 {
			st.repeat(s)
			s.lookAgain = soonest(s.lookAgain, wait)
			return
		}
		taken, err := apply.Writer{Client: c.client, Live: c.live}.Create(ctx, desired)
		if err != nil {
			c.refused(s, st, child{failed: failedClaim}, false, err)
			return
		}
		if taken == nil {
			st.made(desired, now)
			s.lookAgain = soonest(s.lookAgain, expectationTimeout) // as in Reconcile
			st.fine()
			s.tell("CreatedPVC", actionCreate, "Created PersistentVolumeClaim %s", desired.Name)
			return
		}
		found = taken
	}
	g.existing(ctx, s, st, found.(*corev1.PersistentVolumeClaim))
}

// existing sees to the owner of a claim. That it may differ from the spec is for the step judge.
func (g *gcsClaim) existing(ctx context.Context, s *scope, st *childState, found *corev1.PersistentVolumeClaim) {
	c, rc := g.children, s.cluster
	failure := childFailure{reason: failedClaim, action: actionUpdate}
	if found.DeletionTimestamp != nil {
		failure.message = fmt.Sprintf("PersistentVolumeClaim %s is being deleted, with the metadata of the cluster in it", found.Name)
		s.children = append(s.children, failure)
		return
	}
	s.facts.Claim = &found.Spec
	if found.Labels[rayv1.LabelCluster] != rc.Name {
		// No operator made it. KubeRay makes the cluster its owner all the same, and so deletes data that somebody brought along.
		st.found = rc.Generation
		return
	}
	w := apply.Writer{Client: c.client, Live: c.live}
	_, err := w.SetController(ctx, rc, buildchild.Controller(rc), found, !volume.Retained(rc))
	switch {
	case err == nil:
		st.fine()
	case errors.Is(err, apply.ErrNotOwned), lasting(err):
		failure.message = err.Error()
		s.children = append(s.children, failure)
		s.lookAgain = soonest(s.lookAgain, lastChildRetry)
	case apierrors.IsConflict(err):
		s.lookAgain = soonest(s.lookAgain, cacheLag)
	default:
		s.errs = append(s.errs, err)
	}
}
