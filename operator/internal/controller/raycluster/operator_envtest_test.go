package raycluster

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/test/controlplane"
)

// world is a namespace of a real control plane, seen by a user.
type world struct {
	*controlplane.World
	config   *rest.Config
	operator string                      // the user that the operator acts as; empty for an administrator
	beside   func(ctrl.Manager, *Config) // sets up what runs beside the controller; nil for nothing
}

func newWorld(t *testing.T) *world {
	t.Helper()
	env := controlPlane.Env(t)
	return &world{World: env.World(t, "raycluster-"), config: env.Config}
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
	w.T.Helper()
	counted := &writes{}
	config := rest.CopyConfig(w.config)
	if w.operator != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: w.operator}
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counted.next = next
		return counted
	})
	mgr := w.Manager(config, CacheByObject())
	ctx, cancel := context.WithCancel(context.Background())
	w.T.Cleanup(cancel)
	c := Config{
		Client:         w.Looking(mgr.GetClient()),
		Live:           mgr.GetAPIReader(),
		Recorder:       mgr.GetEventRecorder("raycluster-controller"),
		Clock:          clock.RealClock{},
		ReplicaIndices: true,
		Pod:            pod.Options{OperatorVersion: testVersion},
		CleanUpRedis:   true,
		Namespaces:     slices.Collect(maps.Keys(w.Namespaces())),
	}
	for _, change := range changes {
		change(&c)
	}
	kinds, err := optionalapi.New(mgr, w.Namespaces(), c.Clock)
	if err != nil {
		w.T.Fatal(err)
	}
	c.APIs = kinds
	if w.beside != nil {
		w.beside(mgr, &c)
	}
	r := New(c)
	if err := r.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 4, SkipNameValidation: new(true)}); err != nil {
		w.T.Fatal(err)
	}
	return counted, w.Start(mgr)
}

func (w *world) get(name string) *rayv1.RayCluster {
	w.T.Helper()
	rc := &rayv1.RayCluster{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, rc); err != nil {
		w.T.Fatal(err)
	}
	return rc
}

// fence returns when the operator has done about a cluster what it does now.
func (w *world) fence(name string) {
	w.T.Helper()
	w.Fence(&rayv1.RayCluster{ObjectMeta: w.At(name)})
}

// oneEvent waits for events about a cluster, and fails when one comes more than once.
func (w *world) oneEvent(name string, reasons ...string) {
	w.T.Helper()
	w.Once(&rayv1.RayCluster{ObjectMeta: w.At(name)}, reasons...)
}

func (w *world) pods(name string) []corev1.Pod {
	w.T.Helper()
	var list corev1.PodList
	if err := w.Client.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{rayv1.LabelCluster: name}); err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

func (w *world) eventuallyReady(name string) *rayv1.RayCluster {
	w.T.Helper()
	w.Eventually(name+" to be ready", func() bool { return w.get(name).Status.State == rayv1.ClusterStateReady })
	return w.get(name)
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
