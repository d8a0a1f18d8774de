package rayjob

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// scope is what one reconcile has read and decided.
type scope struct {
	// job is a copy. Its metadata follows what this run writes; its status stays as stored until persist.
	job *rayv1.RayJob
	// now is when the run began.
	now time.Time
	// in is what the decision depends on. Filled in by the steps that observe.
	in jobplan.Input
	// cluster is the RayCluster of the attempt, nil if there is none. It belongs to the cache. Set by observeCluster.
	cluster *rayv1.RayCluster
	// target is what the poller knows the Ray job by; nil while there is none. Set by observeRay.
	target *target
	// answer is what the dashboard said last. Set by observeRay.
	answer poll.Answer[answer]
	// plan is what to do. Set by plan.
	plan jobplan.Plan
	// held says that an action was not carried out, so that the next state is not entered. Set by hold.
	held bool
	// problem says why, for the user; empty for what passes by itself. Set by hold.
	problem string
	// warnings are texts of problems that are not worth holding anything, such as a Service that is refused.
	warnings []string
	// lookAgain is how long it takes until the next look; zero for never. Set by after.
	lookAgain time.Duration
	// events are sent when the status is saved.
	events []report.Event
}

// after asks for another look; zero asks for none.
func (s *scope) after(d time.Duration) { s.lookAgain = reconcile.Sooner(s.lookAgain, d) }

// hold keeps the RayJob in its state. Whoever calls it sees to it that there is another look.
func (s *scope) hold(problem string) {
	s.held = true
	if s.problem == "" {
		s.problem = problem
	}
}

// mode is the submission mode; objects that never went through the API server may lack the default.
func (s *scope) mode() rayv1.JobSubmissionMode {
	if m := s.job.Spec.SubmissionMode; m != "" {
		return m
	}
	return rayv1.K8sJobMode
}

func (s *scope) selects() bool { return len(s.job.Spec.ClusterSelector) > 0 }

func (s *scope) state() rayv1.JobDeploymentStatus { return s.job.Status.JobDeploymentStatus }

// asks reports whether the plan asks for an action.
func (s *scope) asks(actions ...jobplan.Action) bool {
	return slices.ContainsFunc(actions, func(a jobplan.Action) bool { return slices.Contains(s.plan.Actions, a) })
}

// took takes over what became of a write, such as events about it, and reports whether that is as wanted.
func (s *scope) took(said *report.Once, what string, r children.Result) bool {
	s.after(r.After)
	s.events = append(s.events, r.Events(what, func(text string) bool { return said.News(s.job.UID, what, text) })...)
	return r.Failure == nil
}

// submits is the id of the Ray job that a Job submits, empty if it does not say.
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
