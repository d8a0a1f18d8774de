package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/webhook/certs"
)

// TestCertificatesOfReplicas runs two replicas as the overlay with self-managed certificates does: from an empty installation,
// over the end of the leader, a new CA, and a crash. Kubernetes' part is played by the test: it mounts the Secret, and
// leads connections to a replica that is there.
func TestCertificatesOfReplicas(t *testing.T) {
	ctx, env, c, must := installed(t)
	lb := newBalancer(t)
	installWebhooks(ctx, t, c, lb.port(), selfManagedObjects(t)...)
	kubeconfig := operatorKubeconfig(ctx, t, env, c)

	// Before the operator, v1 works and v1alpha1 does not; then, it does, and the CA is in place before readiness.
	rc := raytest.RayCluster("default/with-webhooks", raytest.Workers("cpu", 0))
	rc.UID, rc.Generation = "", 0
	rc.Spec.WorkerGroupSpecs[0].NumOfHosts = 2
	must(c.Create(ctx, rc))
	t.Cleanup(func() { _ = c.Delete(context.Background(), rc) })
	if err := readOld(ctx, c, rc.Name); err == nil {
		t.Error("v1alpha1 is answered although nobody converts")
	}
	first := startReplica(ctx, t, c, kubeconfig, selfManaged...)
	lb.add(first.port)
	for name, bundle := range caBundles(ctx, t, c) {
		if len(bundle) == 0 {
			t.Errorf("a replica is ready although %s has no CA", name)
		}
	}
	eventually(ctx, t, "v1alpha1 to be answered", func() bool { return readOld(ctx, c, rc.Name) == nil })

	// A new CA, while a second replica, whose kubelet is late, still serves a certificate of the old one.
	second := startReplica(ctx, t, c, kubeconfig, selfManaged...)
	lb.add(second.port)
	second.mount.hold(true)
	// The test does not measure what a loaded machine does to connections.
	load := startLoad(ctx, c, rc.Name)
	load.more(ctx, t, 20)
	var secret corev1.Secret
	must(c.Get(ctx, certificateKey, &secret))
	before := secret.Data["ca.crt"]
	delete(secret.Data, "ca.key") // a CA that can sign no more
	must(c.Update(ctx, &secret))
	eventually(ctx, t, "old and new CA everywhere", func() bool {
		for _, bundle := range caBundles(ctx, t, c) {
			if n := bytes.Count(bundle, []byte("BEGIN CERTIFICATE")); n != 2 || !bytes.Contains(bundle, bytes.TrimSpace(before)) {
				return false
			}
		}
		return true
	})
	bundle := caBundles(ctx, t, c)[certs.CRDs[0]]
	eventually(ctx, t, "the first replica to serve the new certificate", func() bool { return servedBy(t, first, bundle) != servedBy(t, second, bundle) })
	load.more(ctx, t, 20)
	second.mount.hold(false)
	if failed := load.stop(); len(failed) > 0 {
		t.Errorf("%d requests of %d met a certificate that is not trusted, the first with %v", len(failed), load.done.Load(), failed[0])
	}

	// A replica that does not lead serves too, and conversions go on when the leader ends.
	leader := holder(ctx, t, c)
	lb.remove(first.port)
	must(first.cmd.Process.Signal(syscall.SIGTERM))
	must(<-first.ended)
	eventually(ctx, t, "v1alpha1 to be answered by the other replica", func() bool { return readOld(ctx, c, rc.Name) == nil })
	eventually(ctx, t, "the other replica to lead", func() bool { now := holder(ctx, t, c); return now != "" && now != leader })

	// A crash of the last: v1 does not notice, and the next replica finds its certificate in the Secret.
	must(c.Get(ctx, certificateKey, &secret))
	ca := secret.Data["ca.crt"]
	lb.remove(second.port)
	must(second.cmd.Process.Kill())
	<-second.ended
	must(c.Patch(ctx, rc, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"while":"down"}}}`))))
	third := startReplica(ctx, t, c, kubeconfig, selfManaged...)
	lb.add(third.port)
	eventually(ctx, t, "v1alpha1 to be answered again", func() bool { return readOld(ctx, c, rc.Name) == nil })
	must(c.Get(ctx, certificateKey, &secret))
	if !bytes.Equal(ca, secret.Data["ca.crt"]) {
		t.Error("a restart made a new CA")
	}
	must(c.Get(ctx, client.ObjectKeyFromObject(rc), rc))
	if rc.Spec.WorkerGroupSpecs[0].NumOfHosts != 2 {
		t.Errorf("numOfHosts is %d", rc.Spec.WorkerGroupSpecs[0].NumOfHosts)
	}
}

// certificateKey is the Secret that the Pods of the operator mount.
var certificateKey = client.ObjectKey{Namespace: systemNamespace, Name: "raygate-webhook-cert"}

var components = filepath.Join("..", "..", "config", "components")

// selfManaged are the arguments of an operator that makes its certificate.
var selfManaged = []string{"--webhook-self-managed-certs", "--webhook-namespace=" + systemNamespace}

// selfManagedObjects are the rights of the operator on its certificate.
func selfManagedObjects(t *testing.T) []client.Object {
	t.Helper()
	var objects []client.Object
	roles, err := os.ReadFile(filepath.Join(components, "self-managed", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(string(roles), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, u)
	}
	return objects
}

// installWebhooks applies what the overlay adds, with a Service that leads to this machine.
func installWebhooks(ctx context.Context, t *testing.T, c client.Client, port int32, more ...client.Object) {
	t.Helper()
	objects := append([]client.Object{&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "raygate-webhook"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}}, more...)
	for file, into := range map[string]client.Object{"validating": &admissionregistrationv1.ValidatingWebhookConfiguration{}, "mutating": &admissionregistrationv1.MutatingWebhookConfiguration{}} {
		u := manifest(t, filepath.Join(components, "webhook", file+".yaml"))
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
			t.Fatal(err)
		}
		switch config := into.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			for i := range config.Webhooks {
				config.Webhooks[i].ClientConfig.Service.Port = new(port)
			}
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			for i := range config.Webhooks {
				config.Webhooks[i].ClientConfig.Service.Port = new(port)
			}
		}
		objects = append(objects, into)
	}
	for _, obj := range objects {
		if err := c.Create(ctx, obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Delete(context.Background(), obj) })
	}
	t.Cleanup(func() { // which the operator has made
		_ = c.Delete(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: certificateKey.Namespace, Name: certificateKey.Name}})
	})
	for _, name := range certs.CRDs {
		convert := fmt.Sprintf(`{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":%q,"name":"raygate-webhook","path":"/convert","port":%d}}}}}}`, systemNamespace, port)
		if err := c.Patch(ctx, crd(name), client.RawPatch(types.MergePatchType, []byte(convert))); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Patch(context.Background(), crd(name), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)))
		})
	}
}

