package resource

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/validation"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// labelQueue is Kueue's label of what waits in a queue.
const labelQueue = "kueue.x-k8s.io/queue-name"

// jobEvidence is what a diagnosis of a RayJob is made of.
type jobEvidence struct {
	*evidence
	job *rayv1.RayJob
}

// DiagnoseJob says whether a RayJob runs or has ended well, and why not: the most decisive finding first. clusters are asked about the cluster that
// it waits for or runs on.
func (r *Resource) DiagnoseJob(ctx context.Context, req target, clusters *Resource) (ready bool, findings []*raygatev2.Finding, err error) {
	item, typed, err := r.subject(ctx, req)
	if err != nil {
		return false, nil, err
	}
	job, cluster := typed.(*rayv1.RayJob), &rayv1.RayCluster{}
	if job.Spec.RayClusterSpec != nil {
		cluster.Spec = *job.Spec.RayClusterSpec
	}
	e := &jobEvidence{job: job}
	if e.evidence, err = r.gather(ctx, item, cluster); err != nil {
		return false, nil, err
	}
	state := job.Status.JobDeploymentStatus
	e.lookAtIntent()
	e.lookAtRules(r)
	if name := job.Status.RayClusterName; name == "" && !state.IsTerminal() {
		e.lookAtDevices(job) // else its cluster is asked
	}
	e.lookAtEnd()
	e.lookAtPods(job.Status.Reason == rayv1.AppFailed)
	e.lookAtEvents()
	if name := job.Status.RayClusterName; name != "" && !state.IsTerminal() {
		if err := e.lookAtCluster(ctx, clusters, name); err != nil {
			return false, nil, err
		}
	}
	e.lookAtProgress()
	runs := state == rayv1.JobDeploymentStatusRunning && job.Status.JobStatus != rayv1.JobStatusNew
	return runs || state == rayv1.JobDeploymentStatusComplete, e.findings, nil
}

// addSelf adds a finding about the object itself.
func (e *evidence) addSelf(severity, reason, remedy, format string, args ...any) {
	e.add(severity, reason, e.item.Kind, e.item.Name, remedy, format, args...)
}

func (e *evidence) lookAtDeletion() {
	if e.item.DeletionTimestamp != nil {
		e.addSelf(severityInfo, "Deleting", "wait for those who hold the finalizers, or see their logs", "it is being deleted; held by finalizers %v", e.item.Finalizers)
	}
}

// lookAtIntent finds what is as somebody wanted it.
func (e *jobEvidence) lookAtIntent() {
	e.lookAtDeletion()
	if by := e.job.Spec.ManagedBy; by != nil && *by != rayv1.ManagedByKubeRayOperator {
		e.addSelf(severityInfo, "ManagedElsewhere", "see that controller", "the job is managed by %s, not by the operator here", *by)
	}
	if queue := e.item.Labels[labelQueue]; e.job.Spec.Suspend && queue != "" {
		e.addSelf(severityInfo, "Queued", "see the Workload that Kueue has made for the job", "Kueue has not admitted the job to queue %s, and keeps it suspended", queue)
	} else if e.job.Spec.Suspend {
		e.addSelf(severityInfo, "Suspended", "resume it", "spec.suspend is true: the job does not run")
	}
}

// lookAtRules finds what the operator refuses.
func (e *jobEvidence) lookAtRules(r *Resource) {
	if st := e.job.Status; st.JobDeploymentStatus.IsTerminal() {
		return
	} else if errs := r.Checks.Create(e.job, r.Validation).Errors; len(errs) > 0 {
		e.addSelf(severityError, "InvalidSpec", "correct these fields", "%s", validation.Summary(errs))
	} else if st.JobDeploymentStatus == rayv1.JobDeploymentStatusValidationFailed {
		e.addSelf(severityError, "InvalidSpec", "correct what the message names", "%s", st.Message)
	}
}

