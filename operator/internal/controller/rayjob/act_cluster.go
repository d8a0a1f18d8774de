package rayjob

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayjob"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/report"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=create;delete;patch

// ensureCluster creates the cluster. It uses an existing one as it is: a change of the template applies to the next attempt.
func (r *Reconciler) ensureCluster(ctx context.Context, s *scope) {
	if s.job.Spec.RayClusterSpec == nil || s.selects() {
		return // invalid, or a cluster that the user selects
	}
	rc, err := r.buildCluster(s)
	if err != nil {
		s.hold(err.Error()) // only a changed spec helps
		return
	}
	r.known.Delete(s.job.UID, absent(rc))
	s.holdFor(s.recordResult(r.said, whatCluster, r.children.Ensure(ctx, s.job, children.Child{Desired: rc, AsFound: true})))
}

func (r *Reconciler) buildCluster(s *scope) (*rayv1.RayCluster, error) {
	j := s.planned()
	rc, err := rayjob.Cluster(j, r.builder())
	if err != nil {
		return nil, fmt.Errorf("building RayCluster: %w", err)
	}
	if s.mode() == rayv1.K8sJobMode {
		r.decorateCluster(j, rc)
	}
	return rc, nil
}

// builder returns the options of the builder of clusters.
func (r *Reconciler) builder() rayjob.Options {
	return rayjob.Options{Pod: r.config.Pod, SubmitterRestart: r.config.SubmitterRestart}
}

// planned returns the RayJob with the planned status, for builders.
func (s *scope) planned() *rayv1.RayJob {
	j := s.job.DeepCopy()
	s.plan.Status.DeepCopyInto(&j.Status)
	return j
}

// deleteCluster deletes the cluster if this RayJob controls it.
func (r *Reconciler) deleteCluster(ctx context.Context, s *scope) {
	if s.selects() {
		return
	}
	s.warn(s.recordResult(r.said, whatCluster, r.children.Remove(ctx, s.job, &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.job.Namespace, Name: s.job.Status.RayClusterName,
	}})))
}

// suspendWorkers removes the workers and keeps the head.
func (r *Reconciler) suspendWorkers(ctx context.Context, s *scope) {
	if s.cluster == nil || s.selects() {
		return
	}
	after := s.cluster.DeepCopy()
	for i := range after.Spec.WorkerGroupSpecs {
		after.Spec.WorkerGroupSpecs[i].Suspend = new(true)
	}
	result := r.children.Do(s.job, children.Update, whatCluster, after.Name, func() error {
		return r.config.Client.Patch(ctx, after, client.MergeFromWithOptions(s.cluster.DeepCopy(), client.MergeFromWithOptimisticLock{}))
	})
	if result.Done == children.Update {
		result.Done = children.None
		s.events = append(s.events, report.Normal("UpdatedRayCluster", "Update", "Suspended all worker groups of RayCluster %s", after.Name))
	}
	s.recordResult(r.said, whatCluster, result)
}
