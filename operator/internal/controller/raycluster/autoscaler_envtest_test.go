package raycluster

import (
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/test/controlplane"
)

// autoscaler is what the Ray autoscaler of a cluster can do: a client with a token of its ServiceAccount.
func (w *world) autoscaler(cluster string) client.WithWatch {
	w.T.Helper()
	admin, err := kubernetes.NewForConfig(w.config)
	if err != nil {
		w.T.Fatal(err)
	}
	token, err := admin.CoreV1().ServiceAccounts(w.Namespace).CreateToken(w.T.Context(), cluster, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	config := rest.AnonymousClientConfig(w.config)
	config.BearerToken = token.Status.Token
	c, err := client.NewWithWatch(config, client.Options{Scheme: controlplane.Scheme(w.T)})
	if err != nil {
		w.T.Fatal(err)
	}
	return c
}

// replaced is the JSON patch that Ray sends.
func replaced(path, value string) client.Patch {
	return client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"replace","path":%q,"value":%s}]`, path, value))
}

func TestAutoscalerCanDoItsWorkWithItsOwnRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asOperator()
	w.startOperator()
	w.Create(w.cluster("demo", raytest.Workers("cpu", 1), raytest.Autoscaling()))
	w.eventuallyReady("demo")
	c := w.autoscaler("demo")
	ctx := t.Context()

	rc := &rayv1.RayCluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "demo"}, rc); err != nil {
		t.Fatalf("reading its cluster: %v", err)
	}
	mine := []client.ListOption{client.InNamespace(w.Namespace), client.MatchingLabels{rayv1.LabelCluster: "demo"}}
	watched, err := c.Watch(ctx, &corev1.PodList{}, mine...)
	if err != nil {
		t.Fatalf("watching Pods: %v", err)
	}
	watched.Stop()

	if err := c.Patch(ctx, rc, replaced("/spec/workerGroupSpecs/0/replicas", "3")); err != nil {
		t.Fatalf("asking for workers: %v", err)
	}
	w.Eventually("3 ready workers", func() bool { return w.get("demo").Status.ReadyWorkerReplicas == 3 })

	var pods corev1.PodList
	if err := c.List(ctx, &pods, mine...); err != nil {
		t.Fatalf("listing Pods: %v", err)
	}
	var victim *corev1.Pod
	for i := range pods.Items {
		if pods.Items[i].Labels[rayv1.LabelNodeType] == string(rayv1.WorkerNode) {
			victim = &pods.Items[i]
		}
	}
	if err := c.Patch(ctx, victim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"seen":"idle"}}}`))); err != nil {
		t.Errorf("patching a Pod: %v", err)
	}
	size := []byte(`{"spec":{"containers":[{"name":"ray-worker","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}]}}`)
	if err := c.SubResource("resize").Patch(ctx, victim.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, size)); err != nil && !apierrors.IsInvalid(err) {
		t.Errorf("resizing a Pod: %v", err) // simulated nodes cannot; that is found out after the rights were looked at
	}

	// Ray lowers the count and names the victim in one patch, and clears the list when the Pod is gone.
	down := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[
		{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":2},
		{"op":"replace","path":"/spec/workerGroupSpecs/0/scaleStrategy","value":{"workersToDelete":[%q]}}]`, victim.Name))
	if err := c.Patch(ctx, rc, down); err != nil {
		t.Fatalf("naming a victim: %v", err)
	}
	w.Eventually("the victim, and nobody else, to go", func() bool {
		return len(w.pods("demo")) == 3 && !w.Read(victim.DeepCopy())
	})
	if err := c.Patch(ctx, rc, replaced("/spec/workerGroupSpecs/0/scaleStrategy", `{"workersToDelete":[]}`)); err != nil {
		t.Fatalf("clearing the list: %v", err)
	}
}

func TestAutoscalerCanDoNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asOperator()
	w.startOperator()
	w.Create(w.cluster("demo", raytest.Workers("cpu", 1), raytest.Autoscaling()))
	w.Create(w.cluster("other"))
	w.eventuallyReady("demo")
	w.eventuallyReady("other")
	elsewhere := newWorld(t)
	c := w.autoscaler("demo")
	ctx := t.Context()
	own, other, pod := w.get("demo"), w.get("other"), &w.pods("demo")[0]
	nothing := client.RawPatch(types.MergePatchType, []byte(`{}`))
	at := metav1.ObjectMeta{Namespace: w.Namespace, Name: "demo"}

	for what, do := range map[string]func() error{
		"patch another cluster":     func() error { return c.Patch(ctx, other, nothing) },
		"read another cluster":      func() error { return c.Get(ctx, client.ObjectKeyFromObject(other), other) },
		"list clusters":             func() error { return c.List(ctx, &rayv1.RayClusterList{}, client.InNamespace(w.Namespace)) },
		"delete its cluster":        func() error { return c.Delete(ctx, own) },
		"create a cluster":          func() error { return c.Create(ctx, w.cluster("third")) },
		"patch the status":          func() error { return c.Status().Patch(ctx, own, nothing) },
		"delete a Pod":              func() error { return c.Delete(ctx, pod) },
		"create a Pod":              func() error { return c.Create(ctx, &corev1.Pod{ObjectMeta: at}) },
		"patch the status of a Pod": func() error { return c.Status().Patch(ctx, pod, nothing) },
		"read a Secret": func() error {
			return c.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "demo"}, &corev1.Secret{})
		},
		"list Secrets": func() error { return c.List(ctx, &corev1.SecretList{}, client.InNamespace(w.Namespace)) },
		"read a Service": func() error {
			return c.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "demo-head-svc"}, &corev1.Service{})
		},
		"list Pods of other namespaces": func() error { return c.List(ctx, &corev1.PodList{}, client.InNamespace(elsewhere.Namespace)) },
		"list all Pods":                 func() error { return c.List(ctx, &corev1.PodList{}) },
		"become another ServiceAccount": func() error {
			sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "default"}}
			return c.SubResource("token").Create(ctx, sa, &authenticationv1.TokenRequest{})
		},
	} {
		if err := do(); !apierrors.IsForbidden(err) {
			t.Errorf("the autoscaler may %s: %v", what, err)
		}
	}
}
