package load

import (
	"context"
	"flag"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/test/controlplane"
)

var long = flag.Bool("long", false, "run for as long, and with as many objects, as the aims of the project say")

var shared = controlplane.Share(controlplane.Options{CRDs: controlplane.LightCRDs, Own: true, Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	shared.Main(m)
}

// pick is short in continuous integration and full with -long.
func pick[T any](short, full T) T {
	if *long {
		return full
	}
	return short
}

// control is the control plane, its client and what is made there for a test.
type control struct {
	*controlplane.Env
	client client.Client
}

func controlPlane(t *testing.T) *control {
	t.Helper()
	suite.All(t, "takes both cores for many seconds, which makes other tests slow")
	env := shared.Env(t)
	utilruntime.Must(rayv1.AddToScheme(clientgoscheme.Scheme))
	c, err := client.New(env.Config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &control{env, c}
}

// namespace makes a namespace of the test's own, whose clusters are gone at its end.
func (c *control) namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "load-"}}
	if err := c.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
		defer cancel()
		if err := c.client.DeleteAllOf(ctx, &rayv1.RayCluster{}, client.InNamespace(ns.Name)); err != nil {
			t.Errorf("deleting the clusters: %v", err)
		}
	})
	return ns.Name
}

// cluster is a suspended RayCluster of the usual size.
func cluster(ns, name string) *rayv1.RayCluster {
	rc := raytest.RayCluster(ns+"/"+name, raytest.Workers("cpu", 3), raytest.Suspend(true))
	rc.UID, rc.Generation = "", 0
	return rc
}

// many are clusters with a number behind the name.
func many(ns, name string, n int) []*rayv1.RayCluster {
	all := make([]*rayv1.RayCluster, n)
	for i := range n {
		all[i] = cluster(ns, fmt.Sprintf("%s%d", name, i))
	}
	return all
}

// create makes clusters with a few requests in flight.
func (c *control) create(t *testing.T, clusters ...*rayv1.RayCluster) {
	t.Helper()
	inParallel(t, 16, len(clusters), func(i int) error { return c.client.Create(t.Context(), clusters[i]) })
}

// label writes a label to a cluster, which is a change that watchers see.
func (c *control) label(ctx context.Context, ns, name, value string) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"load":%q}}}`, value))
	return c.client.Patch(ctx, &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}, patch)
}

func inParallel(t *testing.T, width, n int, do func(int) error) {
	t.Helper()
	work, failed := make(chan int, n), make(chan error, width)
	for i := range n {
		work <- i
	}
	close(work)
	for range width {
		go func() {
			for i := range work {
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range width {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}
