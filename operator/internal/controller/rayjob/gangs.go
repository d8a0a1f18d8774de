package rayjob

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/job"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/rayjob"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/keeper"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/served"
)

// gangs announces the future cluster of a RayJob and its submitter to the batch scheduler. It ignores clusters that the user
// selects: they are scheduled already.
type gangs struct {
	scheduler gang.Scheduler // nil without a batch scheduler
	keeper    *keeper.Keeper
	kinds     *served.Kinds
	pod       pod.Options
	cluster   rayjob.Options
	said      report.Once
}

func newGangs(c Config) *gangs {
	return &gangs{
		scheduler: c.Scheduler, kinds: c.APIs, pod: c.Pod, cluster: rayjob.Options{Pod: c.Pod, SubmitterRestart: c.SubmitterRestart},
		keeper: keeper.New(c.Client, c.Live, c.APIs, c.Clock),
	}
}

// Actions of events.
const (
	actionSchedule = "Schedule"
	actionCleanup  = "Cleanup"
)

// workload returns the RayJob in the form for the batch scheduler before the cluster exists; nil if the scheduler needs nothing.
func (g *gangs) workload(j *rayv1.RayJob) *gang.Workload {
	if g.scheduler == nil || len(j.Spec.ClusterSelector) > 0 || j.Spec.RayClusterSpec == nil {
		return nil
	}
	rc, err := rayjob.Cluster(j, g.cluster)
	if err != nil {
		return nil // ensureCluster reports the error
	}
	var submitter *batchv1.Job
	if j.Spec.SubmissionMode == rayv1.K8sJobMode || j.Spec.SubmissionMode == "" {
		submitter, _ = job.Submitter(j, rc, g.pod) // ensureSubmitter reports the error
	}
	return gang.ForJob(j, rc, submitter, g.pod)
}

// reserve runs before the cluster is created, because its Pods need the gang. A refusal of the scheduler is final. KubeRay does
// not report it.
func (g *gangs) reserve(ctx context.Context, s *scope) {
	w := g.workload(s.planned())
	if w == nil {
		return
	}
	plan := g.scheduler.Plan(w)
	result := g.keeper.Keep(ctx, w, plan)
	s.after(result.LookAgain)
	problems := result.Problems
	if plan.Refusal != "" {
		problems = append([]string{plan.Refusal}, problems...)
		s.hold(plan.Refusal)
	}
	if result.Hold != "" {
		s.hold(result.Hold)
	}
	if text := strings.Join(problems, "; "); text != "" && g.said.News(s.job.UID, actionSchedule, text) {
		s.events = append(s.events, report.Warning(rayv1.ReasonBatchSchedulerProblem, actionSchedule, text))
	}
	if len(result.Written) > 0 {
		ctrllog.FromContext(ctx).Info("Told the batch scheduler", "scheduler", g.scheduler.Name(), "what", strings.Join(result.Written, ", "))
	}
}

// release shrinks the gang to the rest of the cluster. It delays the end of a suspension or an attempt, whose resources other jobs
// wait for, but not the cleanup of a finished RayJob.
func (g *gangs) release(ctx context.Context, s *scope) {
	w := g.workload(s.job)
	if w == nil {
		return
	}
	w.Members, w.Submitter = nil, nil
	if s.cluster != nil && s.cluster.DeletionTimestamp == nil {
		for _, m := range gang.ForCluster(s.cluster, g.pod).Members {
			if !m.Suspended {
				w.Members = append(w.Members, m)
			}
		}
	}
	plan := gang.Plan{Objects: g.served(g.scheduler.Plan(w).Objects)}
	if len(plan.Objects) == 0 {
		return
	}
	result := g.keeper.Keep(ctx, w, plan)
	s.after(result.LookAgain)
	switch text := strings.Join(result.Problems, "; "); {
	case text != "":
		if !s.state().IsTerminal() {
			s.hold(text)
		}
		if g.said.News(s.job.UID, actionCleanup, text) {
			s.events = append(s.events, report.Warning("FailedToCleanupBatchScheduler", actionCleanup, text))
		}
	case len(result.Written) > 0:
		s.events = append(s.events, report.Normal("BatchSchedulerCleanedUp", actionCleanup, "Batch scheduler %s: %s",
			g.scheduler.Name(), strings.Join(result.Written, ", ")))
	}
}

// served removes objects of kinds that the API server does not serve: none of them can exist.
func (g *gangs) served(objects []gang.Object) []gang.Object {
	var list []gang.Object
	for _, o := range objects {
		version, err := g.kinds.Version(schema.GroupKind{Group: o.Kind.Group, Kind: o.Kind.Kind}, o.Kind.Versions...)
		if err != nil || version != "" {
			list = append(list, o)
		}
	}
	return list
}

// decorateCluster adds the scheduler's labels and annotations to the cluster, which passes them on to its Pods.
func (g *gangs) decorateCluster(j *rayv1.RayJob, rc *rayv1.RayCluster) {
	if w := g.workload(j); w != nil {
		g.scheduler.Decorate(w, "", &rc.ObjectMeta, nil)
	}
}

// decorateSubmitter adds the Pod of the submitter to the gang.
func (g *gangs) decorateSubmitter(j *rayv1.RayJob, submitter *batchv1.Job) {
	if w := g.workload(j); w != nil {
		t := &submitter.Spec.Template
		g.scheduler.Decorate(w, rayv1.SubmitterGroupName, &t.ObjectMeta, &t.Spec)
	}
}
