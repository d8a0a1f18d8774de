package rayjob

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/job"
	"github.com/raygate/raygate/operator/internal/build/rayjob"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/report"
)

// Actions of events.
const (
	actionSchedule = "Schedule"
	actionCleanup  = "Cleanup"
)

// workload returns the future cluster of a RayJob and its submitter in the form for the batch scheduler; nil if the scheduler needs nothing.
// Clusters that the user selects are scheduled already.
func (r *Reconciler) workload(j *rayv1.RayJob) *gang.Workload {
	if r.config.Scheduler == nil || len(j.Spec.ClusterSelector) > 0 || j.Spec.RayClusterSpec == nil {
		return nil
	}
	rc, err := rayjob.Cluster(j, r.builder())
	if err != nil {
		return nil // ensureCluster reports the error
	}
	var submitter *batchv1.Job
	if j.Spec.SubmissionMode == rayv1.K8sJobMode || j.Spec.SubmissionMode == "" {
		submitter, _ = job.Submitter(j, rc, r.config.Pod) // ensureSubmitter reports the error
	}
	return gang.ForJob(j, rc, submitter, r.config.Pod)
}

// reserve runs before the cluster is created, because its Pods need the gang. A refusal of the scheduler is final. KubeRay does
// not report it.
func (r *Reconciler) reserve(ctx context.Context, s *scope) {
	w := r.workload(s.planned())
	if w == nil {
		return
	}
	plan := r.config.Scheduler.Plan(w)
	result := r.keeper.Keep(ctx, w, plan)
	s.after(result.LookAgain)
	problems := result.Problems
	if plan.Refusal != "" {
		problems = append([]string{plan.Refusal}, problems...)
		s.hold(plan.Refusal)
	}
	s.holdFor(result.Hold)
	if text := strings.Join(problems, "; "); text != "" && r.said.News(s.job.UID, actionSchedule, text) {
		s.events = append(s.events, report.Warning(rayv1.ReasonBatchSchedulerProblem, actionSchedule, text))
	}
	if len(result.Written) > 0 {
		ctrllog.FromContext(ctx).Info("Told the batch scheduler", "scheduler", r.config.Scheduler.Name(), "what", strings.Join(result.Written, ", "))
	}
}

// releaseGang shrinks the gang to the rest of the cluster. It delays the end of a suspension or an attempt, whose resources other jobs
// wait for, but not the cleanup of a finished RayJob.
func (r *Reconciler) releaseGang(ctx context.Context, s *scope) {
	w := r.workload(s.job)
	if w == nil {
		return
	}
	w.Members, w.Submitter = nil, nil
	if s.cluster != nil && s.cluster.DeletionTimestamp == nil {
		for _, m := range gang.ForCluster(s.cluster, r.config.Pod).Members {
			if !m.Suspended {
				w.Members = append(w.Members, m)
			}
		}
	}
	plan := gang.Plan{Objects: r.served(r.config.Scheduler.Plan(w).Objects)}
	if len(plan.Objects) == 0 {
		return
	}
	result := r.keeper.Keep(ctx, w, plan)
	s.after(result.LookAgain)
	switch text := strings.Join(result.Problems, "; "); {
	case text != "":
		if !s.state().IsTerminal() {
			s.hold(text)
		}
		if r.said.News(s.job.UID, actionCleanup, text) {
			s.events = append(s.events, report.Warning("FailedToCleanupBatchScheduler", actionCleanup, text))
		}
	case len(result.Written) > 0:
		s.events = append(s.events, report.Normal("BatchSchedulerCleanedUp", actionCleanup, "Batch scheduler %s: %s",
			r.config.Scheduler.Name(), strings.Join(result.Written, ", ")))
	}
}

// served removes objects of kinds that the API server does not serve: none of them can exist.
func (r *Reconciler) served(objects []gang.Object) []gang.Object {
	var list []gang.Object
	for _, o := range objects {
		version, err := r.config.APIs.Version(schema.GroupKind{Group: o.Kind.Group, Kind: o.Kind.Kind}, o.Kind.Versions...)
		if err != nil || version != "" {
			list = append(list, o)
		}
	}
	return list
}

// decorateCluster adds the scheduler's labels and annotations to the cluster, which passes them on to its Pods.
func (r *Reconciler) decorateCluster(j *rayv1.RayJob, rc *rayv1.RayCluster) {
	if w := r.workload(j); w != nil {
		r.config.Scheduler.Decorate(w, "", &rc.ObjectMeta, nil)
	}
}

// decorateSubmitter adds the Pod of the submitter to the gang.
func (r *Reconciler) decorateSubmitter(j *rayv1.RayJob, submitter *batchv1.Job) {
	if w := r.workload(j); w != nil {
		t := &submitter.Spec.Template
		r.config.Scheduler.Decorate(w, rayv1.SubmitterGroupName, &t.ObjectMeta, &t.Spec)
	}
}
