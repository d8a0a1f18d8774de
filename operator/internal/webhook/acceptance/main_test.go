// Package acceptance tests the webhooks on a real API server. The webhook server runs in the test process, so that
// tests can count its calls and spoil its answers; the registrations are those of operator/config.
package acceptance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/go-logr/logr"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/operator/internal/webhook"
	"github.com/raygate/raygate/operator/internal/webhook/certs"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/test/controlplane"
)

const (
	configDir = "../../../config"
	hub       = "v1"
	old       = "v1alpha1"
	extra     = "conversion.ray.io/v1-extra"
	limit     = controlplane.WaitTimeout
)

var (
	env   *controlplane.Env
	hooks = &spoiler{}
	// authority verifies the webhook server, whose certificate is in certDir.
	authority []byte
	certDir   string
)

func TestMain(m *testing.M) {
	if controlplane.ShortMain("operator/internal/webhook/acceptance") {
		return
	}
	ctrllog.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	e, stop, err := controlplane.StartForMain(controlplane.Options{Own: true, Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true})
	if err != nil {
		return 0, err
	}
	defer stop()
	env = e
	if certDir, err = os.MkdirTemp("", "raygate-webhook-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(certDir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := serve(ctx); err != nil {
		return 0, err
	}
	if err := register(ctx); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// spoiler stands between the API server and the webhooks.
type spoiler struct {
	ctrlwebhook.Server

	mu    sync.Mutex
	calls map[string]int // by path; conversions by path and wanted version
	spoil map[string]func(http.ResponseWriter, *http.Request, http.Handler)
	base  string
}

// Register registers the hook behind what spoils its answers.
func (s *spoiler) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		key := path
		if path == webhook.ConvertPath {
			var review struct {
				Request struct{ DesiredAPIVersion string }
			}
			_ = json.Unmarshal(body, &review)
			key += " " + review.Request.DesiredAPIVersion
		}
		s.mu.Lock()
		s.calls[key]++
		spoil := s.spoil[path]
		s.mu.Unlock()
		if spoil != nil {
			spoil(w, r, hook)
			return
		}
		hook.ServeHTTP(w, r)
	}))
}

func (s *spoiler) count(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[key]
}

// with spoils the answers at the paths until the end of the test.
func (s *spoiler) with(t *testing.T, spoil func(http.ResponseWriter, *http.Request, http.Handler), paths ...string) {
	t.Helper()
	s.mu.Lock()
	for _, path := range paths {
		s.spoil[path] = spoil
	}
	s.mu.Unlock()
	t.Cleanup(func() { s.heal(paths...) })
}

func (s *spoiler) heal(paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range paths {
		delete(s.spoil, path)
	}
}

// gone breaks the connection, as a webhook does that is down.
func gone(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

func serve(ctx context.Context) error {
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	authority = cert
	if err := errors.Join(os.WriteFile(filepath.Join(certDir, "tls.crt"), cert, 0o600), os.WriteFile(filepath.Join(certDir, "tls.key"), key, 0o600)); err != nil {
		return err
	}
	ports, err := programs.FreePorts(1)
	if err != nil {
		return err
	}
	port := ports[0]
	hooks.calls, hooks.spoil = map[string]int{}, map[string]func(http.ResponseWriter, *http.Request, http.Handler){}
	hooks.base = fmt.Sprintf("https://127.0.0.1:%d", port)
	hooks.Server = ctrlwebhook.NewServer(ctrlwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: certDir})
	// All gates are on: the samples show features behind them, too.
	gates := map[validation.Gate]bool{
		validation.GateDeletionPolicy: true, validation.GateMultiHostIndexing: true, validation.GateNetworkPolicy: true,
		validation.GateMTLS: true, validation.GateHistoryServer: true, validation.GateEmbeddedGCSStorage: true,
	}
	webhook.Register(hooks.Register, validation.Options{Gates: gates}, webhook.StageEnforce, webhook.NewMetrics(), nil)
	failed := make(chan error, 1)
	go func() { failed <- hooks.Start(ctx) }()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		if err := hooks.StartedChecker()(nil); err == nil {
			return nil
		} else if time.Now().After(deadline) {
			return err
		}
		select {
		case err := <-failed:
			return fmt.Errorf("the webhook server ended: %w", err)
		default:
		}
	}
}

