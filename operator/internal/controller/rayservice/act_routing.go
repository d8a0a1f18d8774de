package rayservice

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/ownerref"
)

// +kubebuilder:rbac:groups="",resources=services,verbs=create;patch;delete

// services points the Services of the RayService to a cluster. As in KubeRay, the head Service comes first.
func (r *Reconciler) services(ctx context.Context, s *scope) {
	rc, there := s.clusters[s.plan.Services]
	serving, thereToo := s.clusters[cmp.Or(s.plan.Serve, s.plan.Services)]
	if !there || !thereToo {
		return
	}
	head := r.children.Ensure(ctx, s.service, children.Child{Desired: service.ServiceHead(s.service, rc, r.config.Service)})
	if s.recordResult(whatService, head); head.Err != nil || head.Failure != nil {
		return
	}
	desired := service.ServiceServe(s.service, serving)
	if len(desired.Spec.Ports) == 0 {
		s.refuse("Service " + desired.Name + " would have no ports: the head lists ports, but none named serve")
		return
	}
	if serve := r.ensure(ctx, s, s.service, whatService, children.Child{Desired: desired}); serve.Err == nil {
		r.renamed(ctx, s)
	}
}

// renamed deletes serve Services with earlier names.
func (r *Reconciler) renamed(ctx context.Context, s *scope) {
	var list corev1.ServiceList
	if err := ownerref.List(ctx, r.config.Client, s.service, &list); err != nil {
		s.errs = append(s.errs, fmt.Errorf("listing Services: %w", err))
		return
	}
	for i := range list.Items {
		svc := &list.Items[i]
		if _, serve := svc.Labels[rayv1.LabelServe]; serve && svc.Name != names.ServiceServeService(s.service) {
			r.remove(ctx, s, s.service, whatService, svc.DeepCopy())
		}
	}
}

// clusterServices creates the Services that are backends of the HTTPRoute.
func (r *Reconciler) clusterServices(ctx context.Context, s *scope) {
	for _, name := range s.plan.ClusterServices {
		rc := s.clusters[name]
		desired := service.ClusterServe(rc)
		if s.grpc {
			service.SpeakGRPC(desired)
		}
		if len(desired.Spec.Ports) > 0 { // otherwise services reports it
			r.ensure(ctx, s, rc, whatService, children.Child{Desired: desired})
		}
	}
}

// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways;httproutes;grpcroutes,verbs=create;patch;delete

func (r *Reconciler) gateway(ctx context.Context, s *scope) {
	if !s.plan.Gateway || s.in.Routing.Missing {
		return
	}
	desired := rayservice.Gateway(s.service)
	r.ensure(ctx, s, s.service, whatGateway, children.Child{Desired: desired, Keep: func(current client.Object) {
		rayservice.KeepGateway(desired, current.(*unstructured.Unstructured), s.grpcLeft) // it marks that there is a GRPCRoute
	}})
}

func (r *Reconciler) route(ctx context.Context, s *scope) {
	if s.plan.Route == nil || s.in.Routing.Missing {
		return
	}
	var backends, speakGRPC []rayservice.Backend
	for _, b := range s.plan.Route {
		rc, there := s.clusters[b.Cluster]
		if !there {
			return // deleted a moment ago
		}
		backends = append(backends, rayservice.Backend{Cluster: b.Cluster, Port: service.ServePort(rc), Weight: b.Weight})
		if port := service.GRPCPort(&rc.Spec); port != 0 {
			speakGRPC = append(speakGRPC, rayservice.Backend{Cluster: b.Cluster, Port: port, Weight: b.Weight})
		}
	}
	r.ensureRoute(ctx, s, whatRoute, rayservice.Route(s.service, backends))
	switch {
	case s.grpc && len(speakGRPC) > 0:
		r.ensureRoute(ctx, s, whatGRPCRoute, rayservice.GRPCRoute(s.service, speakGRPC))
	case s.grpcLeft:
		r.remove(ctx, s, s.service, whatGRPCRoute, rayservice.GRPCRoute(s.service, nil))
	}
}

func (r *Reconciler) ensureRoute(ctx context.Context, s *scope, what string, desired *unstructured.Unstructured) {
	r.ensure(ctx, s, s.service, what, children.Child{Desired: desired, Keep: func(current client.Object) {
		rayservice.KeepRoute(desired, current.(*unstructured.Unstructured))
	}})
}

// deleteChildren deletes the Services, Gateway and routes of a RayService that is being suspended. For one that no longer uses
// incremental upgrades, it deletes the Gateway, the routes and the serve Services of the clusters.
func (r *Reconciler) deleteChildren(ctx context.Context, s *scope) {
	if s.plan.DeleteChildren {
		for i := range s.services {
			if s.services[i].DeletionTimestamp == nil {
				r.deleteService(ctx, s, &s.services[i])
			}
		}
	}
	if (s.plan.DeleteChildren || s.plan.DeleteRouting) && s.routed() && !s.in.Routing.Missing {
		r.remove(ctx, s, s.service, whatRoute, rayservice.Route(s.service, nil))
		if s.grpcLeft {
			r.remove(ctx, s, s.service, whatGRPCRoute, rayservice.GRPCRoute(s.service, nil))
		}
		r.remove(ctx, s, s.service, whatGateway, rayservice.Gateway(s.service))
	}
	if s.plan.DeleteRouting {
		for _, name := range s.used() {
			if rc := s.clusters[name]; rc != nil {
				r.remove(ctx, s, rc, whatService, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, Name: names.ServeService(rc.Name)}})
			}
		}
	}
}
