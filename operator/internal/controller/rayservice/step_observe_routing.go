package rayservice

import (
	"cmp"
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways;httproutes;grpcroutes,verbs=get;list;watch

// observeRouting reads the Gateway and the routes if they may exist.
func (r *Reconciler) observeRouting(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	if !s.routed() {
		return reconcile.Outcome{}, nil
	}
	in := &s.in.Routing
	gateway, found, err := r.read(ctx, s, rayservice.GatewayKind, names.ServiceGateway(s.service.Name))
	if err != nil {
		return reconcile.Outcome{}, err
	}
	route, foundToo, err := r.read(ctx, s, rayservice.RouteKind, names.ServiceRoute(s.service.Name))
	if err != nil {
		return reconcile.Outcome{}, err
	}
	if !found || !foundToo {
		in.Missing = true
		return reconcile.Outcome{After: optionalapi.AbsentFor}, nil
	}
	if gateway != nil {
		s.in.Children++
		in.GatewayState = rayservice.StateOfGateway(gateway)
	}
	if route != nil {
		s.in.Children++
		in.RouteState = rayservice.StateOfRoute(route, names.ServiceGateway(s.service.Name))
	}
	in.Left = gateway != nil || route != nil
	out := reconcile.Outcome{After: reconcile.Sooner(r.optional.Recheck(rayservice.GatewayKind), r.optional.Recheck(rayservice.RouteKind))}
	if s.grpc = rayservice.GRPCPort(s.service) != 0; s.grpc || gateway != nil && rayservice.HasGRPCListener(gateway) {
		out.After = reconcile.Sooner(out.After, r.optional.Recheck(rayservice.GRPCKind))
		return out, r.observeGRPC(ctx, s)
	}
	return out, nil
}

// observeGRPC reads the GRPCRoute. Traffic moves only as fast as the Gateway accepts both routes.
func (r *Reconciler) observeGRPC(ctx context.Context, s *scope) error {
	in := &s.in.Routing
	route, found, err := r.read(ctx, s, rayservice.GRPCKind, names.ServiceGRPCRoute(s.service.Name))
	if err != nil {
		return err
	}
	if route != nil {
		s.in.Children++
		s.grpcLeft, in.Left = true, true
	}
	if !s.grpc {
		return nil
	}
	wanted, state := maps.Clone(in.Weights), rayservice.RouteState{}
	maps.DeleteFunc(wanted, func(cluster string, _ int32) bool {
		return s.clusters[cluster] == nil || service.GRPCPort(&s.clusters[cluster].Spec) == 0
	})
	switch {
	case !found:
		s.grpc, state.RouteRefused = false, "the kind GRPCRoute is not installed"
	case route != nil:
		state = rayservice.StateOfRoute(route, names.ServiceGateway(s.service.Name))
	case len(wanted) == 0: // no cluster serves gRPC
		return nil
	}
	in.RouteReady = in.RouteReady && state.RouteReady && maps.Equal(wanted, state.Weights)
	in.RouteRefused = cmp.Or(in.RouteRefused, state.RouteRefused)
	return nil
}

// read returns the object, or nil if there is none, and whether its kind is served. It includes the last write of this process: a route that the cache
// shows without it would be moved back.
func (r *Reconciler) read(ctx context.Context, s *scope, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, bool, error) {
	ok, err := r.optional.Ready(kind)
	if err != nil || !ok {
		return nil, false, err
	}
	sought := &unstructured.Unstructured{}
	sought.SetGroupVersionKind(kind)
	sought.SetNamespace(s.service.Namespace)
	sought.SetName(name)
	result := r.children.Find(ctx, s.service, sought)
	if result.Err != nil {
		return nil, true, result.Err
	}
	u, ok := result.Object.(*unstructured.Unstructured)
	if !ok || !metav1.IsControlledBy(u, s.service) {
		return nil, true, nil
	}
	return u, true, nil
}