// register applies the webhook configurations and the conversion of the overlays, with the URL of this process.
func register(ctx context.Context) error {
	dyn, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		return err
	}
	for file, resource := range map[string]string{"validating.yaml": "validatingwebhookconfigurations", "mutating.yaml": "mutatingwebhookconfigurations"} {
		data, err := os.ReadFile(filepath.Join(configDir, "components/webhook", file))
		if err != nil {
			return err
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &obj.Object); err != nil {
			return err
		}
		for _, w := range obj.Object["webhooks"].([]any) {
			config := w.(map[string]any)["clientConfig"].(map[string]any)
			service := config["service"].(map[string]any)
			w.(map[string]any)["clientConfig"] = clientConfig(service["path"].(string))
		}
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		if _, err := dyn.Resource(gvr).Create(ctx, obj, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := setConversion(ctx, certs.CRDs...); err != nil {
		return err
	}
	return awaitWebhooks(ctx)
}

func clientConfig(path string) map[string]any {
	return map[string]any{"url": hooks.base + path, "caBundle": base64.StdEncoding.EncodeToString(authority)}
}

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func setConversion(ctx context.Context, names ...string) error {
	dyn, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"conversion": map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{
			"url": hooks.base + webhook.ConvertPath, "caBundle": base64.StdEncoding.EncodeToString(authority),
		}},
	}}})
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := dyn.Resource(crds).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// awaitWebhooks waits until the API server calls all of them: it learns of a registration a moment later.
func awaitWebhooks(ctx context.Context) error {
	c := connect(nil)
	probe := decode(oldCluster("probe")) // valid, or the CRDs would refuse it before a webhook is asked
	for _, resource := range []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"} {
		obj, version := probe.DeepCopy(), old
		switch resource {
		case "rayjobs":
			obj.Object["kind"], obj.Object["spec"] = "RayJob", map[string]any{"entrypoint": "a", "rayClusterSpec": probe.Object["spec"]}
		case "rayservices":
			obj.Object["kind"], obj.Object["spec"] = "RayService", map[string]any{"serveConfigV2": "applications: []", "rayClusterConfig": probe.Object["spec"]}
		case "raycronjobs":
			version = hub
			obj.SetAPIVersion("ray.io/" + hub)
			obj.Object["kind"], obj.Object["spec"] = "RayCronJob", map[string]any{"schedule": "@daily", "jobTemplate": map[string]any{"entrypoint": "a", "rayClusterSpec": probe.Object["spec"]}}
		}
		kind := strings.ToLower(obj.GetKind())
		want := []string{"/validate-ray-io-v1-" + kind}
		if version == old {
			want = append(want, "/mutate-ray-io-v1-"+kind, webhook.ConvertPath+" ray.io/v1")
		}
		before := map[string]int{}
		for _, key := range want {
			before[key] = hooks.count(key)
		}
		for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
			_, err := c.resource(resource, version, "default").Create(ctx, obj, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			missing := ""
			for _, key := range want {
				if hooks.count(key) == before[key] {
					missing = key
				}
			}
			if missing == "" {
				break
			}
			if time.Now().After(deadline) {
				return errors.Join(fmt.Errorf("the API server does not call %s", missing), err)
			}
		}
	}
	return nil
}

// client is a client that keeps warnings.
type client struct {
	dyn      dynamic.Interface
	warnings controlplane.Warnings
}

// taken returns the warnings since the last call.
func (c *client) taken() string { return strings.Join(c.warnings.Take(), "\n") }

func connect(t *testing.T) *client { return connectAs(t, "") }

