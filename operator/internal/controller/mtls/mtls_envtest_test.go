package mtls

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apis"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/test/envtest"
	"github.com/raygate/raygate/test/raytest"
)

var controlPlane = envtest.Share(envtest.Options{Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// world is a namespace of a real control plane in which the controller runs.
type world struct {
	t         *testing.T
	client    client.Client
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	env := controlPlane.Env(t)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), rayv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, client: c}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "mtls-"}}
	w.create(ns)
	w.namespace = ns.Name
	w.eventually("the default service account", func() bool { return w.read(&corev1.ServiceAccount{ObjectMeta: w.at("default")}) })
	w.install(env, cert.IssuerKind, cert.CertificateKind)
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme:  scheme,
		Logger:  klog.Background(),
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{ns.Name: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := apis.New(mgr, map[string]cache.Config{ns.Name: {}}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Config{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		APIs:     kinds,
		Recorder: mgr.GetEventRecorder(EventSource),
		Clock:    clock.RealClock{},
	})
	if err := r.SetupWithManager(mgr, controller.Options{SkipNameValidation: new(true)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("manager: %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return w
}

func (w *world) at(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(o client.Object) bool {
	w.t.Helper()
	err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
	}
	w.t.Fatalf("waited for %s in vain", what)
}

// install serves the kinds of cert-manager until the end of the test.
func (w *world) install(env *envtest.Env, kinds ...schema.GroupVersionKind) {
	w.t.Helper()
	for _, kind := range kinds {
		remove, err := env.InstallKind(w.t.Context(), kind)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() {
			if err := remove(); err != nil {
				w.t.Error(err)
			}
		})
	}
}

func (w *world) change(name string, do func(*rayv1.RayCluster)) {
	w.t.Helper()
	rc := &rayv1.RayCluster{ObjectMeta: w.at(name)}
	w.read(rc)
	do(rc)
	if err := w.client.Update(w.t.Context(), rc); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) events(reason string) int {
	w.t.Helper()
	var list eventsv1.EventList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, e := range list.Items {
		if e.Reason == reason {
			n++
		}
	}
	return n
}

func (w *world) encrypted(name string) *rayv1.RayCluster {
	rc := raytest.RayCluster(w.namespace+"/"+name, raytest.Workers("a", 1), raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.TLSOptions = &rayv1.TLSOptions{Enabled: new(true)}
	}))
	rc.UID, rc.Generation = "", 0
	return rc
}

func (w *world) object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(w.namespace)
	o.SetName(name)
	return o
}

// issue does what cert-manager does for a Certificate.
func (w *world) issue(name string, end time.Time) {
	w.t.Helper()
	c := w.object(cert.CertificateKind, name)
	w.eventually("Certificate "+name, func() bool { return w.read(c) })
	secret, _, _ := unstructured.NestedString(c.Object, "spec", "secretName")
	s := &corev1.Secret{ObjectMeta: w.at(secret)}
	if !w.read(s) {
		w.create(s)
	}
	w.eventually("the status of "+name, func() bool {
		w.read(c)
		c.Object["status"] = map[string]any{
			"notAfter":   end.UTC().Format(time.RFC3339),
			"conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": c.GetGeneration()}},
		}
		return w.client.Status().Update(w.t.Context(), c) == nil
	})
}

func (w *world) addresses(name string) string {
	c := w.object(cert.CertificateKind, name)
	w.read(c)
	ips, _, _ := unstructured.NestedStringSlice(c.Object, "spec", "ipAddresses")
	return strings.Join(ips, " ")
}

// pod makes a Pod of the cluster that runs at the address.
func (w *world) pod(rc *rayv1.RayCluster, node rayv1.RayNodeType, name, ip string, owned bool) {
	w.t.Helper()
	p := &corev1.Pod{
		ObjectMeta: child.Meta(rc, name, map[string]string{rayv1.LabelCluster: rc.Name, rayv1.LabelNodeType: string(node)}),
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if !owned {
		p.OwnerReferences = nil
	}
	w.create(p)
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}}
	if err := w.client.Status().Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

