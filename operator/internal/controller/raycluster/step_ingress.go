package raycluster

import (
	"context"

	"github.com/raygate/raygate/operator/internal/build/route"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/served"
)

// ingress publishes the dashboard: by a Route where OpenShift's API is served, else by an Ingress.
//
// KubeRay removes annotations from the Ingress that the cluster does not have. Ingress controllers, DNS and cloud providers
// write annotations there, and would be fought with for ever; so only those go that came from the cluster and were removed from
// it.
type ingress struct {
	children *children.Writer
	optional *served.Watches
	// neverRoute says that the Ingress is wanted on OpenShift, too (USE_INGRESS_ON_OPENSHIFT).
	neverRoute bool
}

// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=route.openshift.io,resources=routes,verbs=get;list;watch;create;patch;delete,roleName=raygate-operator-routes

// Run implements step.
func (i *ingress) Run(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	wanted := route.Needed(s.cluster)
	routes, err := i.optional.Ready(route.Kind)
	if err != nil && wanted {
		// Whether a Route or an Ingress is right, nobody knows now.
		s.errs = append(s.errs, err)
		return reconcile.Outcome{}, nil
	}
	useRoute := routes && !i.neverRoute
	if wanted && useRoute {
		s.dependent(i.children.Ensure(ctx, s.cluster, children.Child{Desired: route.Route(s.cluster)}))
		s.after(i.optional.Recheck(route.Kind))
	} else if routes {
		s.dependent(i.children.Remove(ctx, s.cluster, route.Route(s.cluster)))
	}
	if wanted && !useRoute {
		s.dependent(i.children.Ensure(ctx, s.cluster, children.Child{Desired: route.Ingress(s.cluster)}))
	} else {
		s.dependent(i.children.Remove(ctx, s.cluster, route.Ingress(s.cluster)))
	}
	return reconcile.Outcome{}, nil
}
