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

// factRules are the events of rules about facts. Reasons are those of KubeRay 1.7 where it has one.
var factRules = map[string]struct{ reason, action string }{
	validation.RuleUnevenReplicas:           {"UnevenReplicas", actionValidate},
	validation.RuleNetworkPolicyNames:       {"NetworkPolicyNameCollision", actionValidate},
	validation.RuleAutoscalerServiceAccount: {"AutoscalerServiceAccountNotFound", actionValidate},
	validation.RuleAuthSecret:               {"AuthSecretNotFound", actionValidate},
	validation.RuleClaim:                    {failedClaim, actionUpdate},
}

// checkDependents has the rules look at what the steps before have found around the cluster. Each of these rules is about a single
// child, so what they find goes into the condition ChildFailure and stops nothing, unlike what validate finds.
func (r *Reconciler) checkDependents(_ context.Context, s *scope) {
	s.facts.WantedPods = wantedPods(s.cluster)
	options := r.config.Validation
	options.Facts = &s.facts
	for _, err := range validation.RayClusterFacts(s.cluster, options) {
		event, ok := factRules[err.Origin]
		if !ok {
			continue // found by validate
		}
		f := childFailure{reason: event.reason, action: event.action, message: validation.Summary(field.ErrorList{err})}
		s.children = append(s.children, f)
		if !r.said.Has(s.cluster.UID, saidChildren, f.message) {
			r.countFact(err.Origin)
		}
	}
}

// countFact counts a problem that is new.
func (r *Reconciler) countFact(rule string) {
	switch {
	case r.config.Metrics == nil:
	case rule == validation.RuleClaim:
		r.config.Metrics.ObserveWarning(rule)
	default:
		r.config.Metrics.ObserveViolation(rule)
	}
}

// wantedPods counts the Pods of groups whose replicas span several hosts.
func wantedPods(rc *rayv1.RayCluster) map[string]int64 {
	wanted := map[string]int64{}
	for i := range rc.Spec.WorkerGroupSpecs {
		if g := &rc.Spec.WorkerGroupSpecs[i]; g.NumOfHosts > 1 {
			wanted[g.GroupName] = podplan.DesiredPods(g)
		}
	}
	return wanted
}

// workerPods are the Pods of the groups whose scale strategy names any. Those that it names and that are gone count as well, as
// far as their name tells: the autoscaler takes a name off the list when the Pod has gone.
func workerPods(s *scope) map[string][]string {
	all := map[string][]string{}
	for i := range s.cluster.Spec.WorkerGroupSpecs {
		g := &s.cluster.Spec.WorkerGroupSpecs[i]
		if len(g.ScaleStrategy.WorkersToDelete) == 0 {
			continue
		}
		all[g.GroupName] = nil // known to have none of them, until one is found
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
