package rayservice

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// others lets those act who act besides the operator: the controllers of RayClusters and EndpointSlices, the garbage collector and an
// implementation of the Gateway API.
func (s *stage) others() {
	s.t.Helper()
	ctx := context.Background()
	alive := map[types.UID]bool{}
	var clusters rayv1.RayClusterList
	s.must(s.store.List(ctx, &clusters))
	for i := range clusters.Items {
		alive[clusters.Items[i].UID] = true
		s.runCluster(&clusters.Items[i])
	}
	if rs := s.get(); rs != nil {
		alive[rs.UID] = true
	}
	var pods corev1.PodList
	s.must(s.store.List(ctx, &pods))
	for i := range pods.Items {
		s.collect(&pods.Items[i], alive)
	}
	var services corev1.ServiceList
	s.must(s.store.List(ctx, &services))
	for i := range services.Items {
		if !s.collect(&services.Items[i], alive) {
			s.slice(&services.Items[i], pods.Items)
		}
	}
	s.accept(ctx)
}

// collect deletes what has lost its owner.
func (s *stage) collect(o client.Object, alive map[types.UID]bool) bool {
	s.t.Helper()
	if ref := metav1.GetControllerOf(o); ref == nil || alive[ref.UID] {
		return false
	}
	s.must(client.IgnoreNotFound(s.store.Delete(context.Background(), o)))
	return true
}

// runCluster makes head Service and head Pod of a cluster, ready.
func (s *stage) runCluster(rc *rayv1.RayCluster) {
	s.t.Helper()
	ctx := context.Background()
	s.mu.Lock()
	down := s.downs[rc.Name] || s.downs[rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Image]
	s.mu.Unlock()
	want := metav1.ConditionTrue
	if down {
		want = metav1.ConditionFalse
	}
	if meta.IsStatusConditionPresentAndEqual(rc.Status.Conditions, rayv1.HeadPodReady, want) {
		return
	}
	svc := service.Head(rc, service.Options{})
	s.name(svc)
	s.must(client.IgnoreAlreadyExists(s.store.Create(ctx, svc)))
	head := pod.Head(rc, pod.Options{DeterministicHeadName: true})
	s.name(head)
	s.must(client.IgnoreAlreadyExists(s.store.Create(ctx, head)))
	s.must(s.store.Get(ctx, client.ObjectKeyFromObject(head), head))
	head.Status.Phase, head.Status.PodIP = corev1.PodRunning, "10.0.0.1"
	head.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionStatus(want)}}
	s.must(s.store.Status().Update(ctx, head))
	meta.SetStatusCondition(&rc.Status.Conditions, metav1.Condition{Type: rayv1.HeadPodReady, Status: want, Reason: "Ready"})
	s.must(client.IgnoreNotFound(s.store.Status().Update(ctx, rc)))
}

// slice keeps the EndpointSlice of a serve Service.
func (s *stage) slice(svc *corev1.Service, pods []corev1.Pod) {
	s.t.Helper()
	if svc.Labels[rayv1.LabelServe] == "" {
		return
	}
	ctx := context.Background()
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name + "-x"}}
	found := s.store.Get(ctx, client.ObjectKeyFromObject(slice), slice) == nil
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: svc.Name}
	slice.Endpoints = nil
	for i := range pods {
		p := &pods[i]
		if labels.SelectorFromSet(svc.Spec.Selector).Matches(labels.Set(p.Labels)) {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{p.Status.PodIP}, Conditions: discoveryv1.EndpointConditions{Ready: new(podplan.Ready(p))}, TargetRef: &corev1.ObjectReference{UID: p.UID},
			})
		}
	}
	if !found {
		s.must(s.store.Create(ctx, slice))
		return
	}
	s.must(s.store.Update(ctx, slice))
}

// accept plays an implementation of the Gateway API.
func (s *stage) accept(ctx context.Context) {
	s.t.Helper()
	var gateways gatewayv1.GatewayList
	s.must(s.store.List(ctx, &gateways))
	for i := range gateways.Items {
		g := &gateways.Items[i]
		for _, kind := range []gatewayv1.GatewayConditionType{gatewayv1.GatewayConditionAccepted, gatewayv1.GatewayConditionProgrammed} {
			meta.SetStatusCondition(&g.Status.Conditions, metav1.Condition{Type: string(kind), Status: metav1.ConditionTrue, Reason: "Fine"})
		}
		s.must(s.store.Status().Update(ctx, g))
	}
	var routes gatewayv1.HTTPRouteList
	s.must(s.store.List(ctx, &routes))
	for i := range routes.Items {
		s.acceptRoute(&routes.Items[i], routes.Items[i].Spec.ParentRefs, &routes.Items[i].Status.RouteStatus)
	}
	var grpc gatewayv1.GRPCRouteList
	s.must(s.store.List(ctx, &grpc))
	for i := range grpc.Items {
		s.acceptRoute(&grpc.Items[i], grpc.Items[i].Spec.ParentRefs, &grpc.Items[i].Status.RouteStatus)
	}
}

func (s *stage) acceptRoute(route client.Object, parents []gatewayv1.ParentReference, status *gatewayv1.RouteStatus) {
	s.t.Helper()
	if len(status.Parents) > 0 {
		return
	}
	parent := gatewayv1.RouteParentStatus{ParentRef: parents[0], ControllerName: "example.com/fake"}
	for _, kind := range []gatewayv1.RouteConditionType{gatewayv1.RouteConditionAccepted, gatewayv1.RouteConditionResolvedRefs} {
		meta.SetStatusCondition(&parent.Conditions, metav1.Condition{Type: string(kind), Status: metav1.ConditionTrue, Reason: "Fine"})
	}
	status.Parents = []gatewayv1.RouteParentStatus{parent}
	s.must(s.store.Status().Update(context.Background(), route))
}
