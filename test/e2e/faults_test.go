package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/suite"
)

const (
	fleet   = 50
	workers = 3
)

// A crash of the operator or of the API server in the middle of creating clusters delays them and does nothing else.
func TestCrashWhileCreating(t *testing.T) {
	suite.All(t, "creates a hundred clusters")
	crashes := map[string]func(t *testing.T){
		"operator": func(t *testing.T) {
			product.operator.Kill()
			if err := product.operator.Start(); err != nil {
				t.Fatal(err)
			}
		},
		"API server": func(t *testing.T) {
			if err := product.audit.restart(product.env.RestartAPIServer); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, crash := range crashes {
		t.Run(name, func(t *testing.T) {
			ns := namespace(t)
			kubectl(t, fleetOf(ns), "create", "-f", "-")
			eventually(t, "some Pods there", func(ctx context.Context) error {
				pods := &corev1.PodList{}
				if err := product.client.List(ctx, pods, client.InNamespace(ns)); err != nil {
					return err
				}
				if len(pods.Items) < fleet/2 {
					return fmt.Errorf("%d Pods", len(pods.Items))
				}
				return nil
			})
			crash(t)
			for i := range fleet {
				name := fmt.Sprintf("c%d", i)
				eventually(t, name+" ready", func(ctx context.Context) error { return readyWith(ctx, ns, name, workers) })
			}
			exactlyTheChildrenOf(t, ns)
		})
	}
}

func fleetOf(ns string) []byte {
	var all []byte
	for i := range fleet {
		all = append(append(all, "---\n"...), manifest(fmt.Sprintf("c%d", i), ns, workers)...)
	}
	return all
}

// exactlyTheChildrenOf checks that each cluster owns its Pods and its one Service, and nobody else's are there.
func exactlyTheChildrenOf(t *testing.T, ns string) {
	t.Helper()
	clusters := &rayv1.RayClusterList{}
	pods, services := &corev1.PodList{}, &corev1.ServiceList{}
	for _, list := range []client.ObjectList{clusters, pods, services} {
		if err := product.client.List(t.Context(), list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
	}
	children := map[string]int{}
	for _, p := range pods.Items {
		children["Pod of "+owner(p.OwnerReferences)]++
	}
	for _, s := range services.Items {
		children["Service of "+owner(s.OwnerReferences)]++
	}
	for _, rc := range clusters.Items {
		for kind, want := range map[string]int{"Pod": workers + 1, "Service": 1} {
			key := kind + " of " + string(rc.UID)
			if got := children[key]; got != want {
				t.Errorf("RayCluster %s has %d of kind %s, want %d", rc.Name, got, kind, want)
			}
			delete(children, key)
		}
	}
	if len(children) != 0 {
		t.Errorf("children without a cluster: %v", children)
	}
}

func owner(references []metav1.OwnerReference) string {
	for _, r := range references {
		if r.Controller != nil && *r.Controller {
			return string(r.UID)
		}
	}
	return "nobody"
}
