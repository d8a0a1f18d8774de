package deviceadmission_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
)

// pair is a serving certificate for this machine, and the CA that signed it.
type pair struct{ cert, key, ca []byte }

func newPair(t *testing.T) pair {
	t.Helper()
	chain, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, ca := pem.Decode(chain)
	return pair{cert: chain, key: key, ca: ca}
}

// mount puts the certificate where the server reads it.
func (p pair) mount(t *testing.T, dir string) {
	t.Helper()
	for name, data := range map[string][]byte{"tls.key": p.key, "tls.crt": p.cert} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// served reports whether the server shows this certificate to new connections.
func (p pair) served(address string) bool {
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // whose certificate it is, is what is asked
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	leaf, _ := pem.Decode(p.cert)
	return bytes.Equal(conn.ConnectionState().PeerCertificates[0].Raw, leaf.Bytes)
}

// secure serves the webhooks of the world with the server of the operator, which reads its certificate from dir, and returns its address. Each
// answer ends its connection, so that each call has to verify the certificate of the moment.
func (w *world) secure(dir string) string {
	w.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.T.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		w.T.Fatal(err)
	}
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: dir, TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}})
	for _, path := range []string{deviceadmission.MutatePath, deviceadmission.ValidatePath} {
		server.Register(path, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Connection", "close")
			w.server.Config.Handler.ServeHTTP(rw, r)
		}))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	w.T.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.T.Errorf("the server ended: %v", err)
		}
	})
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// trust makes both registrations call the address and trust these CAs.
func (w *world) trust(address string, cas ...[]byte) {
	w.T.Helper()
	bundle := base64.StdEncoding.EncodeToString(bytes.Join(cas, nil))
	for kind, path := range map[string]string{"Mutating": deviceadmission.MutatePath, "Validating": deviceadmission.ValidatePath} {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "WebhookConfiguration", "metadata": map[string]any{"name": w.Namespace},
		}}
		patch := fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/clientConfig","value":{"url":"https://%s%s","caBundle":"%s"}}]`, address, path, bundle)
		if err := w.Client.Patch(w.T.Context(), u, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
			w.T.Fatal(err)
		}
	}
}

// TestCertificateRotation: Pods are made all the time while the CA and the certificate are replaced, and no call fails. The failure policy is Fail.
func TestCertificateRotation(t *testing.T) {
	w := newWorld(t, settings{})
	first, second := newPair(t), newPair(t)
	dir := t.TempDir()
	first.mount(t, dir)
	address := w.secure(dir)
	w.Eventually("the server", func() bool { return first.served(address) })
	w.trust(address, first.ca)
	// Until the API server has noticed, it calls the old address, which is good as well.
	calls := func() int64 { return w.replicas[0].count(deviceadmission.ValidatePath) }

	var failed sync.Map
	var done atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for ctx.Err() == nil {
				err := w.Client.Create(ctx, w.pod("dry", "nvidia.com/gpu=1"), client.DryRunAll)
				if err != nil && ctx.Err() == nil {
					failed.Store(err.Error(), true)
				}
				done.Add(1)
			}
		})
	}
	more := func() {
		t.Helper()
		until := done.Load() + 40
		w.Eventually("more Pods", func() bool { return done.Load() >= until })
	}
	more()
	w.trust(address, second.ca, first.ca)
	more()
	second.mount(t, dir)
	w.Eventually("the new certificate", func() bool { return second.served(address) })
	more()
	w.trust(address, second.ca)
	more()
	cancel()
	load.Wait()
	failed.Range(func(err, _ any) bool {
		t.Errorf("a call failed: %s", err)
		return true
	})
	if calls() == 0 {
		t.Error("the webhooks were not called")
	}
	// The test can fail: a certificate of a CA that is not in the bundle is refused.
	w.trust(address, first.ca)
	w.Eventually("a call to fail", func() bool {
		err := w.admits("nvidia.com/gpu=1")
		return err != nil && strings.Contains(err.Error(), "certificate")
	})
}
