package main

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// startShard starts an operator with a Lease of its own, and returns a function that kills it.
func startShard(ctx context.Context, t *testing.T, kubeconfig string, args ...string) (kill func()) {
	t.Helper()
	ports, err := programs.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	health := fmt.Sprintf("127.0.0.1:%d", ports[0])
	cmd := operator(t, nil, append(args, "--kubeconfig="+kubeconfig, "--leader-elect", "--leader-election-namespace="+systemNamespace,
		"--metrics-bind-address=0", "--health-probe-bind-address="+health)...)
	out, ended := &output{}, make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	kill = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	t.Cleanup(func() {
		kill()
		if t.Failed() {
			t.Logf("the operator with %q said:\n%s", args, out)
		}
	})
	eventually(ctx, t, "the operator to be ready", func() bool { return body(ctx, "http://"+health+"/readyz") == "ok" })
	return kill
}

// rayPods is the number of Pods of a cluster.
func rayPods(ctx context.Context, t *testing.T, c client.Client, namespace, cluster string) int {
	t.Helper()
	var list corev1.PodList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{rayv1.LabelCluster: cluster}); err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// TestShardsByLabel: two operators look after the objects of their label, and those of one that died continue when it is back.
func TestShardsByLabel(t *testing.T) {
	ctx, env, c, must := installed(t)
	const namespace = "shards-by-label"
	must(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	kubeconfig := operatorKubeconfig(ctx, t, env, c)
	flag := func(shard string) string { return "--watch-label-selector=shard=" + shard }
	killA := startShard(ctx, t, kubeconfig, flag("a"))
	startShard(ctx, t, kubeconfig, flag("b"))

	clusters := map[string]*rayv1.RayCluster{}
	for _, shard := range []string{"a", "b", "none"} {
		rc := raytest.RayCluster(namespace+"/of-"+shard, raytest.Workers("cpu", 1, raytest.Bounds(1, 3)))
		rc.UID, rc.Generation = "", 0
		rc.Labels = map[string]string{"shard": shard}
		must(c.Create(ctx, rc))
		clusters[shard] = rc
	}
	pods := func(shard string, n int) func() bool {
		return func() bool { return rayPods(ctx, t, c, namespace, "of-"+shard) == n }
	}
	eventually(ctx, t, "the Pods of shard a", pods("a", 2))
	eventually(ctx, t, "the Pods of shard b", pods("b", 2))

	killA()
	for _, rc := range clusters {
		before := rc.DeepCopy()
		rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(2))
		must(c.Patch(ctx, rc, client.MergeFrom(before)))
	}
	eventually(ctx, t, "one more worker in shard b", pods("b", 3))
	if !pods("a", 2)() || !pods("none", 0)() {
		t.Error("an operator looked after a cluster that is not of its shard")
	}
	startShard(ctx, t, kubeconfig, flag("a"))
	eventually(ctx, t, "one more worker in shard a, once its operator is back", pods("a", 3))
}

// TestNamespaceMovesBetweenShards: an operator that takes over a namespace writes nothing to the objects there.
func TestNamespaceMovesBetweenShards(t *testing.T) {
	ctx, env, c, must := installed(t)
	const namespace = "moved"
	must(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	kubeconfig := operatorKubeconfig(ctx, t, env, c)
	kill := startShard(ctx, t, kubeconfig, "--watch-namespace="+namespace, "--leader-election-name=shard-a")
	rc := raytest.RayCluster(namespace+"/demo", raytest.Workers("cpu", 2))
	rc.UID, rc.Generation = "", 0
	must(c.Create(ctx, rc))
	versions := func() map[string]string {
		found := map[string]string{}
		for _, list := range []client.ObjectList{&rayv1.RayClusterList{}, &corev1.PodList{}, &corev1.ServiceList{}} {
			must(c.List(ctx, list, client.InNamespace(namespace)))
			must(meta.EachListItem(list, func(item runtime.Object) error {
				o := item.(client.Object)
				found[fmt.Sprintf("%T %s", o, o.GetName())] = o.GetResourceVersion()
				return nil
			}))
		}
		return found
	}
	eventually(ctx, t, "the Pods", func() bool { return rayPods(ctx, t, c, namespace, "demo") == 3 })
	before := settled(ctx, t, versions)
	kill()

	startShard(ctx, t, kubeconfig, "--watch-namespace=elsewhere,"+namespace, "--leader-election-name=shard-b")
	other := raytest.RayCluster(namespace + "/after")
	other.UID, other.Generation = "", 0
	must(c.Create(ctx, other))
	eventually(ctx, t, "a cluster of the new operator", func() bool { return rayPods(ctx, t, c, namespace, "after") == 1 })
	after := settled(ctx, t, versions)
	for what := range after {
		if _, known := before[what]; !known {
			delete(after, what) // of the other cluster
		}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("resource versions (-before +after the move):\n%s", diff)
	}
}

// settled returns the versions when they have not changed for some time.
func settled(ctx context.Context, t *testing.T, versions func() map[string]string) map[string]string {
	t.Helper()
	last, since := versions(), time.Now()
	eventually(ctx, t, "the objects to come to rest", func() bool {
		if now := versions(); !maps.Equal(now, last) {
			last, since = now, time.Now()
		}
		return time.Since(since) > 5*time.Second
	})
	return last
}
