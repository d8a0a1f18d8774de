package raycluster

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/pkg/validation"
)

// factRules are the events for violations of fact rules. Reasons are those of KubeRay 1.7 if it has one.
var factRules = map[string]struct{ reason, action string }{
	validation.RuleUnevenReplicas:           {"UnevenReplicas", actionValidate},
	validation.RuleNetworkPolicyNames:       {"NetworkPolicyNameCollision", actionValidate},
	validation.RuleAutoscalerServiceAccount: {"AutoscalerServiceAccountNotFound", actionValidate},
	validation.RuleAuthSecret:               {"AuthSecretNotFound", actionValidate},
	validation.RuleClaim:                    {failedClaim, actionUpdate},
}

// checkDependents validates the facts that earlier steps have collected. Each fact rule concerns a single child. Its violations go
// into the condition ChildFailure and do not stop the reconcile, unlike those of validate.
func (r *Reconciler) checkDependents(_ context.Context, s *scope) {
	s.facts.WantedPods = wantedPods(s.cluster)
	options := r.config.Validation
	options.Facts = &s.facts
	for _, err := range validation.RayClusterFacts(s.cluster, options) {
		event, ok := factRules[err.Origin]
		if !ok {
			continue // reported by validate
		}
		f := childFailure{reason: event.reason, action: event.action, message: validation.Summary(field.ErrorList{err})}
		s.children = append(s.children, f)
		if !r.said.Has(s.cluster.UID, saidChildren, f.message) {
			r.countFact(err.Origin)
		}
	}
}

// countFact counts a new problem in the metrics.
func (r *Reconciler) countFact(rule string) {
	switch {
	case r.config.Metrics == nil:
	case rule == validation.RuleClaim:
		r.config.Metrics.ObserveWarning(rule)
	default:
		r.config.Metrics.ObserveViolation(rule)
	}
}

// wantedPods returns the wanted number of Pods for each group with multi-host replicas.
func wantedPods(rc *rayv1.RayCluster) map[string]int64 {
	wanted := map[string]int64{}
	for i := range rc.Spec.WorkerGroupSpecs {
		if g := &rc.Spec.WorkerGroupSpecs[i]; g.NumOfHosts > 1 {
			wanted[g.GroupName] = podplan.DesiredPods(g)
		}
	}
	return wanted
}

// workerPods returns, for each group with workersToDelete, the listed Pods that belong to it. Deleted Pods count by their name
// prefix: the autoscaler removes a name from the list after the Pod is gone.
func workerPods(s *scope) map[string][]string {
	all := map[string][]string{}
	for i := range s.cluster.Spec.WorkerGroupSpecs {
		g := &s.cluster.Spec.WorkerGroupSpecs[i]
		if len(g.ScaleStrategy.WorkersToDelete) == 0 {
			continue
		}
		all[g.GroupName] = nil // none found so far
		prefix := names.WorkerPodPrefix(s.cluster.Name, g.GroupName)
		for _, name := range g.ScaleStrategy.WorkersToDelete {
			p := slices.IndexFunc(s.pods, func(p *corev1.Pod) bool { return p.Name == name })
			if p < 0 && strings.HasPrefix(name, prefix) || p >= 0 && inGroup(s.pods[p], g.GroupName) {
				all[g.GroupName] = append(all[g.GroupName], name)
			}
		}
	}
	return all
}

func inGroup(p *corev1.Pod, group string) bool {
	return rayv1.RayNodeType(p.Labels[rayv1.LabelNodeType]) == rayv1.WorkerNode && p.Labels[rayv1.LabelGroup] == group
}
