package raycluster

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/report"
)

// gangs maintains the objects for the batch scheduler. It runs before Pods are created, so that the scheduler knows the size of a
// gang before its first Pod exists, and follows every change of the size. Pods are still repaired if the scheduler's API does not
// answer.
func (r *Reconciler) gangs(ctx context.Context, s *scope) {
	if r.config.Scheduler == nil || s.cluster.Suspended() || s.conditions().True(rayv1.RayClusterSuspending) {
		return // existing objects wait with the cluster
	}
	s.workload = gang.ForCluster(s.cluster, r.podOptions(s))
	plan := r.config.Scheduler.Plan(s.workload)
	report := r.keeper.Keep(ctx, s.workload, plan)
	s.schedulerProblems = report.Problems
	if plan.Refusal != "" {
		s.schedulerProblems = append(slices.Clone(s.schedulerProblems), plan.Refusal)
	}
	if report.Hold != "" {
		s.hold(report.Hold)
	}
	if len(report.Written) > 0 {
		ctrllog.FromContext(ctx).Info("Wrote objects of the batch scheduler", "scheduler", r.config.Scheduler.Name(), "what", strings.Join(report.Written, ", "))
	}
	s.after(report.LookAgain)
}

// decorate adds a Pod that is about to be created to the gang.
func (r *Reconciler) decorate(s *scope, group string, p *corev1.Pod) {
	if s.workload != nil {
		r.config.Scheduler.Decorate(s.workload, group, &p.ObjectMeta, &p.Spec)
	}
}

// setBatchScheduler reports requests to the batch scheduler that are not fulfilled. Each new message also sends an event.
func setBatchScheduler(s *scope, _ tally) {
	message := strings.Join(s.schedulerProblems, "; ")
	if s.conditions().Raise(rayv1.RayClusterBatchSchedulerProblem, rayv1.ReasonBatchSchedulerProblem, message) {
		s.events = append(s.events, report.Warning(rayv1.ReasonBatchSchedulerProblem, actionSchedule, message))
	}
}
