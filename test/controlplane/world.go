package controlplane

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
)

// WaitTimeout bounds a request of a test, or the end of a program. It is generous, for slow machines.
const WaitTimeout = 3 * time.Minute

// World is a namespace of a control plane with an admin's client. Its methods end the test after an unexpected answer of the API server.
type World struct {
	T         *testing.T
	Client    client.Client
	Namespace string
	env       *Env
	looks     *looks
}

// World returns a new namespace whose name begins with prefix, in which Pods can be created.
func (e *Env) World(t *testing.T, prefix string) *World {
	t.Helper()
	c, err := client.New(e.Config, client.Options{Scheme: Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &World{T: t, Client: c, env: e, looks: &looks{last: map[string]int{}}}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	w.Create(ns)
	w.Namespace = ns.Name
	if e.options.WithoutControllerManager {
		w.Create(&corev1.ServiceAccount{ObjectMeta: w.At("default")})
	}
	w.Eventually("the default service account", func() bool { return w.Read(&corev1.ServiceAccount{ObjectMeta: w.At("default")}) })
	return w
}

// Scheme has the kinds of Kubernetes and of Ray.
func Scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), rayv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// At is the place of an object in the namespace.
func (w *World) At(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.Namespace, Name: name}
}

// Create creates the object.
func (w *World) Create(o client.Object) {
	w.T.Helper()
	if err := w.Client.Create(w.T.Context(), o); err != nil {
		w.T.Fatal(err)
	}
}

// Read fills in the object, which needs no more than a name, and reports whether there is one.
func (w *World) Read(o client.Object) bool {
	w.T.Helper()
	err := w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(o), o)
	if err != nil && !apierrors.IsNotFound(err) {
		w.T.Fatal(err)
	}
	return err == nil
}

// Eventually waits until something is so.
func (w *World) Eventually(what string, ok func() bool) {
	w.T.Helper()
	await.True(w.T, what, ok)
}

// ChangeCluster updates a RayCluster, and retries after a conflict.
func (w *World) ChangeCluster(name string, do func(*rayv1.RayCluster)) {
	w.T.Helper()
	var err error
	for range 20 {
		rc := &rayv1.RayCluster{ObjectMeta: w.At(name)}
		w.Read(rc)
		do(rc)
		if err = w.Client.Update(w.T.Context(), rc); err == nil {
			return
		}
	}
	w.T.Fatalf("changing %s: %v", name, err)
}

// Events returns the notes of events about an object, a repeated one as often as it was repeated.
func (w *World) Events(name, reason string) []string {
	w.T.Helper()
	var list eventsv1.EventList
	if err := w.Client.List(w.T.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		w.T.Fatal(err)
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

// Install serves kinds of another project until the end of the test; see InstallKind.
func (w *World) Install(kinds ...schema.GroupVersionKind) {
	w.T.Helper()
	for _, kind := range kinds {
		remove, err := w.env.InstallKind(w.T.Context(), kind)
		if err != nil {
			w.T.Fatal(err)
		}
		w.T.Cleanup(func() {
			if err := remove(); err != nil {
				w.T.Error(err)
			}
		})
	}
}

// Namespaces restricts a cache to the namespace.
func (w *World) Namespaces() map[string]cache.Config {
	return map[string]cache.Config{w.Namespace: {}}
}

// Manager returns a manager for controllers that only see the namespace. A nil configuration means an administrator's; nil objects mean
// that all objects of each kind are cached.
func (w *World) Manager(config *rest.Config, by map[client.Object]cache.ByObject) ctrl.Manager {
	w.T.Helper()
	if config == nil {
		config = w.env.Config
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  Scheme(w.T),
		Logger:                  klog.Background(),
		Cache:                   cache.Options{ByObject: by, DefaultNamespaces: w.Namespaces()},
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(5 * time.Second),
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return mgr
}

// Start starts the manager. The returned function ends it and waits; it is called at the end of the test at the latest.
func (w *World) Start(mgr ctrl.Manager) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			w.T.Errorf("manager: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	w.T.Cleanup(stop)
	return stop
}
