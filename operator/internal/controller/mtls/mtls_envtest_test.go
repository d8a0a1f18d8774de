package mtls

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/test/controlplane"
)

var controlPlane = controlplane.Share(controlplane.Options{CRDs: controlplane.LightCRDs, Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// world is a namespace of a real control plane in which the controller runs.
type world struct{ *controlplane.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{controlPlane.Env(t).World(t, "mtls-")}
	w.Install(cert.IssuerKind, cert.CertificateKind)
	mgr := w.Manager(nil, nil)
	kinds, err := optionalapi.New(mgr, w.Namespaces(), clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Config{
		Client:   w.Looking(mgr.GetClient()),
		Live:     mgr.GetAPIReader(),
		APIs:     kinds,
		Recorder: mgr.GetEventRecorder(EventSource),
		Clock:    clock.RealClock{},
	})
	if err := r.SetupWithManager(mgr, controller.Options{SkipNameValidation: new(true)}); err != nil {
		t.Fatal(err)
	}
	w.Start(mgr)
	return w
}

// fence returns when the controller has done about a cluster what it does now. It looks at changes of the spec.
func (w *world) fence(name string) {
	w.T.Helper()
	rc := &rayv1.RayCluster{ObjectMeta: w.At(name)}
	n := int32(100)
	w.Fence(rc, func() { n++; rc.Spec.WorkerGroupSpecs[0].MaxReplicas = &n })
}

// oneEvent waits for an event about a cluster, and fails when it comes more than once.
func (w *world) oneEvent(name, reason string) {
	w.T.Helper()
	w.Eventually("the event "+reason, func() bool { return len(w.Events(name, reason)) > 0 })
	w.fence(name)
	if notes := w.Events(name, reason); len(notes) != 1 {
		w.T.Errorf("event %s came %d times: %v", reason, len(notes), notes)
	}
}

func (w *world) encrypted(name string) *rayv1.RayCluster {
	rc := raytest.RayCluster(w.Namespace+"/"+name, raytest.Workers("a", 1), raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.TLSOptions = &rayv1.TLSOptions{Enabled: new(true)}
	}))
	rc.UID, rc.Generation = "", 0
	return rc
}

func (w *world) object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(w.Namespace)
	o.SetName(name)
	return o
}

// issue does what cert-manager does for a Certificate.
func (w *world) issue(name string, end time.Time) {
	w.T.Helper()
	c := w.object(cert.CertificateKind, name)
	w.Eventually("Certificate "+name, func() bool { return w.Read(c) })
	secret, _, _ := unstructured.NestedString(c.Object, "spec", "secretName")
	s := &corev1.Secret{ObjectMeta: w.At(secret)}
	if !w.Read(s) {
		w.Create(s)
	}
	w.Eventually("the status of "+name, func() bool {
		w.Read(c)
		c.Object["status"] = map[string]any{
			"notAfter":   end.UTC().Format(time.RFC3339),
			"conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": c.GetGeneration()}},
		}
		return w.Client.Status().Update(w.T.Context(), c) == nil
	})
}

func (w *world) addresses(name string) string {
	c := w.object(cert.CertificateKind, name)
	w.Read(c)
	ips, _, _ := unstructured.NestedStringSlice(c.Object, "spec", "ipAddresses")
	return strings.Join(ips, " ")
}

// pod makes a Pod of the cluster that runs at the address.
func (w *world) pod(rc *rayv1.RayCluster, node rayv1.RayNodeType, name, ip string, owned bool) {
	w.T.Helper()
	p := &corev1.Pod{
		ObjectMeta: child.Meta(rc, name, map[string]string{rayv1.LabelCluster: rc.Name, rayv1.LabelNodeType: string(node)}),
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if !owned {
		p.OwnerReferences = nil
	}
	w.Create(p)
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}}
	if err := w.Client.Status().Update(w.T.Context(), p); err != nil {
		w.T.Fatal(err)
	}
}

