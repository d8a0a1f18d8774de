package rayjob

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// scope is the state of one reconcile.
type scope struct {
	// job is a copy. Its metadata follows writes of this reconcile; its status stays as stored until persist.
	job *rayv1.RayJob
	// now is the start of the reconcile.
	now time.Time
	// in is the input of the decision. Set by the observing steps.
	in jobplan.Input
	// cluster is the RayCluster of the attempt; nil if there is none. It belongs to the cache. Set by observeCluster.
	cluster *rayv1.RayCluster
	// target is the poller's key of the Ray job; nil if there is none. Set by observeRay.
	target *target
	// answer is the last answer of the dashboard. Set by observeRay.
	answer poll.Answer[answer]
	// history is the state of the record of the attempt. Set by observeHistory.
	history archive.Outcome
	// plan is the decision. Set by plan.
	plan jobplan.Plan
	// held means that an action was not completed, so the next state is not entered. Set by hold.
	held bool
	// problem is the user-visible reason; empty if it is temporary. Set by hold.
	problem string
	// warnings are problems that hold nothing, such as a rejected Service.
	warnings []string
	// err is the first error of an action, which ends the list of actions.
	err error
	// lookAgain is the time until the next reconcile without an event; 0 means never. Set by after.
	lookAgain time.Duration
	// events are sent after the status is saved.
	events []report.Event
}

// after requests another reconcile after d; 0 requests none.
func (s *scope) after(d time.Duration) { s.lookAgain = reconcile.Sooner(s.lookAgain, d) }

// hold keeps the RayJob in its state. The caller must ensure another reconcile.
func (s *scope) hold(problem string) {
	s.held = true
	if s.problem == "" {
		s.problem = problem
	}
}

// holdFor keeps the RayJob in its state because of a problem; empty for none.
func (s *scope) holdFor(problem string) {
	if problem != "" {
		s.hold(problem)
	}
}

// mode returns the submission mode. Objects that bypassed the API server may lack the default.
func (s *scope) mode() rayv1.JobSubmissionMode {
	if m := s.job.Spec.SubmissionMode; m != "" {
		return m
	}
	return rayv1.K8sJobMode
}

func (s *scope) selects() bool { return len(s.job.Spec.ClusterSelector) > 0 }

func (s *scope) state() rayv1.JobDeploymentStatus { return s.job.Status.JobDeploymentStatus }

// asks reports whether the plan contains one of the actions.
func (s *scope) asks(actions ...jobplan.Action) bool {
	return slices.ContainsFunc(actions, func(a jobplan.Action) bool { return slices.Contains(s.plan.Actions, a) })
}

// fail records an error of an action; nil records none.
func (s *scope) fail(err error) { s.err = cmp.Or(s.err, err) }

// recordResult records the result of a write, including its events, and returns the user-visible reason why it failed; empty for none.
func (s *scope) recordResult(said *report.Once, what string, r children.Result) (problem string) {
	s.after(r.After)
	s.fail(r.Err)
	s.events = append(s.events, r.Events(what, func(text string) bool { return said.News(s.job.UID, what, text) })...)
	if r.Failure != nil {
		problem = r.Failure.Message
	}
	return problem
}

// warn records a problem that holds nothing; empty for none.
func (s *scope) warn(problem string) {
	if problem != "" {
		s.warnings = append(s.warnings, problem)
	}
}

// submits returns the id of the Ray job that a Job submits, or "" if it has none.
func submits(j *batchv1.Job) string {
	if containers := j.Spec.Template.Spec.Containers; len(containers) > 0 {
		for _, e := range containers[0].Env {
			if e.Name == "RAY_JOB_SUBMISSION_ID" {
				return e.Value
			}
		}
	}
	return ""
}
