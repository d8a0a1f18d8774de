package raycluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/disruption"
	"github.com/raygate/raygate/operator/internal/build/gcs"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/pkg/dashboard"
)

const (
	// guardInterval is the interval at which a dashboard is asked whether a head has work that its loss would end.
	guardInterval = time.Minute
	// guardUnknownAfter is the time without an answer after which a head is protected.
	guardUnknownAfter = time.Minute
)

var errNoBudgets = errors.New("the operator may not list PodDisruptionBudgets (poddisruptionbudgets of policy): give it the right and start it again, or remove the annotation " +
	rayv1.AnnotationDisruptionBudget)

// guarded reports whether budgets protect the Pods of the cluster.
func guarded(rc *rayv1.RayCluster) bool {
	return rayv1.DisruptionBudgetOf(rc.Annotations) != nil && !rc.Suspended()
}

// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete

// disruptionBudgets keeps the budgets of a cluster that asks for them. They change before Pods do, so that an eviction counts the wanted workers.
func (r *Reconciler) disruptionBudgets(ctx context.Context, s *scope) {
	if !r.budgets {
		if guarded(s.cluster) {
			s.errs = append(s.errs, errNoBudgets)
		}
		return
	}
	var existing policyv1.PodDisruptionBudgetList
	if err := ownerref.List(ctx, r.config.Client, s.cluster, &existing); err != nil {
		s.errs = append(s.errs, fmt.Errorf("listing PodDisruptionBudgets: %w", err))
		return
	}
	stay := map[string]bool{}
	if guarded(s.cluster) {
		protect, known := r.headHasWork(s)
		stay[names.HeadDisruptionBudget(s.cluster.Name)] = !known // as it is
		for _, b := range wantedBudgets(s.cluster, protect) {
			stay[b.Name] = true
			s.dependent(r.children.Ensure(ctx, s.cluster, children.Child{Desired: b}))
		}
	}
	for _, b := range possibleBudgets(s.cluster, existing.Items) {
		if !stay[b.Name] {
			stay[b.Name] = true
			s.dependent(r.children.Remove(ctx, s.cluster, b))
		}
	}
}

// possibleBudgets returns the budgets that the cluster can have: also own ones that the cache does not show yet, and those of removed groups.
func possibleBudgets(rc *rayv1.RayCluster, existing []policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	all := []*policyv1.PodDisruptionBudget{disruption.Head(rc)}
	for i := range rc.Spec.WorkerGroupSpecs {
		all = append(all, disruption.Group(rc, rc.Spec.WorkerGroupSpecs[i].GroupName, 1))
	}
	for i := range existing {
		all = append(all, &existing[i])
	}
	return all
}

// wantedBudgets returns the budgets that protect something.
func wantedBudgets(rc *rayv1.RayCluster, head bool) (all []*policyv1.PodDisruptionBudget) {
	if head {
		all = append(all, disruption.Head(rc))
	}
	budget := rayv1.DisruptionBudgetOf(rc.Annotations)
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		workers := int(podplan.DesiredPods(g))
		if stay := workers - rayv1.Disruptions(budget, workers); stay > 0 {
			all = append(all, disruption.Group(rc, g.GroupName, stay))
		}
	}
	return all
}

// headHasWork reports whether a new head would lose work, and whether that is known. Without an answer of the dashboard it is not known for a
// moment, and then assumed.
func (r *Reconciler) headHasWork(s *scope) (work, known bool) {
	if r.activities == nil {
		return true, true
	}
	head, answer := readyHead(s), r.activities.known(s.cluster.UID)
	switch {
	case head == nil: // it can be evicted
		return false, false
	case !answer.FailingSince.IsZero():
		left := guardUnknownAfter - s.now.Sub(answer.FailingSince)
		s.after(max(left, 0))
		return left <= 0, left <= 0
	case answer.AskedAt.Before(podplan.Condition(head, corev1.PodReady).LastTransitionTime.Time): // also if it was not asked yet
		return false, false
	}
	switch answer.Value.Use {
	case "":
		return false, true
	case dashboard.UseServe, dashboard.UseActor:
		return gcs.Backend(s.cluster) == "", true
	default: // a driver, which usually runs on the head
		return true, true
	}
}
