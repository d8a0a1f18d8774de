package rayservice

import (
	"context"
	"errors"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/served"
)

// Names of children in events.
const (
	whatCluster = "RayCluster"
	whatService = "Service"
	whatGateway = "Gateway"
	whatRoute   = "HTTPRoute"
	whatLabel   = "HeadPodServeLabel"
)

// act carries out the plan. What fails keeps nothing else from being done.
type act struct {
	config   Config
	children *children.Writer
	tracker  *tracker
	optional *served.Watches
	said     *report.Once
}

// Run implements step.
func (a *act) Run(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	var errs []error
	for _, part := range []func(context.Context, *scope) error{
		a.createCluster, a.updateCluster, a.resizeClusters, a.rebaseline, a.scheduleDeletions, a.deleteClusters, // clusters
		a.clusterServices, a.gateway, a.route, a.services, a.deleteChildren, // where requests go
		a.labels, a.watches, a.deployments, // what Ray does
	} {
		errs = append(errs, part(ctx, s))
	}
	return reconcile.Outcome{}, errors.Join(errs...)
}

// ensure makes a child, and remove deletes one.
func (a *act) ensure(ctx context.Context, s *scope, owner client.Object, what string, c children.Child) error {
	return s.took(a.said, what, a.children.Ensure(ctx, owner, c))
}

func (a *act) remove(ctx context.Context, s *scope, owner client.Object, what string, o client.Object) error {
	return s.took(a.said, what, a.children.Remove(ctx, owner, o))
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
