package v1

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// spec is that of KubeRay's tests: a head and one group of 1 to 5 workers.
func (w *world) spec() *kuberay.ClusterSpec {
	return &kuberay.ClusterSpec{
		HeadGroupSpec: &kuberay.HeadGroupSpec{
			ComputeTemplate: w.template, Image: image, ServiceType: "NodePort", EnableIngress: false,
			RayStartParams: map[string]string{"dashboard-host": "0.0.0.0", "metrics-export-port": "8080"},
		},
		WorkerGroupSpec: []*kuberay.WorkerGroupSpec{{
			GroupName: "small-wg", ComputeTemplate: w.template, Image: image, Replicas: 1, MinReplicas: 1, MaxReplicas: 5,
			RayStartParams: map[string]string{"metrics-export-port": "8080"},
		}},
	}
}

func (w *world) cluster(name string) *kuberay.Cluster {
	return &kuberay.Cluster{Name: name, Namespace: w.namespace, User: "3cpo", Version: version, Environment: kuberay.Cluster_DEV, ClusterSpec: w.spec()}
}

// job has a cluster of its own, of a head alone, and an entrypoint that the simulated Ray runs on this machine.
func (w *world) job(name, entrypoint string) *kuberay.RayJob {
	spec := w.spec()
	spec.WorkerGroupSpec = nil
	return &kuberay.RayJob{
		Name: name, Namespace: w.namespace, User: "r2d2", Version: version, Entrypoint: entrypoint,
		RuntimeEnv:               "pip:\n  - requests==2.26.0\n  - pendulum==2.1.2\nenv_vars:\n  counter_name: test_counter\n",
		ShutdownAfterJobFinishes: true, TtlSecondsAfterFinished: 60, ClusterSpec: spec,
	}
}

func (w *world) service(name string) *kuberay.RayService {
	return &kuberay.RayService{
		Name: name, Namespace: w.namespace, User: "user", Version: version, ClusterSpec: w.spec(),
		ServiceUnhealthySecondThreshold: 10, DeploymentUnhealthySecondThreshold: 20, //nolint:staticcheck // clients still send them
		ServeConfig_V2: "applications:\n  - name: fruit_app\n    import_path: fruit.deployment_graph\n    route_prefix: /fruit\n    deployments:\n      - name: MangoStand\n        num_replicas: 1\n" +
			"  - name: math_app\n    import_path: conditional_dag.serve_dag\n    route_prefix: /calc\n    deployments:\n      - name: Adder\n        num_replicas: 1\n",
	}
}

// wantSame compares an answer with what was sent, as KubeRay's tests do: all of it but the fields named, and but environments that are empty.
func wantSame(t *testing.T, sent, got message, except ...protoreflect.Name) {
	t.Helper()
	got = proto.CloneOf(got)
	spec, _ := got.(*kuberay.ClusterSpec)
	if s, ok := got.(interface{ GetClusterSpec() *kuberay.ClusterSpec }); ok {
		spec = s.GetClusterSpec()
	}
	if head := spec.GetHeadGroupSpec(); head != nil && proto.Size(head.GetEnvironment()) == 0 {
		head.Environment = nil
	}
	for _, g := range spec.GetWorkerGroupSpec() {
		if proto.Size(g.GetEnvironment()) == 0 {
			g.Environment = nil
		}
	}
	if diff := cmp.Diff(sent, got, protocmp.Transform(), protocmp.IgnoreFields(sent, except...)); diff != "" {
		t.Errorf("the answer is not what was sent (-sent +got):\n%s", diff)
	}
}

// provisioned waits until the operator has made all Pods of a cluster.
func (w *world) provisioned(name string) {
	w.Helper()
	await.NoError(w.T, name+" is provisioned", func() error {
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
	await.NoError(w.T, name+" is gone", func() error {
		err := product.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

// in is the world with another test to fail.
func (w *world) in(t *testing.T) *world {
	clone := *w
	clone.T = t
	return &clone
}
