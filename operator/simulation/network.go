package simulation

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/simulation/apiserver"
)

const actorNetwork = "endpointslice-controller"

var (
	kindSlice     = discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice").GroupKind()
	kindGateway   = rayservice.GatewayKind.GroupKind()
	kindRoute     = rayservice.RouteKind.GroupKind()
	kindGRPCRoute = rayservice.GRPCKind.GroupKind()
)

// network is the controller of EndpointSlices and an implementation of the Gateway API.
type network struct{ world *world }

// changed is called by the store.
func (n *network) changed(c apiserver.Change) {
	w := n.world
	switch o := c.Object(); c.Kind {
	case kindPod:
		if cluster := o.GetLabels()[rayv1.LabelCluster]; cluster != "" && c.Old != nil {
			w.after(w.between("endpoints", 50*time.Millisecond, 2*time.Second), "endpoints of Pods", n.syncAll)
		}
	case kindService:
		key := client.ObjectKeyFromObject(o)
		w.after(w.between("endpoints", 50*time.Millisecond, 2*time.Second), "endpoints "+key.Name, func() { n.sync(key) })
	case kindGateway, kindRoute, kindGRPCRoute:
		if c.New != nil {
			key := client.ObjectKeyFromObject(o)
			w.after(w.between("gateway", 100*time.Millisecond, 5*time.Second), "gateway "+key.Name, func() { n.program(c, key) })
		}
	}
}

func (n *network) syncAll() {
	for _, o := range n.world.store.All(kindService) {
		n.sync(client.ObjectKeyFromObject(o))
	}
}

// sync writes the EndpointSlice of a Service that is about serving; nobody looks at others.
func (n *network) sync(key types.NamespacedName) {
	w := n.world
	svc, ok := w.store.Find(kindService, key).(*corev1.Service)
	if !ok || svc.Labels[rayv1.LabelServe] == "" {
		return
	}
	var endpoints []discoveryv1.Endpoint
	selector := labels.SelectorFromSet(svc.Spec.Selector)
	for _, o := range w.store.All(kindPod) {
		if p := o.(*corev1.Pod); selector.Matches(labels.Set(p.Labels)) && p.Status.PodIP != "" {
			ready := isReady(p) && p.DeletionTimestamp == nil
			endpoints = append(endpoints, discoveryv1.Endpoint{
				Addresses: []string{p.Status.PodIP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: &corev1.ObjectReference{UID: p.UID},
			})
		}
	}
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name + "-slice"}
	if w.store.Mutate(actorNetwork, kindSlice, name, func(o client.Object) { o.(*discoveryv1.EndpointSlice).Endpoints = endpoints }) {
		return
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, Labels: map[string]string{discoveryv1.LabelServiceName: key.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(svc, corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		Endpoints: endpoints,
	}
	maps.Copy(slice.Labels, svc.Labels)
	_ = w.store.Create(actorNetwork, slice)
}

// program accepts a Gateway or a route as it is now.
func (n *network) program(c apiserver.Change, key types.NamespacedName) {
	accepted := func(generation int64, kinds ...string) []any {
		var list []any
		for _, kind := range kinds {
			list = append(list, map[string]any{
				"type": kind, "status": "True", "reason": "Fine", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": generation,
			})
		}
		return list
	}
	n.world.store.Mutate("gateway", c.Kind, key, func(o client.Object) {
		u := o.(*unstructured.Unstructured)
		if c.Kind == kindGateway {
			u.Object["status"] = map[string]any{
				"conditions": accepted(u.GetGeneration(), "Accepted", "Programmed"),
				"addresses":  []any{map[string]any{"type": "IPAddress", "value": "192.0.2.1"}},
			}
			return
		}
		parents, _, _ := unstructured.NestedSlice(u.Object, "spec", "parentRefs")
		if len(parents) == 0 {
			return
		}
		u.Object["status"] = map[string]any{"parents": []any{map[string]any{
			"parentRef": parents[0], "controllerName": "example.com/gateway", "conditions": accepted(u.GetGeneration(), "Accepted", "ResolvedRefs"),
		}}}
	})
}
