package deviceadmission_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
	"github.com/raygate/raygate/test/controlplane"
)

// Pods stay pending: nothing is scheduled. Each webhook is registered for the namespace of its test.
var controlPlane = controlplane.Share(controlplane.Options{CRDs: controlplane.LightCRDs, Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	controlPlane.Main(m)
}

// world is a namespace with the webhooks registered for it.
type world struct {
	*controlplane.World
	warnings *controlplane.Warnings
	registry *load.Live
	replicas []*replica
	next     map[string]*atomic.Int64 // by path
	server   *httptest.Server
}

// warned returns the warnings of the API server since the last call.
func (w *world) warned() string { return strings.Join(w.warnings.Take(), "\n") }

// replica is one server of the webhooks with its own view of Pods and quotas.
type replica struct {
	handlers sync.Map // path to http.Handler
	engine   *devicequota.Engine
	metrics  *deviceadmission.Metrics
	calls    sync.Map // path to *atomic.Int64
	stop     context.CancelFunc
}

func (r *replica) Register(path string, h http.Handler) {
	n := &atomic.Int64{}
	r.calls.Store(path, n)
	r.handlers.Store(path, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n.Add(1)
		h.ServeHTTP(w, req)
	}))
}

func (r *replica) count(path string) int64 {
	n, _ := r.calls.Load(path)
	return n.(*atomic.Int64).Load()
}

type settings struct {
	registry string                       // empty means the shipped one
	live     *load.Live                   // in place of registry
	replicas int                          // 0 means 1
	clock    clock.PassiveClock           // nil means that of the machine
	strict   bool                         // replicas share reservations
	edit     func(webhook map[string]any) // changes the registration
}

func newWorld(t *testing.T, s settings) *world {
	t.Helper()
	if s.registry == "" {
		s.registry = string(shipped.HAMi)
	}
	if s.live == nil {
		p, err := load.Registry([]byte(s.registry))
		if err != nil {
			t.Fatal(err)
		}
		s.live = load.NewLive(p)
	}
	env := controlPlane.Env(t)
	w := &world{World: env.World(t, "devices-"), warnings: &controlplane.Warnings{}, registry: s.live,
		next: map[string]*atomic.Int64{deviceadmission.MutatePath: {}, deviceadmission.ValidatePath: {}, "/neighbour": {}}}
	config := rest.CopyConfig(env.Config)
	config.WarningHandler = w.warnings
	var err error
	if w.Client, err = client.New(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	for range max(1, s.replicas) {
		w.replicas = append(w.replicas, w.startReplica(env, s, true))
	}
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		r := w.replicas[int(w.next[req.URL.Path].Add(1))%len(w.replicas)] // by turns
		h, _ := r.handlers.Load(req.URL.Path)
		h.(http.Handler).ServeHTTP(rw, req)
	}))
	t.Cleanup(w.server.Close)
	w.register(s.edit)
	return w
}

// startReplica starts one; it knows all Pods and quotas when this returns, if it has to.
func (w *world) startReplica(env *controlplane.Env, s settings, wait bool) *replica {
	w.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.T.Cleanup(cancel)
	c, err := cache.New(env.Config, cache.Options{
		Scheme: clientgoscheme.Scheme, DefaultNamespaces: w.Namespaces(), ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: devicequota.Slim}},
	})
	if err != nil {
		w.T.Fatal(err)
	}
	o := devicequota.Options{Registry: w.registry, Clock: s.clock}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if s.strict {
		c := w.operator(env)
		o.Ledger = &devicequota.Ledger{Reader: c, Writer: c, Namespace: operatorNamespace}
	}
	r := &replica{metrics: deviceadmission.NewMetrics(), stop: cancel, engine: devicequota.New(o)}
	if err := r.engine.Watch(ctx, c); err != nil {
		w.T.Fatal(err)
	}
	deviceadmission.Register(r.Register, w.registry, r.engine, r.metrics)
	if !wait {
		return r
	}
	go func() { _ = c.Start(ctx) }()
	w.Eventually("a replica to know all Pods", r.engine.Ready)
	return r
}

const (
	operatorNamespace = "raygate-system"
	component         = "../../../config/components/device-admission"
)

// operator is a client with the rights that the component gives to the operator, and no others.
func (w *world) operator(env *controlplane.Env) client.Client {
	w.T.Helper()
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}}
	for _, file := range []string{"role.yaml", "role_binding.yaml", "reservations_role.yaml", "reservations_role_binding.yaml"} {
		data, err := os.ReadFile(filepath.Join(component, file))
		if err != nil {
			w.T.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(data, &u.Object); err != nil {
			w.T.Fatal(err)
		}
		objects = append(objects, u)
	}
	for _, o := range objects { // of all worlds of the control plane
		if err := w.Client.Create(w.T.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			w.T.Fatal(err)
		}
	}
	config := rest.CopyConfig(env.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + operatorNamespace + ":raygate-operator"}
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		w.T.Fatal(err)
	}
	return c
}

