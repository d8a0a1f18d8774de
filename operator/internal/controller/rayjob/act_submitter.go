package rayjob

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/operator/internal/build/job"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/children"
)

// Names of children in events.
const (
	whatSubmitter = "RayJobSubmitter"
	whatService   = "Service"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=create;patch

// ensureSubmitter creates the Job that submits. It first deletes a Job of an earlier attempt, which a stale cache may have hidden
// from the deletion.
func (a *act) ensureSubmitter(ctx context.Context, s *scope) error {
	if s.cluster == nil {
		return nil
	}
	j := s.planned()
	desired, err := job.Submitter(j, s.cluster, a.config.Pod)
	if err != nil {
		s.hold("building Job: " + err.Error())
		return nil //nolint:nilerr // only a changed spec helps
	}
	a.gangs.decorateSubmitter(j, desired)
	a.tracker.known.Delete(s.job.UID, absent(desired))
	r := a.children.Ensure(ctx, s.job, children.Child{Desired: desired, AsFound: true})
	if !s.took(a.said, whatSubmitter, r) {
		s.hold(r.Failure.Message)
	}
	if found, ok := r.Object.(*batchv1.Job); ok && r.Err == nil && r.Failure == nil {
		if id := submits(found); id != "" && id != j.Status.JobId {
			s.hold("")
			s.after(children.RetryAfter)
			return a.deleteSubmitter(ctx, s)
		}
	}
	return r.Err
}

func (a *act) deleteSubmitter(ctx context.Context, s *scope) error {
	r := a.children.Remove(ctx, s.job, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.job.Namespace, Name: s.job.Name}})
	if !s.took(a.said, whatSubmitter, r) {
		s.warnings = append(s.warnings, r.Failure.Message)
	}
	return r.Err
}

// ensureHeadService points the Service of the RayJob to the cluster of this attempt. A job also runs without it.
func (a *act) ensureHeadService(ctx context.Context, s *scope) error {
	if s.cluster == nil || s.selects() {
		return nil
	}
	svc := service.JobHead(s.job, s.cluster, a.config.Service)
	if svc.Name == names.HeadService(s.cluster) {
		return nil // the user gave this name to the Service of the cluster
	}
	r := a.children.Ensure(ctx, s.job, children.Child{Desired: svc})
	if !s.took(a.said, whatService, r) {
		s.warnings = append(s.warnings, r.Failure.Message)
	}
	return r.Err
}
