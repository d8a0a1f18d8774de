package raycluster

import (
	"context"
	"fmt"

	"github.com/raygate/raygate/operator/internal/build/service"
)

// serveService leads to Ray Serve on a cluster that no RayService made, if an annotation asks for it.
type serveService struct{ children *children }

// Run implements step.
func (v *serveService) Run(ctx context.Context, s *scope) (outcome, error) {
	desired := service.Serve(s.cluster)
	const failed = "FailedToCreateService"
	switch {
	case !service.NeedsServe(s.cluster):
		v.children.remove(ctx, s, desired, "FailedToDeleteService")
	case len(desired.Spec.Ports) == 0:
		s.children = append(s.children, childFailure{reason: failed, action: actionCreate, message: fmt.Sprintf(
			"Service %s would have no port: the Ray container of the head declares none named serve or beginning with serve-", desired.Name)})
	default:
		v.children.ensure(ctx, s, child{
			desired: desired, created: "CreatedService", updated: "UpdatedService", failed: failed, failedUpdate: "FailedToUpdateService",
		})
	}
	return outcome{}, nil
}
