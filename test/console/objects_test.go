package console

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// settle bounds every wait for what Kubernetes has to do. It is generous, for slow machines: no test depends on speed.
const settle = 2 * time.Minute

// namespace makes a namespace of the test's own.
func namespace(t *testing.T) string {
	t.Helper()
	ns, err := stage.Namespace(t.Context(), "console-")
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// clusterYAML is a RayCluster with a group of workers, as a user writes it.
func clusterYAML(ns, name string, replicas int) string {
	return fmt.Sprintf(`apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: %s
  namespace: %s
spec:
  rayVersion: 2.52.0
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers:
        - name: ray-head
          image: rayproject/ray:2.52.0
          resources: {requests: {cpu: 10m, memory: 10Mi}}
  workerGroupSpecs:
  - groupName: cpu
    replicas: %d
    minReplicas: 0
    maxReplicas: 5
    rayStartParams: {}
    template:
      spec:
        containers:
        - name: ray-worker
          image: rayproject/ray:2.52.0
          resources: {requests: {cpu: 10m, memory: 10Mi}}
`, name, ns, replicas)
}

// create creates what the YAML says.
func create(t *testing.T, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	if err := stage.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// still is a RayCluster that no operator acts on, with the status that a test needs.
type still struct {
	name    string
	ready   bool
	workers int32
	version string
}

// createStill creates RayClusters that no operator acts on, so that they stay as they are.
func createStill(t *testing.T, ns string, clusters ...still) {
	t.Helper()
	var all sync.WaitGroup
	work := make(chan still)
	for range 16 {
		all.Go(func() {
			for c := range work {
				if err := createOneStill(t.Context(), ns, c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, c := range clusters {
		work <- c
	}
	close(work)
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func createOneStill(ctx context.Context, ns string, c still) error {
	rc := &rayv1.RayCluster{}
	if err := yaml.Unmarshal([]byte(clusterYAML(ns, c.name, int(c.workers))), rc); err != nil {
		return err
	}
	rc.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue")
	rc.Spec.RayVersion = c.version
	if err := stage.Client.Create(ctx, rc); err != nil {
		return err
	}
	rc.Status.DesiredWorkerReplicas, rc.Status.ReadyWorkerReplicas = c.workers, c.workers
	if c.ready {
		rc.Status.State = rayv1.ClusterStateReady
		rc.Status.Conditions = []metav1.Condition{{Type: "RayClusterProvisioned", Status: metav1.ConditionTrue, Reason: "AllPodRunningAndReadyFirstTime", LastTransitionTime: metav1.Now()}}
	} else {
		rc.Status.Conditions = []metav1.Condition{{Type: "ReplicaFailure", Status: metav1.ConditionTrue, Reason: "FailedCreate", Message: "quota exceeded", LastTransitionTime: metav1.Now()}}
	}
	return stage.Client.Status().Update(ctx, rc)
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(settle); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = check(t.Context()); err == nil {
			return
		}
	}
	t.Fatalf("%s: still not so after %s: %v", what, settle, err)
}

// awaitDashboard waits until the gateway reaches the dashboard of a cluster: a Service has no endpoints for a while after its Pod is ready.
func awaitDashboard(t *testing.T, ns, name string) {
	t.Helper()
	eventually(t, "the dashboard of "+name, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, stage.URL+"/apis/v2/namespaces/"+ns+"/clusters/"+name+"/submissions", nil)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+stage.admin)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", resp.Status)
		}
		return nil
	})
}

func getCluster(ctx context.Context, ns, name string) (*rayv1.RayCluster, error) {
	rc := &rayv1.RayCluster{}
	return rc, stage.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, rc)
}
