package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// A cluster created through any entry point is shown by the others, scales, sleeps, wakes and goes without a trace.
func TestLifeThroughEachEntryPoint(t *testing.T) {
	entryPoints := map[string]func(t *testing.T, namespace string){
		"REST with JSON": func(t *testing.T, ns string) {
			rest(t, "POST", clustersOf(ns), "application/json", asJSON(t, manifest("demo", ns, 2))).want(t, 201)
		},
		"REST with YAML": func(t *testing.T, ns string) {
			rest(t, "POST", clustersOf(ns), "application/yaml", manifest("demo", ns, 2)).want(t, 201)
		},
		"gRPC": func(t *testing.T, ns string) {
			request := &raygatev2.CreateClusterRequest{Namespace: ns, Cluster: handMade(t, "demo")}
			if _, err := product.clusters.CreateCluster(t.Context(), request); err != nil {
				t.Fatalf("CreateCluster: %v", err)
			}
		},
		"kubectl create": func(t *testing.T, ns string) {
			kubectl(t, manifest("demo", ns, 2), "create", "-f", "-")
		},
		"kubectl apply --server-side": func(t *testing.T, ns string) {
			kubectl(t, manifest("demo", ns, 2), "apply", "--server-side", "-f", "-")
		},
	}
	for name, create := range entryPoints {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := namespace(t)
			create(t, ns)
			waitReady(t, ns, "demo", 2)
			shownByAllEntryPoints(t, ns, "demo")
			scaleByREST(t, ns, "demo", 4)
			waitReady(t, ns, "demo", 4)
			scaleByKubectl(t, ns, "demo", 1)
			waitReady(t, ns, "demo", 1)
			suspend(t, ns, "demo")
			waitReady(t, ns, "demo", 1)
			rest(t, "DELETE", clustersOf(ns)+"/demo", "", nil).want(t, 200)
			nothingLeft(t, ns)
		})
	}
}

func clustersOf(namespace string) string { return "/apis/v2/namespaces/" + namespace + "/clusters" }

func asJSON(t *testing.T, manifest []byte) []byte {
	t.Helper()
	data, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		t.Fatalf("converting manifest: %v", err)
	}
	return data
}

// handMade is the manifest's cluster as a Go program would build it.
func handMade(t *testing.T, name string) *raygatev2.RayCluster {
	t.Helper()
	template := func(container string) *structpb.Struct {
		s := &structpb.Struct{}
		document := fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"image":"rayproject/ray:2.52.0","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}`, container)
		if err := protojson.Unmarshal([]byte(document), s); err != nil {
			t.Fatalf("building template: %v", err)
		}
		return s
	}
	return &raygatev2.RayCluster{
		Metadata: &raygatev2.ObjectMeta{Name: name},
		Spec: &raygatev2.RayClusterSpec{
			RayVersion:    "2.52.0",
			HeadGroupSpec: &raygatev2.HeadGroupSpec{Template: template("ray-head")},
			WorkerGroupSpecs: []*raygatev2.WorkerGroupSpec{{
				GroupName: new("cpu"), Replicas: new(int32(2)), MinReplicas: new(int32(0)), MaxReplicas: new(int32(100)), Template: template("ray-worker"),
			}},
		},
	}
}

// waitReady waits until the cluster is ready with exactly this many workers and says so in its status.
func waitReady(t *testing.T, ns, name string, workers int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s/%s ready with %d workers", ns, name, workers), func(ctx context.Context) error {
		return readyWith(ctx, ns, name, workers)
	})
}

func readyWith(ctx context.Context, ns, name string, workers int) error {
	rc := &rayv1.RayCluster{}
	if err := product.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, rc); err != nil {
		return err
	}
	if rc.Status.State != rayv1.ClusterStateReady || !meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned) || !meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.HeadPodReady) {
		return fmt.Errorf("state %q, conditions %v, Pods%s", rc.Status.State, rc.Status.Conditions, podStates(ctx, ns, name))
	}
	if got := rc.Status.ReadyWorkerReplicas; got != int32(workers) {
		return fmt.Errorf("status counts %d ready workers", got)
	}
	if got := rc.Status.ObservedGeneration; got != rc.Generation {
		return fmt.Errorf("status is of generation %d, object of %d", got, rc.Generation)
	}
	pods, err := livePods(ctx, ns, name)
	if err == nil && pods != workers+1 {
		err = fmt.Errorf("%d Pods, want %d", pods, workers+1)
	}
	return err
}

// podStates says of each Pod of a cluster what became of it, for the reader of a failed test.
func podStates(ctx context.Context, ns, cluster string) string {
	pods := &corev1.PodList{}
	if err := product.client.List(ctx, pods, client.InNamespace(ns), client.MatchingLabels{rayv1.LabelCluster: cluster}); err != nil {
		return " unknown: " + err.Error()
	}
	var b strings.Builder
	for i := range pods.Items {
		p := &pods.Items[i]
		fmt.Fprintf(&b, " %s on %q %s %v %v;", p.Name, p.Spec.NodeName, p.Status.Phase, p.Status.Conditions, p.DeletionTimestamp)
	}
	return b.String()
}

