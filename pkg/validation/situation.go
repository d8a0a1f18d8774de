package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// situation is the input of the decision about a problem besides the tier of its rule.
type situation struct {
	options Options
	// elsewhere means that another controller is responsible for the object.
	elsewhere bool
	// unused are the paths of parts that no child is made from.
	unused []string
}

// verdict is the only place that separates errors from warnings.
func (s situation) verdict(found *rule.Report) Verdict {
	v := Verdict{Warnings: found.Advice}
	for _, problem := range found.Problems {
		if s.refuses(problem) {
			v.Errors = append(v.Errors, problem)
		} else {
			v.Warnings = append(v.Warnings, problem)
		}
	}
	return v
}

func (s situation) refuses(problem *field.Error) bool {
	by := rule.ByID(problem.Origin)
	if s.elsewhere && !slices.Contains(by.Peer, rule.PeerSchema) {
		return false // the API server alone refuses such an object under KubeRay
	}
	switch by.Tier {
	case rule.Peer:
		return !slices.Equal(by.Peer, rule.ByStep) || !s.isUnused(problem.Field)
	case rule.Kubernetes:
		return !s.isUnused(problem.Field)
	}
	return by.OptIn && s.options.RefuseGroupRemoval
}

func (s situation) isUnused(path string) bool {
	return slices.ContainsFunc(s.unused, func(part string) bool { return path == part || strings.HasPrefix(path, part+".") })
}

// Refused returns those errors of an object because of which a controller must not act on it. Every controller uses this decision. If
// something was made from the object before (ran), these are the errors at which KubeRay's controller stops too. For a new object they also
// include errors for which the API server would refuse a child.
func Refused(errs field.ErrorList, ran bool) field.ErrorList {
	var refused field.ErrorList
	for _, err := range errs {
		if by := rule.ByID(err.Origin); by != nil && (by.Stops() || !ran && by.Tier == rule.Kubernetes) {
			refused = append(refused, err)
		}
	}
	return refused
}

// Ran reports whether, by its status, this operator or KubeRay has made something from a cluster.
func Ran(rc *rayv1.RayCluster) bool {
	// KubeRay before 1.3 writes no conditions.
	return meta.FindStatusCondition(rc.Status.Conditions, rayv1.RayClusterProvisioned) != nil || rc.Status.Head.PodName != "" ||
		rc.Status.State == rayv1.ClusterStateReady || rc.Status.State == rayv1.ClusterStateSuspended
}

// ManagedElsewhere reports whether managedBy gives a RayCluster, a RayJob or a RayService to MultiKueue. KubeRay leaves such an
// object alone, and so does this operator; most rules only warn of it. Other values break a rule themselves.
func ManagedElsewhere(object Object) bool {
	var by *string
	switch o := object.(type) {
	case *rayv1.RayCluster:
		by = o.Spec.ManagedBy
	case *rayv1.RayJob:
		by = o.Spec.ManagedBy
	case *rayv1.RayService:
		by = o.Spec.ManagedBy
	}
	return by != nil && *by == rayv1.ManagedByMultiKueue
}
