package rayjob

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch

// observeSubmitter reads the state of the Kubernetes Job or the container that submits.
func (r *Reconciler) observeSubmitter(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	switch {
	case s.state() == rayv1.JobDeploymentStatusNew, s.state() == rayv1.JobDeploymentStatusSuspended, s.state().IsTerminal(),
		s.job.DeletionTimestamp != nil && !s.selects():
		return reconcile.Outcome{}, nil
	}
	var err error
	finished := false
	switch s.mode() {
	case rayv1.K8sJobMode, rayv1.InteractiveMode: // KubeRay also deletes the Job of an interactive RayJob
		// Kubernetes before 1.31 reports that a Job failed while its Pods still end, and submit.
		if finished, err = r.observeJob(ctx, s); err == nil && (!s.in.EndingSince.IsZero() || s.in.Submitter.Failed && s.job.Status.JobStatus == rayv1.JobStatusNew) {
			err = r.observePods(ctx, s, s.in.Submitter.Found && !finished)
		}
	case rayv1.SidecarMode:
		finished, err = r.sidecar(ctx, s)
	case rayv1.HTTPMode:
	}
	says := ""
	if finished {
		says = "finished"
	}
	s.in.Submitter.FinishedSince = r.known.since(s, "submitter", says)
	return reconcile.Outcome{}, err
}

func (r *Reconciler) observeJob(ctx context.Context, s *scope) (finished bool, err error) {
	if s.state() == rayv1.JobDeploymentStatusInitializing && s.job.Status.DashboardURL == "" && s.in.Cluster.Dashboard == "" {
		return false, nil // not created before there is an address, so it cannot exist
	}
	j := &batchv1.Job{}
	found, err := r.find(ctx, s, s.job.Name, j)
	switch {
	case err != nil:
		return false, fmt.Errorf("reading Job %s: %w", s.job.Name, err)
	case !found:
		return false, nil
	case !metav1.IsControlledBy(j, s.job):
		s.in.Submitter.Foreign = true
		return false, nil
	case submits(j) != "" && s.state() != rayv1.JobDeploymentStatusSuspending && s.state() != rayv1.JobDeploymentStatusRetrying &&
		submits(j) != s.job.Status.JobId:
		return false, nil // of an earlier attempt, see ensureSubmitter
	}
	s.in.Submitter.Found = true
	return s.endedJob(j), r.label(ctx, s, j)
}

// observePods looks for Pods of the submitter that have not ended. No Pod is created after the last has ended.
func (r *Reconciler) observePods(ctx context.Context, s *scope, making bool) error {
	const ends = "end of Pods"
	if making {
		r.known.since(s, ends, "")
		return nil
	}
	if _, ended := r.known.Get(s.job.UID, ends); !ended {
		if left, err := submitterPods(ctx, r.config.Live, s.job); err != nil || len(left) > 0 {
			s.in.Submitter.Pods = len(left) > 0
			return err
		}
	}
	s.in.Submitter.PodsEndedSince = r.known.since(s, ends, "seen")
	return nil
}

// label adds the cluster label to a Job of KubeRay, so that the cache contains it.
func (r *Reconciler) label(ctx context.Context, s *scope, j *batchv1.Job) error {
	if j.Labels[rayv1.LabelCluster] != "" || s.job.Status.RayClusterName == "" || j.DeletionTimestamp != nil {
		return nil
	}
	before := j.DeepCopy()
	after := j.DeepCopy()
	metav1.SetMetaDataLabel(&after.ObjectMeta, rayv1.LabelCluster, s.job.Status.RayClusterName)
	if err := r.config.Client.Patch(ctx, after, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("labelling Job %s: %w", j.Name, err)
	}
	return nil
}

// endedJob reports whether the Job has ended.
func (s *scope) endedJob(j *batchv1.Job) (finished bool) {
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed {
			continue
		}
		finished = true
		if c.Type == batchv1.JobFailed {
			s.in.Submitter.Failed, s.in.Submitter.Message = true, fmt.Sprintf("Job %s: %s: %s", j.Name, c.Reason, c.Message)
		}
	}
	return finished
}

// sidecar reads the state of the container in the head Pod. A missing head Pod counts as lost once it may have submitted the job.
func (r *Reconciler) sidecar(ctx context.Context, s *scope) (finished bool, err error) {
	if s.cluster == nil {
		return false, nil
	}
	begun := jobplan.SidecarMayHaveSubmitted(&s.job.Status) || s.cluster.Status.Head.PodIP != ""
	head, err := r.head(ctx, r.config.Client, s.cluster)
	if err == nil && head == nil && begun {
		head, err = r.head(ctx, r.config.Live, s.cluster) // the cache may be stale
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("listing the head Pod: %w", err)
	case head == nil:
		s.in.Submitter.HeadLost = begun
	default:
		s.in.Submitter, finished = sidecarOf(head, r.config.SubmitterRestart)
	}
	s.in.Submitter.HeadReturns = s.in.Submitter.HeadLost && s.cluster.Status.Head.PodIP == ""
	return finished, nil
}

func (r *Reconciler) head(ctx context.Context, c client.Reader, rc *rayv1.RayCluster) (*corev1.Pod, error) {
	var list corev1.PodList
	err := c.List(ctx, &list, client.InNamespace(rc.Namespace),
		client.MatchingLabels{rayv1.LabelCluster: rc.Name, rayv1.LabelNodeType: string(rayv1.HeadNode)})
	if err != nil {
		return nil, err
	}
	var head *corev1.Pod
	for i := range list.Items {
		p := &list.Items[i]
		if rc.Owns(p) && (head == nil || head.DeletionTimestamp != nil && p.DeletionTimestamp == nil) {
			head = p
		}
	}
	return head, nil
}

// maxRestarts is the number of restarts of a failing container before it counts as failed, as for the Job in K8sJobMode.
const maxRestarts = 2

// sidecarOf returns the state of the container. With restart, it has finished after a success or after maxRestarts restarts.
func sidecarOf(head *corev1.Pod, restart bool) (sub jobplan.Submitter, finished bool) {
	sub.Found = true
	for _, c := range head.Status.ContainerStatuses {
		if c.Name != rayv1.ContainerJobSubmitter {
			continue
		}
		if end := lastEnd(&c, restart, ended(head)); end != nil {
			finished = true
			if sub.Failed = end.ExitCode != 0; sub.Failed {
				sub.Message = fmt.Sprintf("container %s ended with exit code %d: %s", c.Name, end.ExitCode, end.Reason)
			}
		}
	}
	if !finished && ended(head) { // evicted: the state of its containers is unknown
		sub.Failed = true
		sub.Message = fmt.Sprintf("head Pod %s ended: %s %s", head.Name, head.Status.Reason, head.Status.Message)
	}
	return sub, finished || ended(head)
}

// lastEnd returns how the container ended for good; nil if it runs, or is started again after a failure.
func lastEnd(c *corev1.ContainerStatus, restart, podEnded bool) *corev1.ContainerStateTerminated {
	end := c.State.Terminated
	if restart && end == nil && c.State.Waiting != nil { // between two runs
		end = c.LastTerminationState.Terminated
	}
	if restart && !podEnded && c.RestartCount < maxRestarts && end != nil && (end.ExitCode != 0 || c.State.Terminated == nil) {
		return nil
	}
	return end
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}
