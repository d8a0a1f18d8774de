package rayjob

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
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

// +kubebuilder:rbac:groups="",resources=pods,verbs=delete

// killSubmitter also ends the Pods of the Job. Shells ignore the signal to terminate, and one that waits for Ray could submit the job again
// until its grace period is over.
func (a *act) killSubmitter(ctx context.Context, s *scope) error {
	if err := a.deleteSubmitter(ctx, s); err != nil {
		return err
	}
	pods, err := submitterPods(ctx, a.config.Live, s.job)
	for i := range pods {
		err = errors.Join(err, client.IgnoreNotFound(a.config.Client.Delete(ctx, &pods[i], client.GracePeriodSeconds(1))))
	}
	return err
}

// submitterPods returns the Pods of the submitter that have not ended. They outlive their Job for a while, and the cache does not contain
// them.
func submitterPods(ctx context.Context, live client.Reader, j *rayv1.RayJob) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := live.List(ctx, &list, client.InNamespace(j.Namespace), client.MatchingLabels{
		batchv1.JobNameLabel: j.Name, rayv1.LabelOriginatedFromCRName: j.Name, rayv1.LabelOriginatedFromCRD: kind.Kind,
	}); err != nil {
		return nil, fmt.Errorf("listing the Pods of the submitter: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return ended(&p) }), nil
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
