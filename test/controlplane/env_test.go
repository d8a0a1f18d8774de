package controlplane_test

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/test/controlplane"
)

// TestEnv walks through the life of a control plane: Pods become Ready, a crash
// of the API server loses nothing, and nothing is left behind.
func TestEnv(t *testing.T) {
	env := controlplane.Start(t, controlplane.Options{CRDs: controlplane.NoCRDs, Own: true})
	client, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), controlplane.WaitTimeout)
	defer cancel()
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "demo"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitReady := func() {
		t.Helper()
		for {
			got, err := pods.Get(ctx, "demo", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range got.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && got.Status.PodIP != "" {
					if got.UID != created.UID {
						t.Fatalf("want Pod %s, got another one %s", created.UID, got.UID)
					}
					return
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	awaitReady()

	if err := env.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Get(ctx, "demo", metav1.GetOptions{}); err == nil {
		t.Fatal("the API server answers after it was killed")
	}
	for range 2 { // when it is down, and when it runs
		if err := env.RestartAPIServer(); err != nil {
			t.Fatal(err)
		}
		awaitReady()
	}

	env.Stop()
	if _, err := os.Stat(env.Dir); !os.IsNotExist(err) {
		t.Errorf("want %s removed, got %v", env.Dir, err)
	}
	if _, err := pods.Get(ctx, "demo", metav1.GetOptions{}); err == nil {
		t.Error("the API server answers after Stop")
	}
}
