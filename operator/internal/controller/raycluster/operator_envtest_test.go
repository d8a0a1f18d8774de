package raycluster

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apis"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

// world is a namespace of a real control plane, seen by a user.
type world struct {
	t         *testing.T
	client    client.Client
	config    *rest.Config
	namespace string
	operator  string                      // the user that the operator acts as; empty for an administrator
	beside    func(ctrl.Manager, *Config) // sets up what runs beside the controller; nil for nothing
}

func newWorld(t *testing.T) *world {
	t.Helper()
	env := controlPlane.Env(t)
	scheme := testScheme(t)
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "raycluster-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, client: c, config: env.Config, namespace: ns.Name}
	w.eventually("the default service account", func() bool {
		return c.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	return w
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, rayv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// writes counts requests that change something.
type writes struct {
	mu   sync.Mutex
	list []string
	next http.RoundTripper
}

func (w *writes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		w.mu.Lock()
		w.list = append(w.list, r.Method+" "+r.URL.Path)
		w.mu.Unlock()
	}
	return w.next.RoundTrip(r)
}

func (w *writes) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.list...)
}

// testVersion is the version of the operator in these tests.
const testVersion = "raygate-test"

// startOperator runs the controller for the namespace of the world. The returned function ends it and waits; it is called
// at the end of the test at the latest.
//
// Optional kinds are known. changes are applied to the configuration of the controller.
func (w *world) startOperator(changes ...func(*Config)) (*writes, func()) {
	w.t.Helper()
	counted := &writes{}
	config := rest.CopyConfig(w.config)
	if w.operator != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: w.operator}
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counted.next = next
		return counted
	})
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  testScheme(w.t),
		Logger:                  klog.Background(),
		Cache:                   cache.Options{ByObject: CacheByObject(), DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(5 * time.Second),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	kinds, err := apis.New(mgr, map[string]cache.Config{w.namespace: {}}, clock.RealClock{})
	if err != nil {
		w.t.Fatal(err)
	}
	c := Config{
		Client:         mgr.GetClient(),
		Live:           mgr.GetAPIReader(),
		Recorder:       mgr.GetEventRecorder("raycluster-controller"),
		Clock:          clock.RealClock{},
		ReplicaIndices: true,
		Pod:            pod.Options{OperatorVersion: testVersion},
		APIs:           kinds,
		CleanUpRedis:   true,
	}
	for _, change := range changes {
		change(&c)
	}
	if w.beside != nil {
		w.beside(mgr, &c)
	}
	r := New(c)
	if err := r.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 4, SkipNameValidation: new(true)}); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			w.t.Errorf("manager: %v", err)
		}
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	w.t.Cleanup(stop)
	return counted, stop
}

const patience = 60 * time.Second

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
	}
	w.t.Fatalf("waited %s for %s in vain", patience, what)
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(name string) *rayv1.RayCluster {
	w.t.Helper()
	rc := &rayv1.RayCluster{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, rc); err != nil {
		w.t.Fatal(err)
	}
	return rc
}

// change updates the spec or metadata of a cluster, reading again on conflict.
func (w *world) change(name string, do func(*rayv1.RayCluster)) {
	w.t.Helper()
	var err error
	for range 20 {
		rc := w.get(name)
		do(rc)
		if err = w.client.Update(w.t.Context(), rc); err == nil {
			return
		}
	}
	w.t.Fatalf("changing %s: %v", name, err)
}

func (w *world) pods(name string) []corev1.Pod {
	w.t.Helper()
	var list corev1.PodList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace), client.MatchingLabels{rayv1.LabelCluster: name}); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

func (w *world) eventuallyReady(name string) *rayv1.RayCluster {
	w.t.Helper()
	w.eventually(name+" to be ready", func() bool { return w.get(name).Status.State == rayv1.ClusterStateReady })
	return w.get(name)
}

// events returns the notes of events about an object, a repeated one as often as it was repeated.
func (w *world) events(name, reason string) []string {
	w.t.Helper()
	var list eventsv1.EventList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	var notes []string
	for _, e := range list.Items {
		if e.Regarding.Name != name || e.Reason != reason {
			continue
		}
		n := 1
		if e.Series != nil {
			n = int(e.Series.Count)
		}
		for range n {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// named counts the requests whose path has the text in it.
func named(list []string, text string) int {
	n := 0
	for _, r := range list {
		if strings.Contains(r, text) {
			n++
		}
	}
	return n
}

func resourceQuantity(s string) *resource.Quantity { return new(resource.MustParse(s)) }
