package rayservice

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/optionalapi"
)

// weights are the backends of both routes with their ports and shares, and the ports of the listeners.
func (s *stage) weights() (http, grpc, listeners map[string]int32) {
	s.t.Helper()
	ctx := context.Background()
	http, grpc, listeners = map[string]int32{}, map[string]int32{}, map[string]int32{}
	key := func(b gatewayv1.BackendRef, want gatewayv1.PortNumber) string {
		if *b.Port != want {
			s.t.Errorf("backend %s has port %d", b.Name, *b.Port)
		}
		return string(b.Name)
	}
	var routes gatewayv1.HTTPRouteList
	s.must(s.store.List(ctx, &routes))
	for _, r := range routes.Items {
		for _, b := range r.Spec.Rules[0].BackendRefs {
			http[key(b.BackendRef, 8000)] = *b.Weight
		}
	}
	var grpcRoutes gatewayv1.GRPCRouteList
	s.must(s.store.List(ctx, &grpcRoutes))
	for _, r := range grpcRoutes.Items {
		if p := r.Spec.ParentRefs[0]; p.SectionName == nil || *p.SectionName != "grpc" {
			s.t.Errorf("parent %+v", p)
		}
		for _, b := range r.Spec.Rules[0].BackendRefs {
			grpc[key(b.BackendRef, 9000)] = *b.Weight
		}
	}
	var gateways gatewayv1.GatewayList
	s.must(s.store.List(ctx, &gateways))
	for _, g := range gateways.Items {
		for _, l := range g.Spec.Listeners {
			listeners[string(l.Name)] = l.Port
		}
	}
	return http, grpc, listeners
}

func grpcPort(s *rayv1.RayServiceSpec) {
	s.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{
		{Name: "dashboard", ContainerPort: 8265}, {Name: "serve", ContainerPort: 8000}, {Name: rayv1.PortServeGRPC, ContainerPort: 9000},
	}
}

// TestGRPCRoute: gRPC requests go where those by HTTP go, in each step of an upgrade, if the user asks for it.
func TestGRPCRoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService(inSteps(50, 25), grpcPort))
		s.comesUp()
		s.until("routed", func(*rayv1.RayService) bool { http, _, _ := s.weights(); return len(http) == 1 })
		if _, grpc, listeners := s.weights(); len(grpc) > 0 || len(listeners) != 1 {
			t.Errorf("nobody asked for %v, %v", grpc, listeners)
		}
		rs := s.get()
		rs.Annotations = map[string]string{rayv1.AnnotationGRPCRoute: "true"}
		s.must(s.store.Update(t.Context(), rs))
		s.until("a GRPCRoute", func(*rayv1.RayService) bool { _, grpc, _ := s.weights(); return len(grpc) == 1 })
		svc := &corev1.Service{}
		s.must(s.store.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: s.first + "-serve-svc"}, svc))
		for _, p := range svc.Spec.Ports {
			if protocol := p.AppProtocol; (p.Name == rayv1.PortServeGRPC) != (protocol != nil && *protocol == "kubernetes.io/h2c") {
				t.Errorf("port %s has protocol %v", p.Name, protocol)
			}
		}

		s.edit(image("b"))
		seen := map[string]bool{}
		s.until("upgraded", func(rs *rayv1.RayService) bool {
			http, grpc, listeners := s.weights()
			if !maps.Equal(http, grpc) || listeners["grpc"] != 9000 {
				t.Fatalf("HTTP has %v, gRPC %v, listeners %v", http, grpc, listeners)
			}
			seen[fmt.Sprint(grpc)] = true
			return s.settled(rs) && rs.Status.ActiveServiceStatus.RayClusterName != s.first && len(grpc) == 1
		})
		if len(seen) < 7 { // one cluster, 0, 25, 50, 75, 100, the other cluster
			t.Errorf("steps %v", seen)
		}

		rs = s.get()
		rs.Annotations = nil
		s.must(s.store.Update(t.Context(), rs))
		s.until("no GRPCRoute and no listener", func(*rayv1.RayService) bool {
			_, grpc, listeners := s.weights()
			return len(grpc) == 0 && len(listeners) == 1
		})
	})
}

// newGRPCStage has a service that is upgraded in steps and asks for a GRPCRoute, and an operator with a change of its configuration.
func newGRPCStage(t *testing.T, step int32, change func(*Config)) *stage {
	t.Helper()
	rs := storyService(inSteps(50, step), grpcPort)
	rs.Annotations = map[string]string{rayv1.AnnotationGRPCRoute: "true"}
	s := newStage(t, rs)
	s.change = append(s.change, change)
	s.restart()
	return s
}

// TestGRPCRouteIsNotServed: an upgrade waits for the kind that its user asks for, and says so.
func TestGRPCRouteIsNotServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newGRPCStage(t, 50, func(c *Config) { c.APIs = optionalapi.NewFixed(gatewayAPI(rayservice.GRPCKind), c.Live, c.Clock) })
		s.comesUp()
		s.edit(image("b"))
		s.until("waiting", func(rs *rayv1.RayService) bool {
			return strings.Contains(condition(rs, rayv1.RayServiceUpgradeInProgress).Message, "GRPCRoute is not installed")
		})
		if http, grpc, _ := s.weights(); len(http) == 0 || len(grpc) > 0 {
			t.Errorf("HTTP has %v, gRPC %v", http, grpc)
		}
	})
}

// late shows the object of before to some reads after each of its changes, as a cache does.
type late struct {
	client.Reader
	shown map[client.ObjectKey]*unstructured.Unstructured
	reads map[client.ObjectKey]int
}

// Get implements client.Reader.
func (l late) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := l.Reader.Get(ctx, key, o, opts...)
	u, ok := o.(*unstructured.Unstructured)
	if err != nil || !ok || u.GetKind() != rayservice.RouteKind.Kind {
		return err
	}
	if shown := l.shown[key]; shown != nil && shown.GetResourceVersion() != u.GetResourceVersion() && l.reads[key] < 3 {
		l.reads[key]++
		shown.DeepCopyInto(u)
		return nil
	}
	l.shown[key], l.reads[key] = u.DeepCopy(), 0
	return nil
}

// TestRouteDoesNotMoveBack: a cache that is behind the operator's own writes does not lead traffic back while the other route is accepted.
func TestRouteDoesNotMoveBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newGRPCStage(t, 10, func(c *Config) {
			c.APIs = optionalapi.NewFixed(gatewayAPI(), late{c.Live, map[client.ObjectKey]*unstructured.Unstructured{}, map[client.ObjectKey]int{}}, c.Clock)
		})
		s.comesUp()
		s.edit(image("b"))
		before := int32(100)
		s.until("upgraded", func(rs *rayv1.RayService) bool {
			http, _, _ := s.weights()
			if now, routed := http[s.first+"-serve-svc"]; routed && now > before {
				t.Fatalf("the old cluster has %d %% of the traffic after %d", now, before)
			} else if routed {
				before = now
			}
			return s.settled(rs) && rs.Status.ActiveServiceStatus.RayClusterName != s.first
		})
		if before != 0 {
			t.Errorf("the old cluster has %d %% at the end", before)
		}
	})
}
