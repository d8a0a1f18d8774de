package job

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

// TestForegroundDeletionSparesTheJob lets the garbage collector delete what belongs to a cluster while the clean-up is to
// run. It says that it is done by taking its finalizer off the cluster; were the Job to go, it would be gone by then.
func TestForegroundDeletionSparesTheJob(t *testing.T) {
	env := controlPlane.Env(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	clusters := dynamic.NewForConfigOrDie(env.Config).Resource(rayv1.GroupVersion.WithResource("rayclusters")).Namespace("default")
	ctx := t.Context()

	rc := raytest.RayCluster("default/demo", raytest.Spec(redis), raytest.UID(""))
	rc.Finalizers = []string{rayv1.FinalizerGCSFTRedisCleanup}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rc)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := clusters.Create(ctx, &unstructured.Unstructured{Object: m}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rc.UID = stored.GetUID()

	// A worker that takes its time, so that the collector is still at work when the Job is created.
	worker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "worker",
		Finalizers:      []string{"raygate.io/test"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rc, rayv1.GroupVersion.WithKind("RayCluster"))},
	}}
	workers := client.CoreV1().ConfigMaps("default")
	if _, err := workers.Create(ctx, worker, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	foreground := metav1.DeletePropagationForeground
	if err := clusters.Delete(ctx, rc.Name, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the collector deletes the worker", func(ctx context.Context) (bool, error) {
		w, err := workers.Get(ctx, worker.Name, metav1.GetOptions{})
		return err == nil && w.DeletionTimestamp != nil, err
	})

	job := RedisCleanup(rc, pod.Options{})
	if _, err := client.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	worker.Finalizers = nil
	if _, err := workers.Update(ctx, worker, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the collector is done with the cluster", func(ctx context.Context) (bool, error) {
		c, err := clusters.Get(ctx, rc.Name, metav1.GetOptions{})
		return err == nil && !slices.Contains(c.GetFinalizers(), metav1.FinalizerDeleteDependents), err
	})
	left, err := client.BatchV1().Jobs("default").Get(ctx, job.Name, metav1.GetOptions{})
	if err != nil || left.DeletionTimestamp != nil {
		t.Errorf("want the Job to stay as long as the cluster, got %v and error %v", left.DeletionTimestamp, err)
	}
}

func eventually(t *testing.T, what string, is func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 3*time.Minute, true, is); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
