package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/test/controlplane"
)

const namespace = metav1.NamespaceDefault

var controlPlane = controlplane.Share(controlplane.Options{CRDs: controlplane.NoCRDs, Own: true, Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// dryRun asks for everything but the write.
var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// cluster is an API server without any CRD of ours.
type cluster struct {
	env     *controlplane.Env
	dynamic dynamic.Interface
}

// connect skips the test unless all tests run.
func connect(t *testing.T) *cluster {
	t.Helper()
	suite.All(t, "fails only when Kubernetes changes")
	env := controlPlane.Env(t)
	cfg := rest.CopyConfig(env.Config)
	cfg.WarningHandler = rest.NoWarnings{} // unknown fields warn
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{env: env, dynamic: client}
}

// The tests of small CRDs show what the API server does with what our CRDs depend on.

// fixture is a small CRD with one property, spec, of the given schema.
func fixture(t *testing.T, plural, spec string) *unstructured.Unstructured {
	t.Helper()
	kind := strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s")
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]s.fixtures.example.com},
spec: {group: fixtures.example.com, scope: Namespaced, names: {plural: %[1]s, singular: %[2]s, kind: %[3]s, listKind: %[3]sList},
versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: %[4]s}}}}]}}`,
		plural, strings.ToLower(kind), kind, spec)
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

// install makes the fixture usable for the time of the test.
func (c *cluster) install(t *testing.T, plural, spec string) dynamic.ResourceInterface {
	t.Helper()
	return c.installCRD(t, fixture(t, plural, spec))
}

func (c *cluster) installCRD(t *testing.T, crd *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	if _, err := c.crds().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.crds().Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}) })
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	client := c.dynamic.Resource(schema.GroupVersionResource{Group: "fixtures.example.com", Version: "v1", Resource: plural}).Namespace(namespace)
	eventually(t, "the CRD "+plural, func(ctx context.Context) bool {
		_, err := client.List(ctx, metav1.ListOptions{})
		return err == nil
	})
	return client
}

// changeFixture gives the spec of a fixture that is installed another schema.
func (c *cluster) changeFixture(t *testing.T, plural, spec string) {
	t.Helper()
	crd, err := c.crds().Get(t.Context(), plural+".fixtures.example.com", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	crd.Object["spec"] = fixture(t, plural, spec).Object["spec"]
	if _, err := c.crds().Update(t.Context(), crd, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// wholeSchema is a CRD of which all of the schema is given, and not only that of spec.
func wholeSchema(t *testing.T, schema string) *unstructured.Unstructured {
	t.Helper()
	crd := fixture(t, "fixtures", "{type: object}")
	var content map[string]any
	if err := yaml.Unmarshal([]byte(schema), &content); err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	setSchemas(t, crd, content)
	return crd
}

// setSchemas gives a CRD one version for each schema: v1, which is stored, then v2.
func setSchemas(t *testing.T, crd *unstructured.Unstructured, schemas ...map[string]any) {
	t.Helper()
	var versions []any
	for i, s := range schemas {
		versions = append(versions, map[string]any{
			"name": []string{"v1", "v2"}[i], "served": true, "storage": i == 0,
			"schema": map[string]any{"openAPIV3Schema": s},
		})
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
}

// thing is an object of a fixture.
func thing(t *testing.T, plural, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	kind := strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s")
	if err := yaml.Unmarshal(fmt.Appendf(nil, "{apiVersion: fixtures.example.com/v1, kind: %s, metadata: {name: %s}, spec: %s}", kind, name, spec), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func wantRefusal(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: refused: %v", what, err)
	case want != "" && err == nil:
		t.Errorf("%s: accepted, want a refusal with %q", what, want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("%s: refused with %v, want %q", what, err, want)
	}
}

func (c *cluster) crds() dynamic.ResourceInterface {
	return c.dynamic.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
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
	return status.ErrStatus.Details.Causes
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

// stored reads what etcd holds, past the API server. The resource is that of the URL, as in fixtures.example.com/shelves.
func (c *cluster) stored(t testing.TB, resource, name string) map[string]any {
	t.Helper()
	return c.env.Stored(t, resource, namespace, name)
}

// parse reads YAML as it comes over the wire: numbers are int64 or float64.
func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Any","content":` + string(raw) + `}`)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u.Object["content"].(map[string]any)
}
