package v1

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// provisioned waits until the operator has made all Pods of a cluster.
func (w *world) provisioned(name string) {
	w.Helper()
	eventually(w.T, name+" is provisioned", func() error {
		rc := &rayv1.RayCluster{}
		if err := product.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, rc); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned) {
			return fmt.Errorf("conditions %v", rc.Status.Conditions)
		}
		return nil
	})
}

// gone waits until Kubernetes has an object no more.
func (w *world) gone(name string, o client.Object) {
	w.Helper()
	eventually(w.T, name+" is gone", func() error {
		err := product.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

func TestClusters(t *testing.T) {
	good := map[string]func(*world, *kuberay.Cluster){
		"no volumes, one worker group": func(*world, *kuberay.Cluster) {},
		"ConfigMap volume with items on head and workers": func(w *world, c *kuberay.Cluster) {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "code", Namespace: w.namespace}, Data: map[string]string{"a.py": "1", "b.py": "2"}}
			if err := product.kube.Create(w.Context(), cm); err != nil {
				w.Fatal(err)
			}
			volumes := []*kuberay.Volume{{MountPath: "/home/ray/samples", VolumeType: kuberay.Volume_CONFIGMAP, Name: "code-sample", Source: "code", Items: map[string]string{"a.py": "a.py", "b.py": "b.py"}}}
			c.ClusterSpec.HeadGroupSpec.Volumes, c.ClusterSpec.WorkerGroupSpec[0].Volumes = volumes, volumes
		},
		"no workers": func(_ *world, c *kuberay.Cluster) { c.ClusterSpec.WorkerGroupSpec = nil },
		"headServiceAnnotations, no version, image given": func(_ *world, c *kuberay.Cluster) {
			c.ClusterSpec.HeadServiceAnnotations, c.Version = map[string]string{"foo": "bar"}, ""
		},
	}
	for name, edit := range good {
		t.Run("create/"+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sent, got := w.cluster("demo"), &kuberay.Cluster{}
			edit(w, sent)
			w.ok("POST", w.path("clusters"), sent, got)
			wantSame(t, sent.GetClusterSpec(), got.GetClusterSpec())
			w.ok("GET", w.path("clusters", "demo"), nil, got)
			wantSame(t, sent, got, "created_at", "annotations", "events", "cluster_state", "service_endpoint")
			w.provisioned("demo")
			eventually(t, "V1 shows that it is ready", func() error {
				got.Reset()
				w.ok("GET", w.path("clusters", "demo"), nil, got)
				if got.GetClusterState() != "ready" || got.GetServiceEndpoint()["dashboard"] == "" || len(got.GetEvents()) == 0 {
					return fmt.Errorf("state %q, endpoints %v, %d events", got.GetClusterState(), got.GetServiceEndpoint(), len(got.GetEvents()))
				}
				return nil
			})
			wantSame(t, sent.GetClusterSpec(), got.GetClusterSpec())
			w.ok("DELETE", w.path("clusters", "demo"), nil, nil)
			w.gone("demo", &rayv1.RayCluster{})
			w.refused(404, "GET", w.path("clusters", "demo"), nil)
		})
	}
}

// in is the world with another test to fail.
func (w *world) in(t *testing.T) *world {
	clone := *w
	clone.T = t
	return &clone
}
