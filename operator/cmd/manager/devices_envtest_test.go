package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
	"github.com/raygate/raygate/test/controlplane"
)

// hooks are webhooks without a network.
type hooks map[string]http.Handler

func (h hooks) Register(path string, hook http.Handler) { h[path] = hook }

// TestRegistryWithoutWebhooks: what the operator completes templates by follows the file, also in an installation without webhooks.
func TestRegistryWithoutWebhooks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "registry.yaml")
	write := func(resource string) {
		t.Helper()
		text := "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n- {name: a, resources: {count: " + resource + "}}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.io/x")
	o, err := parse(t, []string{"--device-registry=" + file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Devices.file.Every = time.Millisecond
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{Scheme: runtime.NewScheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	metrics := ctrlmetrics.Registry
	t.Cleanup(func() { ctrlmetrics.Registry = metrics })
	ctrlmetrics.Registry = prometheus.NewRegistry()
	if err := addDeviceRegistry(t.Context(), mgr, o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), controlplane.WaitTimeout)
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	write("b.io/y")
	for !slices.Equal(o.Pod.Devices.Program().Owned(), []string{"b.io/y"}) {
		if ctx.Err() != nil {
			t.Fatal("the registry was not read again")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDeviceAdmissionWithoutLeading: a replica that does not lead gets to know Pods and quotas, and answers.
func TestDeviceAdmissionWithoutLeading(t *testing.T) {
	env := shared.Env(t)
	w := env.World(t, "devices-")
	file := filepath.Join(t.TempDir(), "registry.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n- {name: a, resources: {count: a.io/x}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	newReplica := func(id string) (ctrl.Manager, hooks) {
		o, err := parse(t, []string{"--device-registry=" + file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Config, o.Webhook.Namespace = env.Config, w.Namespace
		mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
			Scheme: controlplane.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, LeaderElection: true, LeaderElectionID: "lease", LeaderElectionNamespace: w.Namespace,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := addDeviceRegistry(t.Context(), mgr, o); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		h := hooks{}
		if _, err := addDeviceAdmission(t.Context(), mgr, o, h.Register); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		return mgr, h
	}
	// Two replicas in one process: each has the metrics of a process.
	metrics := ctrlmetrics.Registry
	t.Cleanup(func() { ctrlmetrics.Registry = metrics })
	ready := func(h hooks) bool {
		rec := httptest.NewRecorder()
		h[deviceadmission.ValidatePath].ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
		return rec.Code != http.StatusServiceUnavailable
	}
	ctrlmetrics.Registry = prometheus.NewRegistry()
	leader, first := newReplica("first")
	w.Start(leader)
	<-leader.Elected()
	w.Eventually("the leader to know all Pods", func() bool { return ready(first) })
	ctrlmetrics.Registry = prometheus.NewRegistry()
	second, h := newReplica("second")
	if ready(h) {
		t.Error("a replica is ready before it has looked")
	}
	w.Start(second)
	w.Eventually("the other replica to know all Pods", func() bool { return ready(h) })
	select {
	case <-second.Elected():
		t.Error("the second replica leads: the test shows nothing")
	default:
	}
	badRegistryEvent(t, w, file)
}

// badRegistryEvent breaks the file of running replicas, whose own Pod has the event of it then. The test plays its kubelet.
func badRegistryEvent(t *testing.T, w *controlplane.World, file string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	self := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: host}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "operator", Image: "i"}}}}
	if err := w.Client.Create(t.Context(), self); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("vendors: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Eventually("an event of the registry from each of two replicas", func() bool {
		notes := w.Events(host, reasonRegistryInvalid)
		return len(notes) == 2 && strings.Contains(notes[0], "stays in use") && strings.Contains(notes[1], "stays in use")
	})
}
