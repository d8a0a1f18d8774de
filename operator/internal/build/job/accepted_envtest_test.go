package job

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/test/controlplane"
)

// TestAcceptedWithoutWarnings hands what is built from all golden inputs, here and of package pod, to a real API server.
func TestAcceptedWithoutWarnings(t *testing.T) {
	env := controlPlane.Env(t)
	config := rest.CopyConfig(env.Config)
	warnings := &controlplane.Warnings{}
	config.WarningHandler = warnings
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for _, pattern := range []string{"../pod/testdata/*.in.yaml", "testdata/*.in.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("finding %s: %v, %d found", pattern, err, len(found))
		}
		inputs = append(inputs, found...)
	}
	ctx, create := t.Context(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"demo", "mine", "default"} {
		sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().ServiceAccounts("ns1").Create(ctx, sa, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	o := pod.Options{OperatorVersion: "raygate-test", MTLS: true, HistoryServer: true}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			text, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			rc := &rayv1.RayCluster{}
			if err := yaml.UnmarshalStrict(text, rc); err != nil {
				t.Fatal(err)
			}
			pods := []*corev1.Pod{pod.Head(rc, o)}
			for i := range rc.Spec.WorkerGroupSpecs {
				pods = append(pods, pod.Worker(rc, &rc.Spec.WorkerGroupSpecs[i], o))
			}
			for _, p := range pods {
				if _, err := client.CoreV1().Pods("ns1").Create(ctx, p, create); err != nil {
					t.Errorf("creating Pod %s: %v", p.GenerateName, err)
				}
			}
			if _, err := client.BatchV1().Jobs("ns1").Create(ctx, RedisCleanup(rc, o), create); err != nil {
				t.Errorf("creating the Job: %v", err)
			}
			for _, w := range warnings.Take() {
				t.Errorf("the API server warns: %s", w)
			}
		})
	}
}