// failures are the reasons of the operator, with what they mean here.
var failures = map[rayv1.JobFailedReason]struct{ reason, remedy string }{
	rayv1.AppFailed:                                        {"EntrypointFailed", "see the log of the job"},
	rayv1.SubmissionFailed:                                 {"SubmissionFailed", "see the log of the submitter"},
	rayv1.DeadlineExceeded:                                 {"DeadlineExceeded", "allow more activeDeadlineSeconds, or make the job faster"},
	rayv1.PreRunningDeadlineExceeded:                       {"DeadlineExceeded", "allow more preRunningDeadlineSeconds, or see why its cluster was not ready"},
	rayv1.JobStatusCheckTimeoutExceeded:                    {"DashboardUnreachable", "see the head Pod and its Service"},
	rayv1.JobDeploymentStatusTransitionGracePeriodExceeded: {"SubmitterLate", "see the log of the submitter"},
}

// lookAtEnd finds how the job, or its last attempt, ended.
func (e *jobEvidence) lookAtEnd() {
	st := &e.job.Status
	known, ok := failures[st.Reason]
	switch {
	case st.JobDeploymentStatus == rayv1.JobDeploymentStatusComplete && st.JobStatus == rayv1.JobStatusStopped:
		e.addSelf(severityInfo, "Stopped", "", "the job was stopped")
	case st.JobDeploymentStatus == rayv1.JobDeploymentStatusFailed && !ok:
		e.addSelf(severityError, "Failed", "", "%s %s", st.Reason, st.Message)
	case st.JobDeploymentStatus == rayv1.JobDeploymentStatusFailed:
		e.addSelf(severityError, known.reason, known.remedy, "%s", st.Message)
	case st.JobDeploymentStatus == rayv1.JobDeploymentStatusRetrying:
		e.addSelf(severityWarning, "Retrying", known.remedy, "an attempt failed (%s), and the next one begins when its cluster is gone: %s", st.Reason, st.Message)
	}
}

// lookAtProgress finds what the job waits for.
func (e *jobEvidence) lookAtProgress() {
	st := &e.job.Status
	switch st.JobDeploymentStatus {
	case rayv1.JobDeploymentStatusNew:
		if len(e.findings) == 0 {
			e.addSelf(severityWarning, "NotObserved", "see whether the operator runs and watches this namespace", "the operator has not begun with the job")
		}
	case rayv1.JobDeploymentStatusInitializing:
		e.addSelf(severityInfo, "WaitingForCluster", "see what keeps its cluster from being ready", "the job waits for RayCluster %s to be ready %s", st.RayClusterName, st.Message)
	case rayv1.JobDeploymentStatusWaiting:
		e.addSelf(severityInfo, "WaitingForJob", "submit a job to the cluster and put its id into spec.jobId", "the job is interactive, and spec.jobId is empty")
	case rayv1.JobDeploymentStatusRunning:
		if st.JobStatusCheckFailureStartTime != nil {
			e.addSelf(severityWarning, "DashboardUnreachable", "see the head Pod and its Service", "the dashboard has not answered since %s %s", st.JobStatusCheckFailureStartTime.UTC().Format(time.RFC3339), st.Message)
		} else if st.JobStatus == rayv1.JobStatusNew {
			e.addSelf(severityInfo, "NotSubmitted", "see the log of the submitter", "Ray does not know the job yet")
		}
	default:
	}
}

// lookAtPods leaves out a submitter that failed because the job did.
func (e *jobEvidence) lookAtPods(jobFailed bool) {
	if e.job.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusComplete {
		return
	}
	if jobFailed {
		e.pods = slices.DeleteFunc(e.pods, func(p corev1.Pod) bool { return submits(&p, "") })
	}
	e.evidence.lookAtPods()
}

// submits tells whether a container, or without a name a Pod, is there to submit a job.
func submits(p *corev1.Pod, container string) bool {
	return container == rayv1.ContainerJobSubmitter || p.Labels[rayv1.LabelOriginatedFromCRD] == "RayJob" && p.Labels[rayv1.LabelNodeType] == ""
}

