package raycluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// headlessService gives the hosts of a multi-host replica names.
type headlessService struct{ children *children }

// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete

// Run implements step.
func (h *headlessService) Run(ctx context.Context, s *scope) (outcome, error) {
	if service.NeedsHeadless(s.cluster) {
		h.children.ensure(ctx, s, child{
			desired: service.Headless(s.cluster), created: "CreatedService", updated: "UpdatedService",
			failed: "FailedToCreateService", failedUpdate: "FailedToUpdateService",
		})
		return outcome{}, nil
	}
	multiHost := func(p *corev1.Pod) bool { return p.Labels[rayv1.LabelReplicaHostIndex] != "" }
	if !slices.ContainsFunc(s.pods, multiHost) {
		h.children.remove(ctx, s, service.Headless(s.cluster), "FailedToDeleteService")
	}
	return outcome{}, nil
}