func TestCertificatesFollowThePods(t *testing.T) {
	w := newWorld(t)
	w.Create(w.encrypted("demo"))
	names := []string{"ray-ca-certificate-demo", "ray-head-cert-demo", "ray-worker-cert-demo"}
	for _, name := range names {
		w.Eventually("Certificate "+name, func() bool { return w.Read(w.object(cert.CertificateKind, name)) })
	}
	for _, name := range []string{"ray-selfsigned-issuer-demo", "ray-ca-issuer-demo"} {
		o := w.object(cert.IssuerKind, name)
		w.Eventually("Issuer "+name, func() bool { return w.Read(o) })
		uid := o.GetUID()
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.Eventually("Issuer "+name+" to come back", func() bool { return w.Read(o) && o.GetUID() != uid })
	}
	w.oneEvent("demo", "MTLSCertsNotReady")
	for _, name := range names {
		w.issue(name, time.Now().Add(1000*time.Hour))
	}
	w.oneEvent("demo", "MTLSPKIReady")
	w.Eventually("the owner of the Secret", func() bool {
		s := &corev1.Secret{ObjectMeta: w.At("ray-worker-secret-demo")}
		return w.Read(s) && len(s.OwnerReferences) == 1 && s.OwnerReferences[0].Kind == "Certificate"
	})

	rc := w.encrypted("demo")
	w.Read(rc)
	w.pod(rc, rayv1.HeadNode, "head", "10.0.0.1", true)
	w.pod(rc, rayv1.WorkerNode, "w1", "10.0.0.3", true)
	w.pod(rc, rayv1.WorkerNode, "w2", "10.0.0.2", true)
	w.pod(rc, rayv1.WorkerNode, "stranger", "10.0.0.9", false)
	w.Eventually("the head's address", func() bool { return w.addresses("ray-head-cert-demo") == "10.0.0.1 127.0.0.1" })
	w.Eventually("the workers' addresses", func() bool { return w.addresses("ray-worker-cert-demo") == "10.0.0.2 10.0.0.3 127.0.0.1" })
	w.Eventually("the event about new certificates", func() bool { return len(w.Events("demo", "MTLSCertificatesUpdated")) > 0 })

	// One Pod less changes nothing; one more drops what is no longer needed.
	if err := w.Client.Delete(t.Context(), &corev1.Pod{ObjectMeta: w.At("w2")}, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(gather)
	w.fence("demo")
	if got := w.addresses("ray-worker-cert-demo"); got != "10.0.0.2 10.0.0.3 127.0.0.1" {
		t.Errorf("a certificate was asked for with the addresses %s, only because a Pod is gone", got)
	}
	w.pod(rc, rayv1.WorkerNode, "w3", "10.0.0.4", true)
	w.Eventually("the new address", func() bool { return w.addresses("ray-worker-cert-demo") == "10.0.0.3 10.0.0.4 127.0.0.1" })
}

func TestAuthorityIsNeverMadeAnew(t *testing.T) {
	w := newWorld(t)
	rc := w.encrypted("demo")
	w.Create(rc)
	ca := w.object(cert.CertificateKind, "ray-ca-certificate-demo")
	w.Eventually("the authority", func() bool { return w.Read(ca) })
	if err := unstructured.SetNestedField(ca.Object, "another name", "spec", "commonName"); err != nil {
		t.Fatal(err)
	}
	ca.SetLabels(map[string]string{rayv1.LabelCluster: "demo"})
	if err := w.Client.Update(t.Context(), ca); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the labels", func() bool { return w.Read(ca) && len(ca.GetLabels()) > 1 })
	if name, _, _ := unstructured.NestedString(ca.Object, "spec", "commonName"); name != "another name" {
		t.Error("the authority was changed")
	}
}

func TestExpiryIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	w.Create(w.encrypted("demo"))
	for _, name := range []string{"ray-ca-certificate-demo", "ray-head-cert-demo", "ray-worker-cert-demo"} {
		w.issue(name, time.Now().Add(time.Hour))
	}
	w.oneEvent("demo", "MTLSCertificateExpiringSoon")
}

func TestTLSTurnedOffGoesWithTheLastPod(t *testing.T) {
	w := newWorld(t)
	rc := w.encrypted("demo")
	w.Create(rc)
	leaf := w.object(cert.CertificateKind, "ray-worker-cert-demo")
	w.Eventually("the certificate", func() bool { return w.Read(leaf) })
	w.pod(rc, rayv1.HeadNode, "head", "10.0.0.1", true)
	w.Eventually("the head's address", func() bool { return w.addresses("ray-head-cert-demo") == "10.0.0.1 127.0.0.1" })
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.TLSOptions = nil })
	w.fence("demo")
	if !w.Read(leaf) {
		t.Error("the certificate is gone while a Pod runs")
	}
	if err := w.Client.Delete(t.Context(), &corev1.Pod{ObjectMeta: w.At("head")}, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the certificate to go", func() bool { return !w.Read(leaf) })
}