// lookAtCluster adds what is wrong with a cluster of the object.
func (e *evidence) lookAtCluster(ctx context.Context, clusters *Resource, name string) error {
	_, found, err := clusters.diagnose(ctx, &raygatev2.GetClusterRequest{Namespace: e.item.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		e.add(severityWarning, "ClusterMissing", clusterKind, name, "see the events of the object", "there is no RayCluster %s", name)
		return nil
	case apierrors.IsForbidden(err):
		clusters.Warn(ctx, fmt.Sprintf("RayCluster %s is left out: %v", name, err))
		return nil
	case err != nil:
		return err
	}
	for _, f := range found {
		e.add(f.GetSeverity(), f.GetReason(), f.GetObject().GetKind(), f.GetObject().GetName(), f.GetRemedy(), "%s", f.GetMessage())
	}
	return nil
}

// late is how long after its time a run may be made.
const late = 2 * time.Minute

// DiagnoseCronJob says whether a RayCronJob will make RayJobs, and why not. jobs are asked about the last one.
func (r *Resource) DiagnoseCronJob(ctx context.Context, req target, jobs *Resource) (ready bool, findings []*raygatev2.Finding, err error) {
	item, typed, err := r.subject(ctx, req)
	if err != nil {
		return false, nil, err
	}
	cj := typed.(*rayv1.RayCronJob)
	e, err := r.gather(ctx, item, &rayv1.RayCluster{})
	if err != nil {
		return false, nil, err
	}
	e.lookAtDeletion()
	if cj.Spec.Suspend != nil && *cj.Spec.Suspend {
		e.addSelf(severityInfo, "Suspended", "resume it", "spec.suspend is true: no RayJobs are made")
	}
	if errs := r.Checks.Create(cj, r.Validation).Errors; len(errs) > 0 {
		e.addSelf(severityError, "InvalidSpec", "correct these fields", "%s", validation.Summary(errs))
	}
	if len(e.findings) == 0 {
		e.lookAtSchedule(cj)
	}
	ready = len(e.findings) == 0
	e.lookAtDevices(cj)
	e.lookAtEvents()
	return ready, e.findings, e.lookAtLastRun(ctx, jobs)
}

// lookAtSchedule finds a run that is due and has not been made. The zone that counts where none is given is the operator's.
func (e *evidence) lookAtSchedule(cj *rayv1.RayCronJob) {
	zone, base := time.UTC, cj.CreationTimestamp.Time
	if cj.Spec.TimeZone != nil {
		if named, err := time.LoadLocation(*cj.Spec.TimeZone); err == nil {
			zone = named
		}
	}
	if last := cj.Status.LastScheduleTime; last != nil {
		base = last.Time
	}
	schedule, err := cron.ParseStandard(cj.Spec.Schedule) // the rules have read it before
	if err != nil {
		return
	}
	if due := schedule.Next(base.In(zone)); !due.IsZero() && (clock.RealClock{}).Since(due) > late {
		e.addSelf(severityWarning, "NotScheduled", "see whether the operator runs, watches this namespace and has its feature gate RayCronJob on", "the run of %s has not been made", due.UTC().Format(time.RFC3339))
	}
}

// lookAtLastRun finds that the newest RayJob failed.
func (e *evidence) lookAtLastRun(ctx context.Context, jobs *Resource) error {
	err := jobs.authorize(ctx, "list", e.item.Namespace, "")
	if apierrors.IsForbidden(err) {
		jobs.Warn(ctx, fmt.Sprintf("RayJobs are left out: %v", err))
		return nil
	}
	if err != nil {
		return err
	}
	st, err := jobs.In(e.item.Namespace)
	if err != nil {
		return err
	}
	order, _ := store.ParseOrder("createTime desc")
	page, err := st.List(ctx, store.ListOptions{
		Selection: store.Selection{Namespace: e.item.Namespace, Selector: labels.SelectorFromSet(labels.Set{rayv1.LabelCronJobName: e.item.Name})},
		PageSize:  1, OrderBy: order,
	})
	if err != nil {
		return err
	}
	for _, run := range page.Items {
		if run.At("status.jobDeploymentStatus").Str == string(rayv1.JobDeploymentStatusFailed) {
			e.add(severityWarning, "LastRunFailed", "RayJob", run.Name, "diagnose that RayJob", "%s %s", run.At("status.reason").Str, run.At("status.message").Str)
		}
	}
	return nil
}
