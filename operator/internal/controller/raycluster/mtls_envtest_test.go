package raycluster

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/controller/mtls"
	"github.com/raygate/raygate/pkg/validation"
)

// besideMTLS runs the controller of certificates in the same process.
func besideMTLS(t *testing.T) func(ctrl.Manager, *Config) {
	return func(mgr ctrl.Manager, c *Config) {
		t.Helper()
		c.MTLS, c.Pod.MTLS = true, true
		c.Validation.Gates = map[validation.Gate]bool{validation.GateMTLS: true}
		r := mtls.New(mtls.Config{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), APIs: c.APIs, Recorder: mgr.GetEventRecorder(mtls.EventSource), Clock: clock.RealClock{},
		})
		if err := r.SetupWithManager(mgr, controller.Options{SkipNameValidation: new(true)}); err != nil {
			t.Fatal(err)
		}
	}
}

// keyPair is what Pods find at /etc/ray/tls.
func (w *world) keyPair(secret string) (*x509.Certificate, *tls.Config) {
	w.T.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: secret}}
	w.Read(s)
	pair, err := tls.X509KeyPair(s.Data[cert.KeyCertificate], s.Data[cert.KeyPrivate])
	if err != nil {
		w.T.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.Data[cert.KeyAuthority])
	return pair.Leaf, &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
}

// talk has one holder of a key pair call another by a name or address.
func talk(from, to *tls.Config, name string) error {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	caller := from.Clone()
	caller.ServerName = name
	answered := make(chan error, 1)
	go func() { answered <- tls.Server(b, to).Handshake() }()
	client := tls.Client(a, caller)
	if err := client.Handshake(); err != nil {
		return fmt.Errorf("calling %s: %w", name, err)
	}
	go func() { _, _ = io.Copy(io.Discard, client) }() // the other side still has something to say
	return <-answered
}

// mounted names the Secret at the place of the certificate, and the first init container, for each Pod of a kind.
func mounted(pods []corev1.Pod, node rayv1.RayNodeType) []string {
	var all []string
	for _, p := range pods {
		if p.Labels[rayv1.LabelNodeType] != string(node) {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.Secret != nil && slices.ContainsFunc(p.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
				return m.Name == v.Name && m.MountPath == "/etc/ray/tls" && m.ReadOnly
			}) {
				all = append(all, v.Secret.SecretName+" "+p.Spec.InitContainers[0].Name)
			}
		}
	}
	return all
}

func uids(pods []corev1.Pod) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, p := range pods {
		all[p.UID] = true
	}
	return all
}

