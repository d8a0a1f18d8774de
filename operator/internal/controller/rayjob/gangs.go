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

// gangs tells the batch scheduler of the cluster that a RayJob is going to have, together with its submitter. A cluster that the
// user chose was placed before.
type gangs struct {
	scheduler gang.Scheduler // nil for none
	keeper    *keeper.Keeper
	kinds     *served.Kinds
	pod       pod.Options
	cluster   rayjob.Options
	said      report.Once
}

func newGangs(c Config) *gangs {
	return &gangs{
		scheduler: c.Scheduler, kinds: c.APIs, pod: c.Pod, cluster: rayjob.Options{Pod: c.Pod, SubmitterRestart: c.SubmitterRestart},
		keeper: keeper.New(keeper.Config{Client: c.Client, Live: c.Live, Kinds: c.APIs, Clock: c.Clock}),
	}
}

// Actions of events.
const (
	actionSchedule = "Schedule"
	actionCleanup  = "Cleanup"
)

// workload is the RayJob as the batch scheduler sees it before there is a cluster; nil if there is nothing to tell it.
func (g *gangs) workload(j *rayv1.RayJob) *gang.Workload {
	if g.scheduler == nil || len(j.Spec.ClusterSelector) > 0 || j.Spec.RayClusterSpec == nil {
		return nil
	}
	rc, err := rayjob.Cluster(j, g.cluster)
	if err != nil {
		return nil // creating it says so
	}
	var submitter *batchv1.Job
	if j.Spec.SubmissionMode == rayv1.K8sJobMode || j.Spec.SubmissionMode == "" {
		submitter, _ = job.Submitter(j, rc, g.pod) // likewise
	}
	return gang.ForJob(j, rc, submitter, g.pod)
}

// reserve comes before the cluster, whose Pods have to find the gang. A refusal of the scheduler is for good, and KubeRay keeps
// quiet about it.
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

// release makes the gang as large as what is left of the cluster. It holds the end of a suspension or of an attempt, whose room
// others wait for, and not what follows the end of a RayJob.
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

// served leaves out objects of kinds that the API server does not serve: nothing of them can be left.
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

// decorateCluster hands on to the Pods of the cluster what the scheduler goes by.
func (g *gangs) decorateCluster(j *rayv1.RayJob, rc *rayv1.RayCluster) {
	if w := g.workload(j); w != nil {
		g.scheduler.Decorate(w, "", &rc.ObjectMeta, nil)
	}
}

// decorateSubmitter makes the Pod of the submitter part of the gang.
func (g *gangs) decorateSubmitter(j *rayv1.RayJob, submitter *batchv1.Job) {
	if w := g.workload(j); w != nil {
		t := &submitter.Spec.Template
		g.scheduler.Decorate(w, rayv1.SubmitterGroupName, &t.ObjectMeta, &t.Spec)
	}
}