// livePods counts the Pods of a cluster that are not on their way out.
func livePods(ctx context.Context, ns, cluster string) (int, error) {
	pods := &corev1.PodList{}
	if err := product.client.List(ctx, pods, client.InNamespace(ns), client.MatchingLabels{rayv1.LabelCluster: cluster}); err != nil {
		return 0, err
	}
	n := 0
	for _, p := range pods.Items {
		if p.DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n, nil
}

func shownByAllEntryPoints(t *testing.T, ns, name string) {
	t.Helper()
	type seen struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
		Status struct {
			State string `json:"state"`
		} `json:"status"`
	}
	var byREST, byKubectl seen
	// The gateway's watch delivers the operator's writes a moment after the API server has them.
	eventually(t, "the gateway shows what kubectl shows", func(context.Context) error {
		rest(t, "GET", clustersOf(ns)+"/"+name, "", nil).want(t, 200).decode(t, &byREST)
		if byREST.Status.State != "ready" {
			return fmt.Errorf("state %q", byREST.Status.State)
		}
		return nil
	})
	if err := json.Unmarshal([]byte(kubectl(t, nil, "get", "raycluster", name, "-n", ns, "-o", "json")), &byKubectl); err != nil {
		t.Fatalf("decoding kubectl's answer: %v", err)
	}
	byGRPC, err := product.clusters.GetCluster(t.Context(), &raygatev2.GetClusterRequest{Namespace: ns, Name: name})
	if err != nil {
		t.Fatalf("GetCluster: %v", err)
	}
	if byREST != byKubectl || byREST.Metadata.UID == "" || byREST.Status.State != "ready" {
		t.Errorf("REST shows %+v, kubectl %+v", byREST, byKubectl)
	}
	if got := byGRPC.Cluster; got.Metadata.Uid != byREST.Metadata.UID || got.Status.State != "ready" {
		t.Errorf("gRPC shows uid %s in state %s, REST %+v", got.Metadata.Uid, got.Status.State, byREST)
	}
	list := rest(t, "GET", clustersOf(ns), "", nil).want(t, 200)
	if !strings.Contains(string(list.body), byREST.Metadata.UID) {
		t.Errorf("REST list lacks the cluster: %s", list.body)
	}
}

// scaleByREST changes the replicas in what GET returned and PUTs it, again when somebody else was faster.
func scaleByREST(t *testing.T, ns, name string, replicas int) {
	t.Helper()
	eventually(t, "scaling by REST", func(context.Context) error {
		var object map[string]any
		rest(t, "GET", clustersOf(ns)+"/"+name, "", nil).want(t, 200).decode(t, &object)
		group := object["spec"].(map[string]any)["workerGroupSpecs"].([]any)[0].(map[string]any)
		group["replicas"] = replicas
		body, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if r := rest(t, "PUT", clustersOf(ns)+"/"+name, "application/json", body); r.code != 200 {
			return fmt.Errorf("HTTP %d: %s", r.code, r.body)
		}
		return nil
	})
}

func scaleByKubectl(t *testing.T, ns, name string, replicas int) {
	t.Helper()
	kubectl(t, nil, "patch", "raycluster", name, "-n", ns, "--type=json",
		"-p", fmt.Sprintf(`[{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":%d}]`, replicas))
}

// suspend puts the cluster to sleep, sees its Pods go, and wakes it.
func suspend(t *testing.T, ns, name string) {
	t.Helper()
	set := func(value bool) {
		kubectl(t, nil, "patch", "raycluster", name, "-n", ns, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"suspend":%t}}`, value))
	}
	set(true)
	eventually(t, "suspended", func(ctx context.Context) error {
		rc := &rayv1.RayCluster{}
		if err := product.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, rc); err != nil {
			return err
		}
		pods, err := livePods(ctx, ns, name)
		if err != nil {
			return err
		}
		if pods != 0 || rc.Status.State != rayv1.ClusterStateSuspended || !meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterSuspended) {
			return fmt.Errorf("%d Pods, state %q, conditions %v", pods, rc.Status.State, rc.Status.Conditions)
		}
		return nil
	})
	set(false)
}

func nothingLeft(t *testing.T, ns string) {
	t.Helper()
	eventually(t, "nothing left behind in "+ns, func(ctx context.Context) error {
		lists := map[string]client.ObjectList{"RayJobs": &rayv1.RayJobList{}, "Jobs": &batchv1.JobList{}, "RayClusters": &rayv1.RayClusterList{}, "Pods": &corev1.PodList{}, "Services": &corev1.ServiceList{}, "Secrets": &corev1.SecretList{}}
		for kind, list := range lists {
			if err := product.client.List(ctx, list, client.InNamespace(ns)); err != nil {
				return err
			}
			if n := meta.LenList(list); n != 0 {
				return fmt.Errorf("%d %s", n, kind)
			}
		}
		return nil
	})
}
