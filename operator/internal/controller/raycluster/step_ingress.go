package raycluster

import (
	"context"

	"github.com/raygate/raygate/operator/internal/build/route"
	"github.com/raygate/raygate/operator/internal/children"
)

// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=route.openshift.io,resources=routes,verbs=get;list;watch;create;patch;delete,roleName=raygate-operator-routes

// ingress publishes the dashboard: by a Route if OpenShift's API is served, else by an Ingress.
//
// KubeRay removes annotations from the Ingress that the cluster does not have. Ingress controllers, DNS and cloud providers add
// annotations and would restore them forever. So only annotations that came from the cluster and were removed there are removed.
func (r *Reconciler) ingress(ctx context.Context, s *scope) {
	wanted := route.Needed(s.cluster)
	routes, err := r.optional.Ready(route.Kind)
	if err != nil && wanted {
		// It is unknown whether a Route or an Ingress is right.
		s.errs = append(s.errs, err)
		return
	}
	useRoute := routes && !r.config.IngressOnOpenShift
	if wanted && useRoute {
		s.dependent(r.children.Ensure(ctx, s.cluster, children.Child{Desired: route.Route(s.cluster)}))
		s.after(r.optional.Recheck(route.Kind))
	} else if routes {
		s.dependent(r.children.Remove(ctx, s.cluster, route.Route(s.cluster)))
	}
	if wanted && !useRoute {
		s.dependent(r.children.Ensure(ctx, s.cluster, children.Child{Desired: route.Ingress(s.cluster)}))
	} else {
		s.dependent(r.children.Remove(ctx, s.cluster, route.Ingress(s.cluster)))
	}
}
