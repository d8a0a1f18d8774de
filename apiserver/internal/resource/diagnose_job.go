package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// jobEvidence is the input of a diagnosis of a RayJob.
type jobEvidence struct {
	*evidence
	job *rayv1.RayJob
}

// DiagnoseJob is the Diagnosis of a RayJob, which is ready if it runs or has succeeded. It includes the cluster that the job waits for or runs
// on.
func DiagnoseJob(ctx context.Context, self *evidence) (ready bool, err error) {
	job := self.object.(*rayv1.RayJob)
	self.cluster.Spec = ptr.Deref(job.Spec.RayClusterSpec, rayv1.RayClusterSpec{})
	if err := self.gather(ctx); err != nil {
		return false, err
	}
	e, state := &jobEvidence{self, job}, job.Status.JobDeploymentStatus
	e.checkIntent("job", "the job does not run")
	e.checkRules()
	if name := job.Status.RayClusterName; name == "" && !state.IsTerminal() {
		e.checkDevices(job) // else its cluster is asked
	}
	e.checkEnd()
	e.checkPods(job.Status.Reason == rayv1.AppFailed)
	e.checkEvents()
	if name := job.Status.RayClusterName; name != "" && !state.IsTerminal() && !e.failed() {
		if err := e.checkCluster(ctx, name); err != nil {
			return false, err
		}
	}
	e.checkProgress()
	e.checkAttempts()
	return state == rayv1.JobDeploymentStatusComplete || state == rayv1.JobDeploymentStatusRunning && job.Status.JobStatus != rayv1.JobStatusNew, nil
}

func (e *jobEvidence) checkRules() {
	st := &e.job.Status
	if !st.JobDeploymentStatus.IsTerminal() && !e.evidence.checkRules() && st.JobDeploymentStatus == rayv1.JobDeploymentStatusValidationFailed {
		e.addSelf(severityError, "InvalidSpec", "correct what the message names", "%s", st.Message)
	}
}

// failed reports whether the RayJob failed or, in a record, the attempt, even if it was to be tried again.
func (e *jobEvidence) failed() bool {
	state := e.job.Status.JobDeploymentStatus
	return state == rayv1.JobDeploymentStatusFailed || state == rayv1.JobDeploymentStatusRetrying && e.recorded != nil
}

// failures maps the operator's reasons to those of findings.
var failures = map[rayv1.JobFailedReason]struct{ reason, remedy string }{
	rayv1.AppFailed:                                        {"EntrypointFailed", "see the log of the job"},
	rayv1.SubmissionFailed:                                 {"SubmissionFailed", "see the log of the submitter"},
	rayv1.DeadlineExceeded:                                 {"DeadlineExceeded", "allow more activeDeadlineSeconds, or make the job faster"},
	rayv1.PreRunningDeadlineExceeded:                       {"DeadlineExceeded", "allow more preRunningDeadlineSeconds, or see why its cluster was not ready"},
	rayv1.JobStatusCheckTimeoutExceeded:                    {"DashboardUnreachable", "see the head Pod and its Service"},
	rayv1.JobDeploymentStatusTransitionGracePeriodExceeded: {"SubmitterLate", "see the log of the submitter"},
}

// checkEnd finds how the job, or its last attempt, ended.
func (e *jobEvidence) checkEnd() {
	st := &e.job.Status
	known, ok := failures[st.Reason]
	switch {
	case st.JobDeploymentStatus == rayv1.JobDeploymentStatusComplete && st.JobStatus == rayv1.JobStatusStopped:
		e.addSelf(severityInfo, "Stopped", "", "the job was stopped")
	case e.failed() && !ok:
		e.addSelf(severityError, "Failed", "", "%s %s", st.Reason, st.Message)
	case e.failed():
		e.addSelf(severityError, known.reason, known.remedy, "%s", st.Message)
	case st.JobDeploymentStatus == rayv1.JobDeploymentStatusRetrying:
		e.addSelf(severityWarning, "Retrying", known.remedy, "an attempt failed (%s), and the next one begins when its cluster is gone: %s", st.Reason, st.Message)
	}
}

// checkAttempts reports the attempts before the current one.
func (e *jobEvidence) checkAttempts() {
	var list []string
	for _, a := range e.job.Status.PreviousAttempts {
		list = append(list, fmt.Sprintf("%d on RayCluster %s at %s (%s)", a.Attempt, a.RayClusterName, ptr.Deref(a.EndTime, metav1.Time{}).UTC().Format(time.RFC3339), a.Reason))
	}
	if len(list) > 0 {
		e.addSelf(severityInfo, "PreviousAttempts", "see their logs in the history", "earlier attempts failed: %s", strings.Join(list, ", "))
	}
}

