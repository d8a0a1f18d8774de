package raycluster

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apply"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// foreignRetry is how often to see whether a name that somebody else holds is free. Nothing tells us, because what is not
// ours is not watched.
const foreignRetry = 15 * time.Second

// withoutHeadService is why Pods are not made then: workers would not find the head.
const withoutHeadService = "the head Service cannot be had"

// headService makes the Service by which workers, the gateway and users reach the head.
type headService struct {
	writer       apply.Writer
	options      service.Options
	expectations *expectations
}

// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch

// Run implements step.
func (h *headService) Run(ctx context.Context, s *scope) (outcome, error) {
	desired := service.Head(s.cluster, h.options)
	var current client.Object // an interface, so that nothing found is nil
	for _, svc := range s.services {
		if svc.Name == desired.Name {
			current = svc
			s.headService = svc
		}
	}
	result, err := h.writer.Object(ctx, s.cluster, desired, current)
	switch {
	case err == nil:
	case errors.Is(err, apply.ErrNotOwned), errors.Is(err, apply.ErrBeingDeleted):
		s.fail(rayv1.ReasonFailedCreateHeadService, err.Error())
		s.hold(withoutHeadService)
		return outcome{lookAgain: foreignRetry}, nil
	case apierrors.IsConflict(err):
		return outcome{lookAgain: cacheLag}, nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		// A quota, a policy or a port that the API server refuses: for the user to see and repair.
		s.fail(rayv1.ReasonFailedCreateHeadService, err.Error())
		if current == nil {
			s.hold(withoutHeadService)
		}
		return outcome{lookAgain: foreignRetry}, nil
	default:
		s.hold(withoutHeadService)
		s.errs = append(s.errs, err)
		return outcome{}, nil
	}
	s.headService = desired
	if result == apply.Unchanged {
		return outcome{}, nil
	}
	ctrllog.FromContext(ctx).Info("Wrote the head Service", "result", result, "service", desired.Name)
	if result == apply.Patched {
		s.tell("UpdatedService", actionUpdate, "Updated Service %s", desired.Name)
		return outcome{}, nil
	}
	h.expectations.serviceCreated(s.cluster.UID, desired)
	s.madeService = desired.Name
	return outcome{}, nil
}
