package raycluster

import (
	"context"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/pkg/raydevices"
	"github.com/raygate/raygate/pkg/validation"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters/status,verbs=update
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters/finalizers,verbs=update

// validate ends the list if validation.Refused returns errors for the cluster. A running cluster may be older than a rule and is
// not blocked by it.
func (r *Reconciler) validate(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	options := r.config.Validation
	options.CertManagerMissing = r.config.MTLS && cert.Needed(s.cluster) && r.certManagerMissing(ctx)
	errs := validation.Create(s.cluster, options).Errors
	if len(errs) == 0 {
		r.noteWarnings(s)
		return reconcile.Outcome{}, nil
	}
	s.invalid = validation.Summary(errs)
	s.tolerated = len(validation.Refused(errs, len(s.pods) > 0 || validation.Ran(s.cluster))) == 0
	if options.CertManagerMissing {
		s.after(optionalapi.AbsentFor) // cert-manager may be installed later, without a change of the object
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

// certManagerMissing is false while that is unknown: then the step certificates holds the Pods back.
func (r *Reconciler) certManagerMissing(ctx context.Context) bool {
	found, err := r.optional.Ready(cert.CertificateKind)
	if err != nil {
		ctrllog.FromContext(ctx).Error(err, "Looking for cert-manager")
	}
	return err == nil && !found
}

// eventRules are warnings that are sent as events. Metrics count the others; admission and raygate validate report them. Like
// KubeRay 1.7, the operator warns of a restart policy that autoscaler v1 does not support. It also warns of workersToDelete that
// are not Pods of the group, which only the controller can check.
var eventRules = []string{validation.RuleAutoscalerRestartPolicy, validation.RuleWorkersToDelete}

// noteWarnings checks each generation of an object once; the status records the checked generation.
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
	if r.config.Pod.Devices != nil { // reports a GPU number of the user that differs from the container's devices, also without webhooks
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

// saidBefore reports whether these problems were already reported for this generation. It reads the stored condition, so that a
// restart of the operator does not repeat the events of all invalid objects.
func saidBefore(s *scope) bool {
	return s.conditions().Says(rayv1.RayClusterInvalidSpec, s.invalid) &&
		s.conditions().Find(rayv1.RayClusterInvalidSpec).ObservedGeneration == s.cluster.Generation
}

// firstVerdict reports whether this generation has not been counted yet. Each generation is counted once.
func (r *Reconciler) firstVerdict(rc *rayv1.RayCluster) bool {
	return r.said.News(rc.UID, "verdict", strconv.FormatInt(rc.Generation, 10))
}
