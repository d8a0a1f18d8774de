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
func (a *act) ensureCluster(ctx context.Context, s *scope) error {
	if s.job.Spec.RayClusterSpec == nil || s.selects() {
		return nil // invalid, or a cluster that the user selects
	}
	rc, err := a.buildCluster(s)
	if err != nil {
		s.hold(err.Error())
		return nil // only a changed spec helps
	}
	a.tracker.known.Delete(s.job.UID, absent(rc))
	r := a.children.Ensure(ctx, s.job, children.Child{Desired: rc, AsFound: true})
	if !s.took(a.said, "RayCluster", r) {
		s.hold(r.Failure.Message)
	}
	return r.Err
}

func (a *act) buildCluster(s *scope) (*rayv1.RayCluster, error) {
	j := s.planned()
	rc, err := rayjob.Cluster(j, rayjob.Options{Pod: a.config.Pod, SubmitterRestart: a.config.SubmitterRestart})
	if err != nil {
		return nil, fmt.Errorf("building RayCluster: %w", err)
	}
	if s.mode() == rayv1.K8sJobMode {
		a.gangs.decorateCluster(j, rc)
	}
	return rc, nil
}

// planned returns the RayJob with the planned status, for builders.
func (s *scope) planned() *rayv1.RayJob {
	j := s.job.DeepCopy()
	s.plan.Status.DeepCopyInto(&j.Status)
	return j
}

// deleteCluster deletes the cluster if this RayJob controls it.
func (a *act) deleteCluster(ctx context.Context, s *scope) error {
	if s.selects() {
		return nil
	}
	r := a.children.Remove(ctx, s.job, &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.job.Namespace, Name: s.job.Status.RayClusterName,
	}})
	if !s.took(a.said, "RayCluster", r) {
		s.warnings = append(s.warnings, r.Failure.Message)
	}
	return r.Err
}

// suspendWorkers removes the workers and keeps the head.
func (a *act) suspendWorkers(ctx context.Context, s *scope) error {
	if s.cluster == nil || s.selects() {
		return nil
	}
	after := s.cluster.DeepCopy()
	for i := range after.Spec.WorkerGroupSpecs {
		after.Spec.WorkerGroupSpecs[i].Suspend = new(true)
	}
	r := a.children.Do(s.job, children.Update, "RayCluster", after.Name, func() error {
		return a.config.Client.Patch(ctx, after, client.MergeFromWithOptions(s.cluster.DeepCopy(), client.MergeFromWithOptimisticLock{}))
	})
	if r.Done == children.Update {
		r.Done = children.None
		s.events = append(s.events, report.Normal("UpdatedRayCluster", "Update", "Suspended all worker groups of RayCluster %s", after.Name))
	}
	s.took(a.said, "RayCluster", r)
	return r.Err
}
