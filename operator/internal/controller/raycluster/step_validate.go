package raycluster

import (
	"context"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/served"
	"github.com/raygate/raygate/pkg/raydevices"
	"github.com/raygate/raygate/pkg/validation"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters/status,verbs=update
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters/finalizers,verbs=update

// validate ends the list for a cluster that validation.Refused says not to act on. One that runs already may be older than a rule, and must not
// be frozen because of it.
func (r *Reconciler) validate(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	options := r.config.Validation
	if r.config.MTLS && cert.Needed(s.cluster) {
		found, err := r.optional.Ready(cert.CertificateKind)
		if err != nil {
			// Nobody knows; the step certificates holds the Pods back.
			ctrllog.FromContext(ctx).Error(err, "Looking for cert-manager")
		}
		options.CertManagerMissing = err == nil && !found
	}
	errs := validation.Create(s.cluster, options).Errors
	if len(errs) == 0 {
		r.noteWarnings(s)
		return reconcile.Outcome{}, nil
	}
	s.invalid = validation.Summary(errs)
	s.tolerated = len(validation.Refused(errs, len(s.pods) > 0 || validation.Ran(s.cluster))) == 0
	if options.CertManagerMissing {
		s.after(served.AbsentFor) // it may be installed, which changes nothing in the object
	}
	if saidBefore(s) {
		return reconcile.Outcome{Stop: !s.tolerated}, nil
	}
	if r.config.Metrics != nil && r.firstVerdict(s.cluster) {
		for _, broken := range validation.Violations(errs) {
			r.config.Metrics.ObserveViolation(broken.Rule)
		}
	}
	if s.tolerated {
		ctrllog.FromContext(ctx).Info("Tolerated an invalid spec of a running cluster", "generation", s.cluster.Generation, "problems", s.invalid)
		s.events = append(s.events, eventInvalid(errs, "The spec would be refused for a new cluster: "+s.invalid))
		return reconcile.Outcome{}, nil
	}
	ctrllog.FromContext(ctx).Info("Refused an invalid spec", "generation", s.cluster.Generation, "problems", s.invalid)
	s.events = append(s.events, eventInvalid(errs, "The spec is refused: "+s.invalid))
	return reconcile.Outcome{Stop: true}, nil
}

// eventRules are warnings that an event is sent for; the others are for whoever looks at the metrics, and given by admission and
// raygate validate. As KubeRay 1.7 does it, of a restart policy that the first autoscaler cannot live with; besides, of workers
// to delete that are none, which nobody but the controller can see.
var eventRules = []string{validation.RuleAutoscalerRestartPolicy, validation.RuleWorkersToDelete}

// noteWarnings looks at each new version of an object, until the status says that it was seen.
func (r *Reconciler) noteWarnings(s *scope) {
	if s.cluster.Status.ObservedGeneration == s.cluster.Generation {
		return
	}
	count := r.config.Metrics != nil && r.firstVerdict(s.cluster)
	options := r.config.Validation
	options.Facts = &validation.Facts{WorkerPods: workerPods(s)}
	var list field.ErrorList
	for _, w := range validation.Create(s.cluster, options).Warnings {
		if count {
			r.config.Metrics.ObserveWarning(w.Origin)
		}
		if slices.Contains(eventRules, w.Origin) {
			list = append(list, w)
		}
	}
	if r.config.Pod.Devices != nil { // a number that is kept although the container sees another, of which nobody was warned where there are no webhooks
		for _, f := range raydevices.Check(r.config.Pod.Devices.Program(), s.cluster, raydevices.Options{}) {
			if f.Disagrees {
				list = append(list, field.Invalid(f.Field, field.OmitValueType{}, f.Message))
			}
		}
	}
	if len(list) > 0 {
		s.events = append(s.events, eventInvalid(list, "The spec works, but not well: "+validation.Summary(list)))
	}
}

// saidBefore reports whether exactly these problems of this version of the object were said. The stored
// condition answers, so that a restart of the operator does not repeat the events of all invalid objects.
func saidBefore(s *scope) bool {
	return s.conditions().Says(rayv1.RayClusterInvalidSpec, s.invalid) &&
		s.conditions().Find(rayv1.RayClusterInvalidSpec).ObservedGeneration == s.cluster.Generation
}

// firstVerdict reports whether the verdict on this version is to be counted, which it is once.
func (r *Reconciler) firstVerdict(rc *rayv1.RayCluster) bool {
	return r.said.News(rc.UID, "verdict", strconv.FormatInt(rc.Generation, 10))
}