// register applies the registrations of the component for this namespace.
func (w *world) register(edit func(map[string]any)) {
	w.T.Helper()
	for _, kind := range []string{"Mutating", "Validating"} {
		data, err := os.ReadFile(filepath.Join(component, strings.ToLower(kind)+"_patch.yaml"))
		if err != nil {
			w.T.Fatal(err)
		}
		var patch []struct{ Value map[string]any }
		if err := yaml.Unmarshal(data, &patch); err != nil || len(patch) != 1 {
			w.T.Fatalf("%v, %d operations", err, len(patch))
		}
		hook := patch[0].Value
		path := hook["clientConfig"].(map[string]any)["service"].(map[string]any)["path"].(string)
		hook["clientConfig"] = w.clientConfig(path)
		hook["namespaceSelector"].(map[string]any)["matchLabels"] = map[string]any{"kubernetes.io/metadata.name": w.Namespace}
		hook["failurePolicy"] = "Fail" // an internal error must not look like a Pod that needs nothing
		if edit != nil {
			edit(hook)
		}
		w.install(kind, w.Namespace, hook)
	}
	w.Eventually("the API server to call the webhooks", func() bool {
		calls := func() int64 {
			var n int64
			for _, r := range w.replicas {
				n += r.count(deviceadmission.MutatePath) + r.count(deviceadmission.ValidatePath)*1000
			}
			return n
		}
		before := calls()
		_ = w.Client.Create(w.T.Context(), w.pod("probe", "nvidia.com/gpu=1"), client.DryRunAll)
		return calls() >= before+1001
	})
	w.warned()
}

func (w *world) install(kind, name string, hook map[string]any) {
	w.T.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "WebhookConfiguration", "metadata": map[string]any{"name": name}, "webhooks": []any{hook},
	}}
	w.Create(u)
	w.T.Cleanup(func() { _ = w.Client.Delete(context.Background(), u) })
}

// pod is a Pod of Ray with one container that asks for "name=amount name=amount".
func (w *world) pod(name, asks string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name, Labels: map[string]string{"ray.io/node-type": "worker"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container("ray-worker", asks)}},
	}
}

func container(name, asks string) corev1.Container {
	c := corev1.Container{Name: name, Image: "ray", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{}}}
	for pair := range strings.FieldsSeq(asks) {
		key, amount, _ := strings.Cut(pair, "=")
		c.Resources.Limits[corev1.ResourceName(key)] = resource.MustParse(amount)
	}
	return c
}

// asked are limits of the first container, which must be its requests, sorted as "name=amount".
func asked(t *testing.T, pod *corev1.Pod) map[string]string {
	t.Helper()
	limits, requests := map[string]string{}, map[string]string{}
	for name, q := range pod.Spec.Containers[0].Resources.Limits {
		limits[string(name)] = fmt.Sprint(q.Value())
	}
	for name, q := range pod.Spec.Containers[0].Resources.Requests {
		requests[string(name)] = fmt.Sprint(q.Value())
	}
	if !maps.Equal(limits, requests) {
		t.Errorf("limits %v, but requests %v", limits, requests)
	}
	return limits
}

// quota creates a ResourceQuota with "limits.name=amount".
func (w *world) quota(name, hard string) *corev1.ResourceQuota {
	w.T.Helper()
	q := &corev1.ResourceQuota{ObjectMeta: w.At(name), Spec: corev1.ResourceQuotaSpec{Hard: container("", hard).Resources.Limits}}
	w.Create(q)
	w.awaitQuota(q)
	return q
}

// awaitQuota waits until all replicas know it as it is.
func (w *world) awaitQuota(q *corev1.ResourceQuota) {
	w.T.Helper()
	for _, r := range w.replicas {
		w.Eventually("a replica to know the quota", func() bool { return r.engine.Knows(q) })
	}
}

func (w *world) clientConfig(path string) map[string]any {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
	return map[string]any{"url": w.server.URL + path, "caBundle": base64.StdEncoding.EncodeToString(ca)}
}

// neighbour is a webhook of somebody else that labels Pods.
func neighbour(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch),
			Patch: []byte(`[{"op":"add","path":"/metadata/labels/neighbour","value":"was-here"}]`)}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	})
}