func crd(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	u.SetName(name)
	return u
}

func readOld(ctx context.Context, c client.Client, name string) error {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("ray.io/v1alpha1")
	u.SetKind("RayCluster")
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, u); err != nil {
		return err
	}
	if !strings.Contains(u.GetAnnotations()["conversion.ray.io/v1-extra"], "numOfHosts") {
		return errors.New("the preserved fields are missing")
	}
	return nil
}

// caBundles are the CAs by the name of the CRD or webhook.
func caBundles(ctx context.Context, t *testing.T, c client.Client) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	err := errors.Join(c.Get(ctx, client.ObjectKey{Name: "raygate-validating-webhook"}, &validating), c.Get(ctx, client.ObjectKey{Name: "raygate-mutating-webhook"}, &mutating))
	for _, w := range validating.Webhooks {
		out[w.Name] = w.ClientConfig.CABundle
	}
	for _, w := range mutating.Webhooks {
		out[w.Name] = w.ClientConfig.CABundle
	}
	for _, name := range certs.CRDs {
		u := crd(name)
		var err2 error
		err = errors.Join(err, c.Get(ctx, client.ObjectKeyFromObject(u), u))
		text, _, _ := unstructured.NestedString(u.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
		if out[name], err2 = base64.StdEncoding.DecodeString(text); err2 != nil {
			err = errors.Join(err, err2)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// servedBy is the certificate that a replica serves, and that must be of a CA in the bundle.
func servedBy(t *testing.T, r *replica, bundle []byte) string {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.port), &tls.Config{RootCAs: roots, ServerName: "raygate-webhook." + systemNamespace + ".svc"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return string(conn.ConnectionState().PeerCertificates[0].Raw)
}

func holder(ctx context.Context, t *testing.T, c client.Client) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: leaseName}, lease); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// replica is an operator process that is ready.
type replica struct {
	cmd   *exec.Cmd
	port  int
	out   *output
	ended chan error
	mount *mount
}

func startReplica(ctx context.Context, t *testing.T, c client.Client, kubeconfig string, args ...string) *replica {
	t.Helper()
	ports, err := programs.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{port: ports[0], out: &output{}, ended: make(chan error, 1), mount: startMount(ctx, t, c)}
	health := fmt.Sprintf("127.0.0.1:%d", ports[1])
	if !slices.Contains(args, selfManaged[0]) { // a Pod starts when its Secret is there
		eventually(ctx, t, "the certificate to be mounted", r.mount.done.Load)
	}
	r.cmd = operator(t, nil, append(args, "--kubeconfig="+kubeconfig, "--leader-elect", "--leader-election-namespace="+systemNamespace, "--metrics-bind-address=0",
		"--health-probe-bind-address="+health, "--enable-webhooks", fmt.Sprint("--webhook-port=", r.port), "--webhook-cert-dir="+r.mount.dir)...)
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("a replica said:\n%s", r.out)
		}
	})
	eventually(ctx, t, "a replica to be ready", func() bool { return body(ctx, "http://"+health+"/readyz") == "ok" })
	return r
}