// connectAs acts as a user with all rights; no name means the administrator.
func connectAs(t *testing.T, user string) *client {
	c := &client{}
	cfg := rest.CopyConfig(env.Config)
	if user != "" {
		cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	}
	cfg.WarningHandler = &c.warnings
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		if t == nil {
			panic(err)
		}
		t.Fatal(err)
	}
	c.dyn = dyn
	return c
}

func (c *client) resource(resource, version, namespace string) dynamic.ResourceInterface {
	return c.dyn.Resource(schema.GroupVersionResource{Group: "ray.io", Version: version, Resource: resource}).Namespace(namespace)
}

func (c *client) clusters(version, namespace string) dynamic.ResourceInterface {
	return c.resource("rayclusters", version, namespace)
}

// newNamespace keeps the tests apart.
func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "t-"}}}
	made, err := connect(t).dyn.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.GetName()
}

const template = `{spec: {containers: [{name: ray, image: "rayproject/ray:2.52.0", resources: {requests: {cpu: 1000m, memory: 2Gi}, limits: {cpu: 1000m, memory: 2Gi}}}]}}`

// cluster is a valid RayCluster of v1 with a field of every sort that v1alpha1 lacks.
func cluster(name string) string {
	return `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ` + name + `}
spec:
  managedBy: ray.io/kuberay-operator
  rayVersion: 2.52.0
  upgradeStrategy: {type: None}
  headGroupSpec: {labels: {zone: north}, template: ` + template + `}
  workerGroupSpecs:
  - {groupName: a, replicas: 1, maxReplicas: 5, numOfHosts: 2, template: ` + template + `}
  - {groupName: b, replicas: 1, maxReplicas: 5, labels: {tier: gold}, template: ` + template + `}
`
}

// oldCluster is a valid RayCluster of v1alpha1.
func oldCluster(name string) string {
	return `
apiVersion: ray.io/v1alpha1
kind: RayCluster
metadata: {name: ` + name + `}
spec:
  rayVersion: 2.52.0
  suspend: false
  headGroupSpec: {rayStartParams: {}, template: ` + template + `}
  workerGroupSpecs:
  - {groupName: a, replicas: 1, maxReplicas: 5, rayStartParams: {}, template: ` + template + `}
  - {groupName: b, replicas: 1, maxReplicas: 5, rayStartParams: {}, template: ` + template + `}
`
}

// invalid breaks a rule that no schema can see: fault tolerance is asked for in two ways.
func invalid(name string) string {
	return strings.NewReplacer("metadata: {name: "+name, "metadata: {name: "+name+`, annotations: {ray.io/ft-enabled: "true"}`,
		"  rayVersion", "  gcsFaultToleranceOptions: {redisAddress: 'redis:6379'}\n  rayVersion").Replace(cluster(name))
}

func decode(text string) *unstructured.Unstructured {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		panic(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		panic(err)
	}
	return obj
}

// create makes an object; obj says its version.
func create(t *testing.T, c *client, resource, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	obj := decode(text)
	made, err := c.resource(resource, obj.GroupVersionKind().Version, namespace).Create(t.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating %s: %v", obj.GetName(), err)
	}
	return made
}

func get(t *testing.T, c *client, resource, version, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	obj, err := c.resource(resource, version, namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("reading %s as %s: %v", name, version, err)
	}
	return obj
}

// stored reads what etcd holds, past the API server.
func stored(t *testing.T, resource, namespace, name string) map[string]any {
	t.Helper()
	return env.Stored(t, "ray.io/"+resource, namespace, name)
}

func field(t *testing.T, obj map[string]any, path ...string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(obj, path...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// group returns a worker group by name, or nil.
func group(t *testing.T, obj map[string]any, name string) map[string]any {
	t.Helper()
	list, _ := field(t, obj, "spec", "workerGroupSpecs").([]any)
	for _, g := range list {
		if g := g.(map[string]any); g["groupName"] == name {
			return g
		}
	}
	return nil
}
