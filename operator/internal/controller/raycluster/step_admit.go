package raycluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apis"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/pkg/validation"
)

// admit ends the list for a spec that breaks rules. What was created from an earlier, valid spec keeps running.
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
	if options.CertManagerMissing {
		s.lookAgain = apis.AbsentFor // it may be installed, which changes nothing in the object
	}
	if toldBefore(s) {
		return outcome{stop: true}, nil
	}
	for _, v := range validation.Violations(errs) {
		if a.metrics != nil {
			a.metrics.ObserveViolation(v.Rule)
		}
	}
	ctrllog.FromContext(ctx).Info("Refused an invalid spec", "generation", s.cluster.Generation, "problems", s.invalid)
	s.events = append(s.events, eventInvalidSpec(s.invalid))
	return outcome{stop: true}, nil
}

// restartRule warns of a restart policy that the first autoscaler cannot live with. As KubeRay 1.7 does, this one is told by
// an event; the others are for whoever looks at the metrics, and told by admission and raygate validate.
const restartRule = "RC-118"

// warn looks at each new version of an object, until the status says that it was seen.
func (a *admit) warn(s *scope) {
	if s.cluster.Status.ObservedGeneration == s.cluster.Generation {
		return
	}
	counted := a.memory.warn(s.cluster)
	var restarts field.ErrorList
	for _, w := range validation.RayClusterWarningList(s.cluster, a.options) {
		if a.metrics != nil && !counted {
			a.metrics.ObserveWarning(w.Origin)
		}
		if w.Origin == restartRule {
			restarts = append(restarts, w)
		}
	}
	if len(restarts) > 0 {
		s.events = append(s.events, eventWarnedSpec(validation.Summary(restarts)))
	}
}

// toldBefore reports whether the user has been told of exactly these problems of this version of the object. The stored
// condition answers, so that a restart of the operator does not repeat the events of all invalid objects.
func toldBefore(s *scope) bool {
	c := meta.FindStatusCondition(s.cluster.Status.Conditions, rayv1.RayClusterInvalidSpec)
	return c != nil && c.ObservedGeneration == s.cluster.Generation && c.Message == clip(s.invalid)
}