func TestCertificatesFollowThePods(t *testing.T) {
	w := newWorld(t)
	w.create(w.encrypted("demo"))
	names := []string{"ray-ca-certificate-demo", "ray-head-cert-demo", "ray-worker-cert-demo"}
	for _, name := range names {
		w.eventually("Certificate "+name, func() bool { return w.read(w.object(cert.CertificateKind, name)) })
	}
	for _, name := range []string{"ray-selfsigned-issuer-demo", "ray-ca-issuer-demo"} {
		o := w.object(cert.IssuerKind, name)
		w.eventually("Issuer "+name, func() bool { return w.read(o) })
		uid := o.GetUID()
		if err := w.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.eventually("Issuer "+name+" to come back", func() bool { return w.read(o) && o.GetUID() != uid })
	}
	w.eventually("the event about waiting", func() bool { return w.events("MTLSCertsNotReady") == 1 })
	for _, name := range names {
		w.issue(name, time.Now().Add(1000*time.Hour))
	}
	w.eventually("the event about the end of waiting", func() bool { return w.events("MTLSPKIReady") == 1 })
	w.eventually("the owner of the Secret", func() bool {
		s := &corev1.Secret{ObjectMeta: w.at("ray-worker-secret-demo")}
		return w.read(s) && len(s.OwnerReferences) == 1 && s.OwnerReferences[0].Kind == "Certificate"
	})

	rc := w.encrypted("demo")
	w.read(rc)
	w.pod(rc, rayv1.HeadNode, "head", "10.0.0.1", true)
	w.pod(rc, rayv1.WorkerNode, "w1", "10.0.0.3", true)
	w.pod(rc, rayv1.WorkerNode, "w2", "10.0.0.2", true)
	w.pod(rc, rayv1.WorkerNode, "stranger", "10.0.0.9", false)
	w.eventually("the head's address", func() bool { return w.addresses("ray-head-cert-demo") == "10.0.0.1 127.0.0.1" })
	w.eventually("the workers' addresses", func() bool { return w.addresses("ray-worker-cert-demo") == "10.0.0.2 10.0.0.3 127.0.0.1" })
	w.eventually("the event about new certificates", func() bool { return w.events("MTLSCertificatesUpdated") > 0 })

	// One Pod less changes nothing; one more drops what is no longer needed.
	if err := w.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: w.at("w2")}, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(gather + time.Second)
	if got := w.addresses("ray-worker-cert-demo"); got != "10.0.0.2 10.0.0.3 127.0.0.1" {
		t.Errorf("a certificate was asked for with the addresses %s, only because a Pod is gone", got)
	}
	w.pod(rc, rayv1.WorkerNode, "w3", "10.0.0.4", true)
	w.eventually("the new address", func() bool { return w.addresses("ray-worker-cert-demo") == "10.0.0.3 10.0.0.4 127.0.0.1" })
}

func TestAuthorityIsNeverMadeAnew(t *testing.T) {
	w := newWorld(t)
	rc := w.encrypted("demo")
	w.create(rc)
	ca := w.object(cert.CertificateKind, "ray-ca-certificate-demo")
	w.eventually("the authority", func() bool { return w.read(ca) })
	if err := unstructured.SetNestedField(ca.Object, "another name", "spec", "commonName"); err != nil {
		t.Fatal(err)
	}
	ca.SetLabels(map[string]string{rayv1.LabelCluster: "demo"})
	if err := w.client.Update(t.Context(), ca); err != nil {
		t.Fatal(err)
	}
	w.eventually("the labels", func() bool { return w.read(ca) && len(ca.GetLabels()) > 1 })
	if name, _, _ := unstructured.NestedString(ca.Object, "spec", "commonName"); name != "another name" {
		t.Error("the authority was changed")
	}
}

func TestExpiryIsToldOfOnce(t *testing.T) {
	w := newWorld(t)
	w.create(w.encrypted("demo"))
	for _, name := range []string{"ray-ca-certificate-demo", "ray-head-cert-demo", "ray-worker-cert-demo"} {
		w.issue(name, time.Now().Add(time.Hour))
	}
	w.eventually("the event", func() bool { return w.events("MTLSCertificateExpiringSoon") == 1 })
}

func TestForeignCertificateIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	theirs := w.object(cert.CertificateKind, "ray-head-cert-demo")
	theirs.Object["spec"] = map[string]any{"secretName": "theirs"}
	w.create(theirs)
	version := theirs.GetResourceVersion()
	w.create(w.encrypted("demo"))
	w.eventually("the event", func() bool { return w.events("MTLSFailedToReconcile") == 1 })
	if !w.read(theirs) || theirs.GetResourceVersion() != version {
		t.Error("somebody else's Certificate was changed")
	}
}

func TestTLSTurnedOffGoesWithTheLastPod(t *testing.T) {
	w := newWorld(t)
	rc := w.encrypted("demo")
	w.create(rc)
	leaf := w.object(cert.CertificateKind, "ray-worker-cert-demo")
	w.eventually("the certificate", func() bool { return w.read(leaf) })
	w.pod(rc, rayv1.HeadNode, "head", "10.0.0.1", true)
	w.eventually("the head's address", func() bool { return w.addresses("ray-head-cert-demo") == "10.0.0.1 127.0.0.1" })
	w.change("demo", func(rc *rayv1.RayCluster) { rc.Spec.TLSOptions = nil })
	time.Sleep(time.Second)
	if !w.read(leaf) {
		t.Error("the certificate is gone while a Pod runs")
	}
	if err := w.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: w.at("head")}, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.eventually("the certificate to go", func() bool { return !w.read(leaf) })
}
