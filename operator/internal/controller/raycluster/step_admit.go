package raycluster

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apis"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/pkg/validation"
)

// admit ends the list for a cluster that validation.Refused says not to act on. One that runs already may be older than a rule, and must not
// be frozen because of it.
type admit struct {
	options validation.Options
	metrics *metrics.RayCluster
	memory  *memory
	// certManager reports whether cert-manager is there, which mutual TLS needs. Nil if nobody may ask for that.
	certManager func() (bool, error)
}

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters/status,verbs=update
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters/finalizers,verbs=update

// Run implements step.
func (a *admit) Run(ctx context.Context, s *scope) (outcome, error) {
	options := a.options
	if a.certManager != nil && cert.Needed(s.cluster) {
		served, err := a.certManager()
		if err != nil {
			// Nobody knows; the step certificates holds the Pods back.
			ctrllog.FromContext(ctx).Error(err, "Looking for cert-manager")
		}
		options.CertManagerMissing = err == nil && !served
	}
	errs := validation.RayCluster(s.cluster, options)
	if len(errs) == 0 {
		a.warn(s)
		return outcome{}, nil
	}
	s.invalid = validation.Summary(errs)
	s.tolerated = len(validation.Refused(errs, len(s.pods) > 0 || validation.Ran(s.cluster))) == 0
	if options.CertManagerMissing {
		s.lookAgain = apis.AbsentFor // it may be installed, which changes nothing in the object
	}
	if toldBefore(s) {
		return outcome{stop: !s.tolerated}, nil
	}
	if a.metrics != nil && a.memory.count(s.cluster) {
		for _, v := range validation.Violations(errs) {
			a.metrics.ObserveViolation(v.Rule)
		}
	}
	if s.tolerated {
		ctrllog.FromContext(ctx).Info("Tolerated an invalid spec of a running cluster", "generation", s.cluster.Generation, "problems", s.invalid)
		s.events = append(s.events, eventInvalid(errs, "The spec would be refused for a new cluster: "+s.invalid))
		return outcome{}, nil
	}
	ctrllog.FromContext(ctx).Info("Refused an invalid spec", "generation", s.cluster.Generation, "problems", s.invalid)
	s.events = append(s.events, eventInvalid(errs, "The spec is refused: "+s.invalid))
	return outcome{stop: true}, nil
}

// toldRules are warnings that an event tells of; the others are for whoever looks at the metrics, and told by admission and
// raygate validate. As KubeRay 1.7 does it, of a restart policy that the first autoscaler cannot live with; besides, of workers
// to delete that are none, which nobody but the controller can see.
var toldRules = []string{"RC-118", "RC-511"}

// warn looks at each new version of an object, until the status says that it was seen.
func (a *admit) warn(s *scope) {
	if s.cluster.Status.ObservedGeneration == s.cluster.Generation {
		return
	}
	count := a.metrics != nil && a.memory.count(s.cluster)
	options := a.options
	options.Facts = &validation.Facts{WorkerPods: workerPods(s)}
	var told field.ErrorList
	for _, w := range validation.RayClusterWarningList(s.cluster, options) {
		if count {
			a.metrics.ObserveWarning(w.Origin)
		}
		if slices.Contains(toldRules, w.Origin) {
			told = append(told, w)
		}
	}
	if len(told) > 0 {
		s.events = append(s.events, eventInvalid(told, "The spec works, but not well: "+validation.Summary(told)))
	}
}

// toldBefore reports whether the user has been told of exactly these problems of this version of the object. The stored
// condition answers, so that a restart of the operator does not repeat the events of all invalid objects.
func toldBefore(s *scope) bool {
	c := meta.FindStatusCondition(s.cluster.Status.Conditions, rayv1.RayClusterInvalidSpec)
	return c != nil && c.ObservedGeneration == s.cluster.Generation && c.Message == clip(s.invalid)
}
