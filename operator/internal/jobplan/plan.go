package jobplan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
)

// Action is an idempotent action for a RayJob.
type Action string

// Actions.
const (
	// EnsureFinalizer adds the finalizer to the RayJob.
	EnsureFinalizer Action = "EnsureFinalizer"
	// Reserve prepares the workload in the batch scheduler before its cluster is created.
	Reserve Action = "Reserve"
	// EnsureCluster creates the RayCluster named in the status.
	EnsureCluster Action = "EnsureCluster"
	// EnsureHeadService creates or redirects the head Service of the RayJob.
	EnsureHeadService Action = "EnsureHeadService"
	// EnsureSubmitter creates the Kubernetes Job that submits.
	EnsureSubmitter Action = "EnsureSubmitter"
	// Poll starts to poll the dashboard about the job; Refresh polls at once.
	Poll    Action = "Poll"
	Refresh Action = "Refresh"
	// Submit submits the job over HTTP, once until an answer, and again after a temporary failure.
	Submit Action = "Submit"
	// Stop requests that Ray stops the job, and again after a failure.
	Stop Action = "Stop"
	// DeleteCluster deletes the RayCluster; DeleteSubmitter deletes the Kubernetes Job with its Pods.
	DeleteCluster   Action = "DeleteCluster"
	DeleteSubmitter Action = "DeleteSubmitter"
	// KillSubmitter deletes the Kubernetes Job, and leaves its Pods no time to submit anything.
	KillSubmitter Action = "KillSubmitter"
	// SuspendWorkers suspends all worker groups of the RayCluster.
	SuspendWorkers Action = "SuspendWorkers"
	// DeleteJob deletes the RayJob.
	DeleteJob Action = "DeleteJob"
	// Release cleans up in the batch scheduler. Its failure does not block a terminal state.
	Release Action = "Release"
	// KeepHistory stores the record of the attempt, and again after a failure.
	KeepHistory Action = "KeepHistory"
)

// Plan is the result of a decision.
type Plan struct {
	// Rule is the name of the rule that decided.
	Rule string
	// Actions are run in this order before the status is saved.
	Actions []Action
	// Status is the new status. Its copy of the cluster's status is cleared if the attempt ends, and otherwise stays.
	Status rayv1.RayJobStatus
	// After is the time until the next reconcile without an event; 0 means none.
	After time.Duration
	// Waits describes what the RayJob waits for; empty if nothing may take long.
	Waits string
}

// Next returns the plan for a RayJob that is not being deleted; see Finalize for one that is.
func Next(in Input) Plan {
	s := newStep(in)
	rules, known := table[s.status.JobDeploymentStatus]
	if !known { // from a newer operator, or set by hand
		rules = table[newJob]
	}
	for _, r := range rules {
		if r.when(s) {
			s.plan.Rule = r.name
			s.status.JobDeploymentStatus = r.to
			if r.do != nil {
				r.do(s)
			}
			return s.plan
		}
	}
	return s.plan
}

// rule is one line of the life cycle.
type rule struct {
	name string
	// to is the next state. do may keep the old state until something is done, and may turn a failure into a retry.
	to   rayv1.JobDeploymentStatus
	when func(*step) bool
	do   func(*step)
}

// step is the state of one decision.
type step struct {
	in     Input
	spec   *rayv1.RayJobSpec
	status *rayv1.RayJobStatus
	plan   Plan
}

func newStep(in Input) *step {
	s := &step{in: in, spec: &in.Job.Spec}
	in.Job.Status.DeepCopyInto(&s.plan.Status)
	s.status = &s.plan.Status
	if s.tracked() || s.status.JobDeploymentStatus == initializing {
		s.record()
	}
	return s
}

func (s *step) act(a ...Action) { s.plan.Actions = append(s.plan.Actions, a...) }

// stay keeps the current state of the RayJob.
func (s *step) stay() { s.status.JobDeploymentStatus = s.in.Job.Status.JobDeploymentStatus }

func (s *step) selects() bool { return len(s.spec.ClusterSelector) > 0 }

// mode reports whether m is the submission mode. An empty mode means the default; objects that bypassed the API server have it.
func (s *step) mode(m rayv1.JobSubmissionMode) bool {
	return s.spec.SubmissionMode == m || s.spec.SubmissionMode == "" && m == rayv1.K8sJobMode
}

// byOperator reports whether the operator submits the job by an HTTP call.
func (s *step) byOperator() bool { return s.mode(rayv1.HTTPMode) }

// seen reports whether Ray has had the job and the job has not ended.
func (s *step) seen() bool {
	return s.status.JobStatus != rayv1.JobStatusNew && !s.status.JobStatus.IsTerminal()
}

func (s *step) ended() bool { return s.status.JobStatus.IsTerminal() }

func always(*step) bool { return true }

func invalid(s *step) bool { return s.in.Invalid != "" }

func toInvalid(s *step) {
	s.status.Reason, s.status.Message = rayv1.ValidationFailed, clip(s.in.Invalid)
	if s.status.EndTime == nil && s.continues() {
		s.act(Poll) // the job continues, and so do its deadline and its result
	}
	if s.ended() {
		s.lookAt(s.transitionEnd())
		s.lookAfter(s.in.Ray.FailingSince, logLost)
	}
	s.lookAt(s.activeDeadline())
}

func suspendWanted(s *step) bool { return s.spec.Suspend }

// deadline returns the end of a limit that counts from the start of the attempt; zero without one.
func (s *step) deadline(seconds *int32) time.Time {
	if seconds == nil || *seconds <= 0 || s.status.StartTime == nil {
		return time.Time{}
	}
	return s.status.StartTime.Add(time.Duration(*seconds) * time.Second)
}

func (s *step) activeDeadline() time.Time { return s.deadline(s.spec.ActiveDeadlineSeconds) }

func (s *step) preRunningDeadline() time.Time { return s.deadline(s.spec.PreRunningDeadlineSeconds) }

func (s *step) now() *metav1.Time { return &metav1.Time{Time: s.in.Now} }

// maxMessage limits the length of a stored message, in bytes. Ray adds up to 20,000 characters of log.
const maxMessage = 8 << 10

func clip(text string) string { return conditions.ClipMiddle(text, "\n[...]\n", maxMessage) }
