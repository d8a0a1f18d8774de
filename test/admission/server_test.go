package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/test/controlplane"
)

// server is the API server of all tests of the package. It has the CRDs and neither webhooks nor controllers.
var server struct {
	*controlplane.Env
	dynamic dynamic.Interface
	quiet   dynamic.Interface // prints no warnings
	core    kubernetes.Interface
}

func TestMain(m *testing.M) {
	if controlplane.ShortMain("test/admission") {
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	env, stop, err := controlplane.StartForMain(controlplane.Options{Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true})
	if err != nil {
		return 0, err
	}
	defer stop()
	server.Env = env
	env.Config.WarningHandler = rest.NoWarnings{} // v1alpha1 and unknown fields warn; tests of that bring a handler of their own
	if server.dynamic, err = dynamic.NewForConfig(env.Config); err != nil {
		return 0, err
	}
	silent := rest.CopyConfig(env.Config)
	silent.WarningHandler = rest.NoWarnings{}
	if server.quiet, err = dynamic.NewForConfig(silent); err != nil {
		return 0, err
	}
	if server.core, err = kubernetes.NewForConfig(env.Config); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

const namespace = metav1.NamespaceDefault

var plurals = []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"}

func resourceOf(plural string) dynamic.ResourceInterface {
	return server.dynamic.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: plural}).Namespace(namespace)
}

func crds() dynamic.ResourceInterface {
	return server.dynamic.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
}

// dryRun asks for everything but the write.
var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// toUnstructured is what a client sends: JSON without status and without what only the API server sets.
func toUnstructured(t testing.TB, object any) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u
}

// causesOf returns the problems in a refusal. Any other error ends the test.
func causesOf(t testing.TB, err error) []metav1.StatusCause {
	t.Helper()
	if err == nil {
		return nil
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Reason != metav1.StatusReasonInvalid || status.ErrStatus.Details == nil {
		t.Fatalf("the API server did not answer with a verdict: %v", err)
	}
	return celrules.Causes(status.ErrStatus.Details.Causes)
}

// eventually waits for what the API server does in the background, such as taking up a changed CRD.
func eventually(t testing.TB, what string, done func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !done(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("timed out waiting for %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stored reads what etcd holds, past the API server. The resource is that of the URL, as in ray.io/rayclusters.
func stored(t testing.TB, resource, name string) map[string]any {
	t.Helper()
	return server.Stored(t, resource, namespace, name)
}

func decodeJSON(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}
