package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
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

// A client that repeats each create until it is answered, over crashes of the gateway, makes each object once.
func TestGatewayCrashWhileCreating(t *testing.T) {
	suite.All(t, "creates a thousand clusters")
	const objects, clients = 1000, 16
	ns := namespace(t)
	body := manifestWithoutName(ns)

	var uids sync.Map
	names := make(chan string, objects)
	for range objects {
		names <- uuid.NewString()
	}
	close(names)
	crashed := make(chan error, 1)
	go func() { crashed <- crashGateway(3) }()

	ctx, cancel := context.WithTimeout(t.Context(), 2*settle)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	for range clients {
		g.Go(func() error {
			for id := range names {
				uid, err := createUntilAnswered(ctx, t, ns, id, body)
				if err != nil {
					return err
				}
				uids.Store(uid, id)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := <-crashed; err != nil {
		t.Fatal(err)
	}
	list := &rayv1.RayClusterList{}
	if err := product.client.List(t.Context(), list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != objects {
		t.Errorf("%d objects, want %d", len(list.Items), objects)
	}
	for _, rc := range list.Items {
		if _, known := uids.Load(string(rc.UID)); !known {
			t.Errorf("RayCluster %s was answered to nobody", rc.Name)
		}
	}
	// So many that the API server may take longer than it gives a request.
	eventually(t, "deleting the clusters", func(ctx context.Context) error {
		return product.client.DeleteAllOf(ctx, &rayv1.RayCluster{}, client.InNamespace(ns))
	})
}

func crashGateway(times int) error {
	for range times {
		time.Sleep(time.Second)
		product.gateway.Kill()
		if err := product.gateway.Start(); err != nil {
			return err
		}
	}
	return nil
}

// manifestWithoutName lets the server choose the name and sleeps, so that the operator has little to do with it.
func manifestWithoutName(ns string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"generateName":"g-","namespace":%q},"spec":{"suspend":true,
		"headGroupSpec":{"template":{"spec":{"containers":[{"name":"ray-head","image":"rayproject/ray:2.52.0"}]}}}}}`, ns)
}

func createUntilAnswered(ctx context.Context, t *testing.T, ns, id string, body []byte) (string, error) {
	for {
		r, err := tryREST(t, "POST", clustersOf(ns)+"?requestId="+id, "application/json", body)
		switch {
		case err == nil && r.code == http.StatusCreated:
			var created struct {
				Metadata struct{ UID string }
			}
			r.decode(t, &created)
			return created.Metadata.UID, nil
		case err == nil && r.code != http.StatusServiceUnavailable:
			return "", fmt.Errorf("HTTP %d: %s", r.code, r.body)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