// mount does a kubelet's work: it copies the Secret into a folder whenever it changes, and takes it out when it is deleted, as with a
// volume that may lack its Secret.
type mount struct {
	dir        string
	held, done atomic.Bool
}

func (m *mount) hold(on bool) { m.held.Store(on) }

func startMount(ctx context.Context, t *testing.T, c client.Client) *mount {
	t.Helper()
	m := &mount{dir: t.TempDir()}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			var secret corev1.Secret
			switch err := c.Get(ctx, certificateKey, &secret); {
			case m.held.Load():
			case apierrors.IsNotFound(err):
				for _, name := range []string{"tls.crt", "tls.key", "ca.crt", "ca.key"} {
					_ = os.Remove(filepath.Join(m.dir, name))
				}
			case err == nil:
				for name, data := range secret.Data {
					_ = os.WriteFile(filepath.Join(m.dir, name+".new"), data, 0o600)
					_ = os.Rename(filepath.Join(m.dir, name+".new"), filepath.Join(m.dir, name))
				}
				m.done.Store(len(secret.Data) > 0)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return m
}

// balancer does kube-proxy's work: it leads each connection to the next replica.
type balancer struct {
	listener net.Listener
	mu       sync.Mutex
	ports    []int
	next     int
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go b.lead(conn)
		}
	}()
	return b
}

func (b *balancer) port() int32 { return int32(b.listener.Addr().(*net.TCPAddr).Port) }

func (b *balancer) add(port int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ports = append(b.ports, port)
}

// remove leads no new connections to the replica; those that there are stay, as with a Service.
func (b *balancer) remove(port int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept []int
	for _, p := range b.ports {
		if p != port {
			kept = append(kept, p)
		}
	}
	b.ports = kept
}

func (b *balancer) lead(from net.Conn) {
	defer from.Close()
	b.mu.Lock()
	if len(b.ports) == 0 {
		b.mu.Unlock()
		return
	}
	b.next++
	port := b.ports[b.next%len(b.ports)]
	b.mu.Unlock()
	to, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(from, to)
}

// load reads through v1alpha1, and writes through it in dry-run, without a pause, and keeps the errors about certificates.
type load struct {
	done   atomic.Int64
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed []error
}

func startLoad(ctx context.Context, c client.Client, name string) *load {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cancel: cancel}
	l.wg.Go(func() {
		for ctx.Err() == nil {
			err := readOld(ctx, c, name)
			if err == nil {
				u := &unstructured.Unstructured{}
				u.SetAPIVersion("ray.io/v1alpha1")
				u.SetKind("RayCluster")
				u.SetNamespace("default")
				u.SetName(name)
				err = c.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"load":"x"}}}`)), client.DryRunAll)
			}
			if ctx.Err() == nil && err != nil && strings.Contains(err.Error(), "x509") {
				l.failed = append(l.failed, err)
			}
			l.done.Add(1)
		}
	})
	return l
}

// more waits until so many more requests were made.
func (l *load) more(ctx context.Context, t *testing.T, n int64) {
	t.Helper()
	until := l.done.Load() + n
	eventually(ctx, t, "requests to be made", func() bool { return l.done.Load() >= until })
}

func (l *load) stop() []error {
	l.cancel()
	l.wg.Wait()
	return l.failed
}
