package rayservice

import (
	"context"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// Names of children in events.
const (
	whatCluster = "RayCluster"
	whatService = "Service"
	whatGateway = "Gateway"
	whatRoute   = "HTTPRoute"

	whatGRPCRoute = "GRPCRoute"
	whatLabel     = "HeadPodServeLabel"
)

// act carries out the plan. A failure in one part does not stop the others.
func (r *Reconciler) act(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	for _, part := range []func(context.Context, *scope){
		r.createCluster, r.updateCluster, r.resizeClusters, r.passBudget, r.rebaseline, r.scheduleDeletions, r.deleteClusters, // clusters
		r.clusterServices, r.gateway, r.route, r.services, r.deleteChildren, // targets of requests
		r.labels, r.watches, r.deployments, r.measure, // actions on Ray, and questions about it
	} {
		part(ctx, s)
	}
	return reconcile.Outcome{}, nil
}

// ensure creates or repairs a child; remove deletes one.
func (r *Reconciler) ensure(ctx context.Context, s *scope, owner client.Object, what string, c children.Child) children.Result {
	result := r.children.Ensure(ctx, owner, c)
	s.recordResult(what, result)
	return result
}

func (r *Reconciler) remove(ctx context.Context, s *scope, owner client.Object, what string, o client.Object) {
	s.recordResult(what, r.children.Remove(ctx, owner, o))
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
