package raycluster

import (
	"context"

	"github.com/raygate/raygate/operator/internal/build/route"
)

// ingress publishes the dashboard: by a Route where OpenShift's API is served, else by an Ingress.
//
// KubeRay removes annotations from the Ingress that the cluster does not have. Ingress controllers, DNS and cloud providers
// write annotations there, and would be fought with for ever; so only those go that came from the cluster and were removed from
// it.
type ingress struct {
	children *children
	// neverRoute says that the Ingress is wanted on OpenShift, too (USE_INGRESS_ON_OPENSHIFT).
	neverRoute bool
}

// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=route.openshift.io,resources=routes,verbs=get;list;watch;create;patch;delete,roleName=raygate-operator-routes

// Run implements step.
func (i *ingress) Run(ctx context.Context, s *scope) (outcome, error) {
	wanted := route.Needed(s.cluster)
	routes, err := i.children.served.Ready(route.Kind)
	if err != nil && wanted {
		// Whether a Route or an Ingress is right, nobody knows now.
		s.errs = append(s.errs, err)
		return outcome{}, nil
	}
	useRoute := routes && !i.neverRoute
	if wanted && useRoute {
		i.children.ensure(ctx, s, child{
			desired: route.Route(s.cluster), created: "CreatedRoute", updated: "UpdatedRoute",
			failed: "FailedToCreateRoute", failedUpdate: "FailedToUpdateRoute",
		})
		s.lookAgain = soonest(s.lookAgain, i.children.served.Recheck(route.Kind))
	} else if routes {
		i.children.remove(ctx, s, route.Route(s.cluster), "FailedToDeleteRoute")
	}
	if wanted && !useRoute {
		i.children.ensure(ctx, s, child{
			desired: route.Ingress(s.cluster), created: "CreatedIngress", updated: "UpdatedIngress",
			failed: "FailedToCreateIngress", failedUpdate: "FailedToUpdateIngress",
		})
	} else {
		i.children.remove(ctx, s, route.Ingress(s.cluster), "FailedToDeleteIngress")
	}
	return outcome{}, nil
}
