package rayjob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/test/controlplane"
)

// controlPlane leaves Pods unscheduled.
var controlPlane = controlplane.Share(controlplane.Options{Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// TestAccepted hands the children of all golden inputs, and the head Pods of their clusters, to a real API server, which warns
// about variables that are given twice.
func TestAccepted(t *testing.T) {
	env := controlPlane.Env(t)
	config := rest.CopyConfig(env.Config)
	config.WarningHandler = failOnWarning{t}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, create := t.Context(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, _ = client.CoreV1().ServiceAccounts("ns1").Create(ctx, account, metav1.CreateOptions{}) // may exist

	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("finding inputs: %v, %d found", err, len(inputs))
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".in.yaml"), func(t *testing.T) {
			document, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			j := &rayv1.RayJob{}
			if err := yaml.UnmarshalStrict(document, j); err != nil {
				t.Fatal(err)
			}
			for _, child := range children(j) {
				var err error
				switch child := child.(type) {
				case *rayv1.RayCluster:
					child.UID = "u"
					_, err = client.CoreV1().Pods("ns1").Create(ctx, pod.Head(child, pod.Options{}), create)
				case *corev1.Service:
					_, err = client.CoreV1().Services("ns1").Create(ctx, child, create)
				case *batchv1.Job:
					_, err = client.BatchV1().Jobs("ns1").Create(ctx, child, create)
				}
				if err != nil {
					t.Errorf("creating %T: %v", child, err)
				}
			}
		})
	}
}

type failOnWarning struct{ t *testing.T }

// HandleWarningHeader implements rest.WarningHandler.
func (f failOnWarning) HandleWarningHeader(_ int, _, text string) {
	f.t.Errorf("the API server warns: %s", text)
}