// TestMutualTLS follows one cluster from its first certificate to its end, with something that signs in the place of
// cert-manager. The parts build on each other.
func TestMutualTLS(t *testing.T) {
	w := newWorld(t)
	issuer := w.startSigner()
	w.asOperator("mtls")
	w.beside = besideMTLS(t)
	w.startOperator()
	w.Create(w.cluster("demo", raytest.Workers("cpu", 1), raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.TLSOptions = &rayv1.TLSOptions{Enabled: new(true)}
	})))
	object := func(kind, name string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(cert.CertificateKind.GroupVersion().WithKind(kind))
		o.SetNamespace(w.Namespace)
		o.SetName(name)
		return o
	}
	pki := []client.Object{
		object("Issuer", "ray-selfsigned-issuer-demo"), object("Issuer", "ray-ca-issuer-demo"),
		object("Certificate", "ray-ca-certificate-demo"), object("Certificate", "ray-head-cert-demo"), object("Certificate", "ray-worker-cert-demo"),
	}

	step := func(name string, do func(t *testing.T)) {
		t.Helper()
		if !t.Run(name, func(t *testing.T) {
			outer := w.T
			w.T = t
			defer func() { w.T = outer }()
			do(t)
		}) {
			t.FailNow()
		}
	}
	step("no Pod without a certificate", func(t *testing.T) {
		for _, o := range pki {
			w.eventuallyThere(o.GetName(), o)
		}
		w.Eventually("the condition", func() bool {
			return strings.Contains(w.childFailure("demo"), "has not been filled by cert-manager yet")
		})
		w.Eventually("the event", func() bool { return len(w.Events("demo", "MTLSCertsNotReady")) > 0 })
		w.fence("demo")
		if got := len(w.pods("demo")); got != 0 {
			t.Errorf("%d Pods before there is a certificate", got)
		}
	})
	step("Pods with the right certificate", func(t *testing.T) {
		issuer.issues.Store(true)
		w.eventuallyReady("demo")
		w.Eventually("the end of the condition", func() bool { return w.childFailure("demo") == "" })
		w.Eventually("the event", func() bool { return len(w.Events("demo", "MTLSPKIReady")) > 0 })
		pods := w.pods("demo")
		got := map[string][]string{"head": mounted(pods, rayv1.HeadNode), "worker": mounted(pods, rayv1.WorkerNode)}
		want := map[string][]string{"head": {"ray-head-secret-demo wait-for-tls-ip-san"}, "worker": {"ray-worker-secret-demo wait-for-tls-ip-san"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Secrets and first init containers (-want +got):\n%s", diff)
		}
	})
	// named waits until the certificate in the Secret is for the addresses of all Pods of the kind.
	named := func(secret string, node rayv1.RayNodeType) {
		t.Helper()
		w.Eventually("the addresses in "+secret, func() bool {
			leaf, _ := w.keyPair(secret)
			return !slices.ContainsFunc(w.pods("demo"), func(p corev1.Pod) bool {
				return p.Labels[rayv1.LabelNodeType] == string(node) && (p.Status.PodIP == "" || leaf.VerifyHostname(p.Status.PodIP) != nil)
			})
		})
	}
	step("addresses of new workers", func(t *testing.T) {
		w.ChangeCluster("demo", replicas(3))
		w.Eventually("3 workers", func() bool { return len(w.pods("demo")) == 4 })
		named("ray-head-secret-demo", rayv1.HeadNode)
		named("ray-worker-secret-demo", rayv1.WorkerNode)
		w.Eventually("the event", func() bool { return len(w.Events("demo", "MTLSCertificatesUpdated")) > 0 })
		_, head := w.keyPair("ray-head-secret-demo")
		_, worker := w.keyPair("ray-worker-secret-demo")
		if err := talk(worker, head, "demo-head-svc."+w.Namespace+".svc.cluster.local"); err != nil {
			t.Error(err)
		}
		for _, p := range w.pods("demo") {
			if p.Labels[rayv1.LabelNodeType] == string(rayv1.WorkerNode) {
				if err := talk(head, worker, p.Status.PodIP); err != nil {
					t.Error(err)
				}
			}
		}
		stranger := &tls.Config{RootCAs: head.RootCAs}
		if err := talk(stranger, head, "localhost"); err == nil {
			t.Error("somebody without a certificate may talk to the head")
		}
	})
	step("a certificate that ends soon and is renewed", func(t *testing.T) {
		before, old := uids(w.pods("demo")), (*x509.Certificate)(nil)
		old, _ = w.keyPair("ray-head-secret-demo")
		renew := func(lasts time.Duration) {
			t.Helper()
			issuer.expire.Store(int64(lasts))
			head := object("Certificate", "ray-head-cert-demo")
			w.Eventually("the renewal", func() bool {
				w.Read(head)
				unstructured.RemoveNestedField(head.Object, "status", "issuedFor")
				return w.Client.Status().Update(t.Context(), head) == nil
			})
			w.Eventually("another certificate", func() bool {
				leaf, _ := w.keyPair("ray-head-secret-demo")
				return leaf.SerialNumber.Cmp(old.SerialNumber) != 0
			})
			old, _ = w.keyPair("ray-head-secret-demo")
		}
		renew(time.Hour)
		w.Eventually("the warning", func() bool { return len(w.Events("demo", "MTLSCertificateExpiringSoon")) > 0 })
		renew(0)
		_, head := w.keyPair("ray-head-secret-demo")
		_, worker := w.keyPair("ray-worker-secret-demo")
		if err := talk(worker, head, "localhost"); err != nil { // by the same authority
			t.Error(err)
		}
		w.fence("demo")
		if diff := cmp.Diff(before, uids(w.pods("demo"))); diff != "" {
			t.Errorf("Pods were replaced (-before +after):\n%s", diff)
		}
	})
	step("nothing is left of it", func(t *testing.T) {
		for _, name := range []string{"ray-head-secret-demo", "ray-worker-secret-demo", "demo-ca-secret-" + string(w.get("demo").UID[:8])} {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
			if !w.Read(s) {
				t.Fatalf("no Secret %s", name)
			}
			pki = append(pki, s)
		}
		w.delete("demo")
		for _, o := range pki { // the garbage collector finds new kinds every half minute
			w.Eventually("the end of "+o.GetName(), func() bool { return !w.Read(o) })
		}
	})
}
