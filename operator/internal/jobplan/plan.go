package jobplan

import (
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Action is something to do for a RayJob. Each may be asked for again after it was done.
type Action string

// The actions.
const (
	// EnsureFinalizer puts the finalizer on the RayJob.
	EnsureFinalizer Action = "EnsureFinalizer"
	// Reserve has the batch scheduler prepare for the workload, before its cluster is created.
	Reserve Action = "Reserve"
	// EnsureCluster creates the RayCluster of the status.
	EnsureCluster Action = "EnsureCluster"
	// EnsureHeadService creates or redirects the head Service of the RayJob.
	EnsureHeadService Action = "EnsureHeadService"
	// EnsureSubmitter creates the Kubernetes Job that submits.
	EnsureSubmitter Action = "EnsureSubmitter"
	// Poll has the dashboard asked about the job from now on, and Refresh at once.
	Poll    Action = "Poll"
	Refresh Action = "Refresh"
	// Submit submits the job over HTTP, once until its answer, and again after a failure that may pass.
	Submit Action = "Submit"
	// Stop asks Ray to stop the job, and again after a failure.
	Stop Action = "Stop"
	// DeleteCluster deletes the RayCluster, and DeleteSubmitter the Kubernetes Job with its Pods.
	DeleteCluster   Action = "DeleteCluster"
	DeleteSubmitter Action = "DeleteSubmitter"
	// SuspendWorkers suspends all worker groups of the RayCluster.
	SuspendWorkers Action = "SuspendWorkers"
	// DeleteJob deletes the RayJob.
	DeleteJob Action = "DeleteJob"
	// Release has the batch scheduler clean up. In a state at the end its failure is no reason to stop.
	Release Action = "Release"
)

// Plan is what happens next.
type Plan struct {
	// Rule names the rule that decided.
	Rule string
	// Actions in the order in which to do them, before the status is saved.
	Actions []Action
	// Status is the new status. The copy of the cluster's status in it is cleared where the attempt ends and otherwise that
	// of the RayJob.
	Status rayv1.RayJobStatus
	// After is when to look again even if nothing changes. 0 means not at all.
	After time.Duration
	// Waits says what the RayJob waits for; empty for nothing that may take long.
	Waits string
}

// Next decides what happens next to a RayJob that is not being deleted; see Finalize for one that is.
func Next(in Input) Plan {
	s := newStep(in)
	rules, known := table[s.status.JobDeploymentStatus]
	if !known { // of a newer operator, or made by hand
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
	// to is the next state; do may keep the old one until something is done, and turns a failure into a retry.
	to   rayv1.JobDeploymentStatus
	when func(*step) bool
	do   func(*step)
}

// step is one decision in the making.
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

// stay keeps the state that the RayJob is in.
func (s *step) stay() { s.status.JobDeploymentStatus = s.in.Job.Status.JobDeploymentStatus }

func (s *step) selects() bool { return len(s.spec.ClusterSelector) > 0 }

// mode takes none for the default, which objects have that never went through the API server.
func (s *step) mode(m rayv1.JobSubmissionMode) bool {
	return s.spec.SubmissionMode == m || s.spec.SubmissionMode == "" && m == rayv1.K8sJobMode
}

// hasSubmitter reports whether something of ours in Kubernetes submits and follows the job.
func (s *step) hasSubmitter() bool {
	return s.mode(rayv1.K8sJobMode) || s.mode(rayv1.SidecarMode)
}

// seen reports whether Ray was ever known to have the job, and the job had not ended.
func (s *step) seen() bool {
	return s.status.JobStatus != rayv1.JobStatusNew && !s.status.JobStatus.IsTerminal()
}

func (s *step) ended() bool { return s.status.JobStatus.IsTerminal() }

func always(*step) bool { return true }

func invalid(s *step) bool { return s.in.Invalid != "" }

func toInvalid(s *step) {
	s.status.Reason, s.status.Message = rayv1.ValidationFailed, clip(s.in.Invalid)
	if wasRunning(s) && s.status.EndTime == nil {
		s.act(Poll) // the job goes on, and so do its deadline and its result
	}
	s.lookAt(s.activeDeadline())
}

func suspendWanted(s *step) bool { return s.spec.Suspend }

// deadline is the end of a limit that counts from the start of the attempt; zero without one.
func (s *step) deadline(seconds *int32) time.Time {
	if seconds == nil || *seconds <= 0 || s.status.StartTime == nil {
		return time.Time{}
	}
	return s.status.StartTime.Add(time.Duration(*seconds) * time.Second)
}

func (s *step) activeDeadline() time.Time { return s.deadline(s.spec.ActiveDeadlineSeconds) }

func (s *step) preRunningDeadline() time.Time { return s.deadline(s.spec.PreRunningDeadlineSeconds) }

func (s *step) now() *metav1.Time { return &metav1.Time{Time: s.in.Now} }

// maxMessage is what is kept of a message, in bytes. Ray adds up to 20,000 characters of log.
const maxMessage = 8 << 10

// clip keeps the beginning, which says what happened, and the end of the log.
func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	const gap = "\n[...]\n"
	head, tail := maxMessage/4, len(text)-(maxMessage-maxMessage/4-len(gap))
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + gap + text[tail:]
}
