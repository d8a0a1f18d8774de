package load

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/test/controlplane"
)

// gateway is the built program with passthrough and TLS.
type gateway struct {
	*programs.Program
	grpc, rest, metrics string // host:port
	certificates        string // folder with tls.crt and tls.key
	roots               *x509.CertPool
	trusted             []*x509.Certificate // what roots holds
}

// gateway starts one that speaks to the API server by a kubeconfig; empty means directly.
func (c *control) gateway(t *testing.T, kubeconfig string, flags ...string) *gateway {
	t.Helper()
	if kubeconfig == "" {
		kubeconfig = c.Kubeconfig
	}
	ports, err := programs.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	dir := t.TempDir()
	g := &gateway{grpc: at(0), rest: at(1), metrics: at(2), certificates: dir, roots: x509.NewCertPool()}
	if err := g.newCertificate(t).install(); err != nil {
		t.Fatal(err)
	}
	g.Program = &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(dir, "log"), Ready: "http://" + g.metrics + "/readyz",
		Args: append([]string{
			"--kubeconfig=" + kubeconfig, "--grpc-address=" + g.grpc, "--http-address=" + g.rest, "--metrics-address=" + g.metrics,
			"--tls-cert-file=" + filepath.Join(dir, "tls.crt"), "--tls-private-key-file=" + filepath.Join(dir, "tls.key"),
		}, flags...),
	}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.Stop()
		if t.Failed() {
			t.Logf("the end of the gateway's log:\n%s", g.Tail(4000))
		}
	})
	return g
}

// certificate is one that clients of the gateway trust.
type certificate struct {
	*x509.Certificate
	files map[string][]byte
	dir   string
}

// newCertificate makes a certificate that clients to come will trust.
func (g *gateway) newCertificate(t *testing.T) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "gateway"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pool := g.roots.Clone() // clients hold the old one
	pool.AddCert(parsed)
	g.roots, g.trusted = pool, append(g.trusted, parsed)
	return certificate{parsed, map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}, g.certificates}
}

// install puts it where the gateway reads it, as a Secret that changes.
func (c certificate) install() error {
	for name, data := range c.files {
		path := filepath.Join(c.dir, name)
		if err := os.WriteFile(path+".new", data, 0o600); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}

// bearer sends a token with each call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return true }

// dial opens a gRPC connection of its own.
func (g *gateway) dial(t *testing.T, token string, options ...grpc.DialOption) raygatev2.ClusterServiceClient {
	t.Helper()
	return dial(t, g.grpc, g.roots, token, options...)
}

func dial(t *testing.T, target string, roots *x509.CertPool, token string, options ...grpc.DialOption) raygatev2.ClusterServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(tlsOf(roots))), grpc.WithPerRPCCredentials(bearer(token)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute}), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20)),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return raygatev2.NewClusterServiceClient(conn)
}

func tlsOf(roots *x509.CertPool) *tls.Config { return &tls.Config{RootCAs: roots} }

// minVersion says that nothing older than this resourceVersion will do.
func minVersion(ctx context.Context, version string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-min-resource-version", version)
}

// http is a client for REST with connections of its own.
func (g *gateway) http() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: tlsOf(g.roots), MaxIdleConnsPerHost: 64}, Timeout: await.Limit}
}

// answer is a response of which the body has been read.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// send sends a request by REST.
func send(ctx context.Context, c *http.Client, token, method, url string, body []byte) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, data}, err
}

func (g *gateway) url(ns, more string) string {
	return "https://" + g.rest + "/apis/v2/namespaces/" + ns + "/clusters" + more
}

// user returns the token of a new ServiceAccount that may do everything with Ray objects.
func (c *control) user(t *testing.T, ns, name string) string {
	t.Helper()
	kube, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, meta := t.Context(), metav1.ObjectMeta{Name: name, Namespace: ns}
	if _, err := kube.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	rule := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"ray.io"}, Resources: []string{"*"}}
	if _, err := kube.RbacV1().Roles(ns).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.RbacV1().RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: name}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: name}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	controlplane.AwaitRule(t, kube.AuthorizationV1(), ns, name, rule)
	var token string
	await.NoError(t, "a token that the role goes with", func() error {
		request, err := kube.CoreV1().ServiceAccounts(ns).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err == nil {
			token = request.Status.Token
		}
		return err
	})
	return token
}

// marshal returns a cluster as REST takes it.
func marshal(ns, name string) ([]byte, error) { return json.Marshal(cluster(ns, name)) }

// message is a cluster as gRPC takes it.
func message(ns, name string) *raygatev2.RayCluster {
	data, err := marshal(ns, name)
	if err != nil {
		panic(err)
	}
	m := &raygatev2.RayCluster{}
	if err := protojson.Unmarshal(data, m); err != nil {
		panic(err)
	}
	return m
}