// checkProgress reports what the job waits for.
func (e *jobEvidence) checkProgress() {
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

// checkPods leaves out a submitter that failed because the job did.
func (e *jobEvidence) checkPods(jobFailed bool) {
	if e.job.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusComplete {
		return
	}
	if jobFailed {
		e.pods = slices.DeleteFunc(e.pods, func(p corev1.Pod) bool { return submits(&p, "") })
	}
	e.evidence.checkPods()
}

// submits reports whether a container, or without a name a Pod, submits a job.
func submits(p *corev1.Pod, container string) bool {
	return container == rayv1.ContainerJobSubmitter || p.Labels[rayv1.LabelOriginatedFromCRD] == "RayJob" && p.Labels[rayv1.LabelNodeType] == ""
}

// checkCluster adds the problems of a cluster of the object.
func (e *evidence) checkCluster(ctx context.Context, name string) error {
	_, found, err := e.Dependents.diagnosis(ctx, &raygatev2.GetClusterRequest{Namespace: e.item.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		e.about(clusterKind, name).add(severityWarning, "ClusterMissing", "see the events of the object", "there is no RayCluster %s", name)
		return nil
	case apierrors.IsForbidden(err):
		e.Warn(ctx, fmt.Sprintf("RayCluster %s is left out: %v", name, err))
		return nil
	case err != nil:
		return err
	}
	for _, f := range found {
		e.about(f.GetObject().GetKind(), f.GetObject().GetName()).add(f.GetSeverity(), f.GetReason(), f.GetRemedy(), "%s", f.GetMessage())
	}
	return nil
}

// late is how long after its scheduled time a run may be created.
const late = 2 * time.Minute

// DiagnoseCronJob is the Diagnosis of a RayCronJob, which is ready if it will create RayJobs.
func DiagnoseCronJob(ctx context.Context, e *evidence) (ready bool, err error) {
	if err := e.gather(ctx); err != nil {
		return false, err
	}
	cj := e.object.(*rayv1.RayCronJob)
	e.checkIntent("cron job", "no RayJobs are made")
	e.checkRules()
	if len(e.findings) == 0 {
		e.checkSchedule(cj)
	}
	ready = len(e.findings) == 0
	e.checkDevices(cj)
	e.checkEvents()
	return ready, e.checkLastRun(ctx)
}

// checkSchedule reports a due run that was not created. Without a time zone, it assumes that the operator's is UTC.
func (e *evidence) checkSchedule(cj *rayv1.RayCronJob) {
	zone, base := time.UTC, cj.CreationTimestamp.Time
	if cj.Spec.TimeZone != nil {
		if named, err := time.LoadLocation(*cj.Spec.TimeZone); err == nil {
			zone = named
		}
	}
	if last := cj.Status.LastScheduleTime; last != nil {
		base = last.Time
	}
	schedule, err := cron.ParseStandard(cj.Spec.Schedule) // the rules have checked it
	if err != nil {
		return
	}
	if due := schedule.Next(base.In(zone)); !due.IsZero() && (clock.RealClock{}).Since(due) > late {
		e.addSelf(severityWarning, "NotScheduled", "see whether the operator runs, watches this namespace and has its feature gate RayCronJob on", "the run of %s has not been made", due.UTC().Format(time.RFC3339))
	}
}

// checkLastRun finds that the newest RayJob failed.
func (e *evidence) checkLastRun(ctx context.Context) error {
	order, _ := store.ParseOrder("createTime desc")
	page, err := e.Dependents.Page(ctx, store.ListOptions{
		Selection: store.Selection{Namespace: e.item.Namespace, Selector: labels.SelectorFromSet(labels.Set{rayv1.LabelCronJobName: e.item.Name})},
		PageSize:  1, OrderBy: order,
	})
	if apierrors.IsForbidden(err) {
		e.Warn(ctx, fmt.Sprintf("RayJobs are left out: %v", err))
		return nil
	}
	if err != nil {
		return err
	}
	for _, run := range page.Items {
		if run.At("status.jobDeploymentStatus").Str == string(rayv1.JobDeploymentStatusFailed) {
			e.about("RayJob", run.Name).add(severityWarning, "LastRunFailed", "diagnose that RayJob", "%s %s", run.At("status.reason").Str, run.At("status.message").Str)
		}
	}
	return nil
}
