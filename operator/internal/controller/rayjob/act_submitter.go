package rayjob

import (
	"context"
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
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// Names of children in events.
const (
	whatCluster   = "RayCluster"
	whatSubmitter = "RayJobSubmitter"
	whatService   = "Service"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=create;patch

// ensureSubmitter creates the Job that submits. It first deletes a Job of an earlier attempt, which a stale cache may have hidden
// from the deletion.
func (r *Reconciler) ensureSubmitter(ctx context.Context, s *scope) {
	if s.cluster == nil {
		return
	}
	j := s.planned()
	desired, err := job.Submitter(j, s.cluster, r.config.Pod)
	if err != nil {
		s.hold("building Job: " + err.Error()) // only a changed spec helps
		return
	}
	r.decorateSubmitter(j, desired)
	r.known.Delete(s.job.UID, absent(desired))
	result := r.children.Ensure(ctx, s.job, children.Child{Desired: desired, AsFound: true})
	if f := result.Failure; f != nil && f.Taken { // the next reconcile reads the Job, and the plan waits for the name
		s.after(result.After)
		s.hold("")
		s.warn(jobplan.NameTaken(s.job))
		return
	}
	if result.Stale { // of a deleted RayJob of the same name, or deleted meanwhile
		s.after(reconcile.Soon)
		s.hold("")
		return
	}
	s.holdFor(s.recordResult(r.said, whatSubmitter, result))
	if found, ok := result.Object.(*batchv1.Job); ok && result.Err == nil && result.Failure == nil {
		if id := submits(found); id != "" && id != j.Status.JobId {
			s.hold("")
			s.after(children.RetryAfter)
			r.deleteSubmitter(ctx, s)
		}
	}
}

func (r *Reconciler) deleteSubmitter(ctx context.Context, s *scope) {
	s.warn(s.recordResult(r.said, whatSubmitter, r.children.Remove(ctx, s.job, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.job.Namespace, Name: s.job.Name}})))
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=delete

// killSubmitter also ends the Pods of the Job. Shells ignore the signal to terminate, and one that waits for Ray could submit the job again
// until its grace period is over.
func (r *Reconciler) killSubmitter(ctx context.Context, s *scope) {
	if r.deleteSubmitter(ctx, s); s.err != nil {
		return
	}
	pods, err := submitterPods(ctx, r.config.Live, s.job)
	s.fail(err)
	for i := range pods {
		s.fail(client.IgnoreNotFound(r.config.Client.Delete(ctx, &pods[i], client.GracePeriodSeconds(1))))
	}
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
func (r *Reconciler) ensureHeadService(ctx context.Context, s *scope) {
	if s.cluster == nil || s.selects() {
		return
	}
	svc := service.JobHead(s.job, s.cluster, r.config.Service)
	if svc.Name != names.HeadService(s.cluster) { // else the user gave this name to the Service of the cluster
		s.warn(s.recordResult(r.said, whatService, r.children.Ensure(ctx, s.job, children.Child{Desired: svc})))
	}
}
