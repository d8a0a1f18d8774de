package kueue

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// autoscaling: a cluster in a queue grows while its queue has quota. Workers beyond the quota wait behind a scheduling gate, and start when another
// cluster leaves its quota. Kueue of this version refuses RayJobs with autoscaling.
func (w *world) autoscaling() {
	cluster := w.elastic("grows")
	create(w.T, w.client, cluster)
	w.awaitReady(cluster, string(rayv1.RayClusterProvisioned))

	other := w.elastic("other")
	create(w.T, w.client, other)
	w.awaitReady(other, string(rayv1.RayClusterProvisioned))

	w.scale(cluster, 3)
	w.eventually("the further workers wait", func() error { return w.workers(cluster, 1, 2) })
	w.awaitFinding("raycluster/grows", "Queued", "queue team-a", "cpu")

	if err := w.client.Delete(w.Context(), other); err != nil {
		w.Fatal(err)
	}
	w.eventually("all workers run", func() error { return w.workers(cluster, 3, 0) })

	w.scale(cluster, 1, w.podsOf(cluster)[:2]...)
	w.eventually("workers are removed", func() error { return w.workers(cluster, 1, 0) })
	if err := w.client.Delete(w.Context(), cluster); err != nil {
		w.Fatal(err)
	}
}

// elastic is a cluster with a worker, whose size Kueue lets change. It takes 400m of CPU, and each further worker 200m.
func (w *world) elastic(name string) *rayv1.RayCluster {
	template := func(container string) corev1.PodTemplateSpec {
		each := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m"), corev1.ResourceMemory: resource.MustParse("100Mi")}
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: container, Image: "rayproject/ray:2.60.0", Resources: corev1.ResourceRequirements{Requests: each},
		}}}}
	}
	rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: name, Labels: map[string]string{"kueue.x-k8s.io/queue-name": "team-a"},
		Annotations: map[string]string{"kueue.x-k8s.io/elastic-job": "true"},
	}}
	rc.Spec = rayv1.RayClusterSpec{
		RayVersion: "2.60.0", EnableInTreeAutoscaling: new(true), HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: template("ray-head")},
		WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
			GroupName: "cpu", Replicas: new(int32(1)), MinReplicas: new(int32(1)), MaxReplicas: new(int32(5)), RayStartParams: map[string]string{}, Template: template("ray-worker"),
		}},
	}
	return rc
}

// scale changes the size as Ray's autoscaler does it, which names the Pods to remove.
func (w *world) scale(rc *rayv1.RayCluster, replicas int32, remove ...string) {
	w.Helper()
	w.eventually("changing the size", func() error {
		if err := w.client.Get(w.Context(), client.ObjectKeyFromObject(rc), rc); err != nil {
			return err
		}
		group := &rc.Spec.WorkerGroupSpecs[0]
		group.Replicas, group.ScaleStrategy.WorkersToDelete = &replicas, remove
		return w.client.Update(w.Context(), rc)
	})
}

// podsOf are the names of the workers.
func (w *world) podsOf(rc *rayv1.RayCluster) (names []string) {
	w.Helper()
	var pods corev1.PodList
	if err := w.client.List(w.Context(), &pods, client.InNamespace(w.namespace), workersOf(rc)); err != nil {
		w.Fatal(err)
	}
	for _, p := range pods.Items {
		names = append(names, p.Name)
	}
	return names
}

func workersOf(rc *rayv1.RayCluster) client.MatchingLabels {
	return client.MatchingLabels{rayv1.LabelCluster: rc.Name, rayv1.LabelNodeType: string(rayv1.WorkerNode)}
}

// workers returns an error unless the cluster has these numbers of running and of gated workers.
func (w *world) workers(rc *rayv1.RayCluster, running, gated int) error {
	var pods corev1.PodList
	if err := w.client.List(w.Context(), &pods, client.InNamespace(w.namespace), workersOf(rc)); err != nil {
		return err
	}
	got := map[bool]int{}
	for _, p := range pods.Items {
		if len(p.Spec.SchedulingGates) > 0 || p.Status.Phase == corev1.PodRunning {
			got[len(p.Spec.SchedulingGates) > 0]++
		}
	}
	if got[false] != running || got[true] != gated || len(pods.Items) != running+gated {
		return fmt.Errorf("%d Pods, of which %d run and %d are gated", len(pods.Items), got[false], got[true])
	}
	return nil
}
