package kueue

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/controlplane"
)

const kueueNamespace = "kueue-system"

// startKueue installs Kueue and runs its manager until the end of the test.
func startKueue(t *testing.T, c client.Client, kubeconfig string) {
	t.Helper()
	folder, manager := module(t)
	ports, err := programs.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	webhooks := fmt.Sprintf("https://127.0.0.1:%d", ports[0])
	create(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kueueNamespace}})
	// Kueue keeps a certificate that is valid, and writes its CA into CRDs and webhook configurations.
	files := certificates(t)
	create(t, c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: kueueNamespace, Name: "kueue-webhook-server-cert"}, Data: files})
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	crds, err := filepath.Glob(filepath.Join(folder, "config/components/crd/bases/*.yaml"))
	if err != nil || len(crds) == 0 {
		t.Fatalf("CRDs of Kueue: %v, %v", crds, err)
	}
	for _, file := range append(crds, filepath.Join(folder, "config/components/webhook/manifests.yaml")) {
		for _, o := range decode(t, file) {
			byURL(t, o, webhooks)
			create(t, c, o)
		}
	}
	config := fmt.Sprintf(`
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: %s
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: true}
integrations: {frameworks: [ray.io/rayjob, ray.io/raycluster]}
featureGates:
  ElasticJobsViaWorkloadSlices: true # for autoscaling
`, kueueNamespace, ports[1], ports[0], dir)
	configFile := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(configFile, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, &programs.Program{
		Path: manager, Log: filepath.Join(dir, "kueue.log"), Ready: fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]),
		Args: []string{"--config", configFile, "--kubeconfig", kubeconfig},
		Env:  []string{"KUBECONFIG=" + kubeconfig, "VISIBILITY_CERT_DIR=" + dir, fmt.Sprintf("VISIBILITY_PORT=%d", ports[2])},
	})
	servePositions(t, c, ports[2])
}

// positions make the API server pass requests for positions in queues on to Kueue. It has no certificate for such requests, so that Kueue does not
// know who asks; the API server itself has authorized the caller before.
const positions = `
apiVersion: v1
kind: Service
metadata: {name: visibility-server, namespace: kueue-system}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta2.visibility.kueue.x-k8s.io}
spec:
  group: visibility.kueue.x-k8s.io
  version: v1beta2
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: visibility-server, namespace: kueue-system, port: %d}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: positions}
rules:
- {apiGroups: [visibility.kueue.x-k8s.io], resources: ["*"], verbs: [get, list]}
- {nonResourceURLs: ["*"], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: positions}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: positions}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:unauthenticated"}]
`

func servePositions(t *testing.T, c client.Client, port int) {
	t.Helper()
	for _, o := range parse(fmt.Sprintf(positions, port)) {
		create(t, c, o)
	}
}

// gateway is how the command line reaches the gateway, for objects of one namespace.
type gateway struct{ server, token, namespace string }

// addresses returns some that are free.
func addresses(t *testing.T, n int) []string {
	t.Helper()
	ports, err := programs.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, n)
	for i, port := range ports {
		all[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	return all
}

// startOperator runs the operator as an administrator.
func startOperator(t *testing.T, env *controlplane.Env) {
	t.Helper()
	at := addresses(t, 2)
	start(t, &programs.Program{
		Path: programs.Binary("raygate-operator"), Log: filepath.Join(t.TempDir(), "operator.log"), Ready: "http://" + at[1] + "/readyz",
		Args: []string{"--kubeconfig", env.Kubeconfig, "--use-kubernetes-proxy",
			"--metrics-bind-address=" + at[0], "--health-probe-bind-address=" + at[1], "--leader-elect=false"},
	})
}

// startProduct runs operator and gateway as an administrator.
func startProduct(t *testing.T, env *controlplane.Env, namespace string) *gateway {
	t.Helper()
	startOperator(t, env)
	at := addresses(t, 3)
	start(t, &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(t.TempDir(), "gateway.log"), Ready: "http://" + at[1] + "/readyz",
		Args: []string{"--kubeconfig", env.Kubeconfig, "--use-kubernetes-proxy",
			"--grpc-address=" + at[0], "--http-address=" + at[1], "--metrics-address=" + at[2]},
	})
	return &gateway{server: "http://" + at[0], token: env.Config.BearerToken, namespace: namespace}
}

// start runs a program until the end of the test, and prints the end of its log when the test has failed.
func start(t *testing.T, p *programs.Program) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			programs.PrintLogs(6000, p)
		}
		p.Stop()
	})
}

func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("creating %s: %v", o.GetName(), err)
	}
}

// decode reads the objects of a file.
func decode(t *testing.T, file string) (all []*unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(string(data))
}

// parse returns the objects of a text.
func parse(text string) (all []*unstructured.Unstructured) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); err != nil {
			return all
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// converted are the kinds with a conversion webhook, by Kueue's own manifests.
var converted = []string{"localqueues", "clusterqueues", "workloads", "cohorts", "multikueueclusters"}

// byURL makes a CRD or a webhook configuration of Kueue reach the manager by a URL. Of the webhooks, those for Ray and for Kueue's own kinds
// remain.
func byURL(t *testing.T, o *unstructured.Unstructured, server string) {
	t.Helper()
	if plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural"); slices.Contains(converted, plural) {
		conversion := map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"clientConfig": map[string]any{"url": server + "/convert"}, "conversionReviewVersions": []any{"v1"},
		}}
		if err := unstructured.SetNestedField(o.Object, conversion, "spec", "conversion"); err != nil {
			t.Fatal(err)
		}
	}
	all, found, _ := unstructured.NestedSlice(o.Object, "webhooks")
	if !found {
		return
	}
	o.SetName("kueue-" + o.GetName())
	all = slices.DeleteFunc(all, func(each any) bool {
		path, _, _ := unstructured.NestedString(each.(map[string]any), "clientConfig", "service", "path")
		return !strings.Contains(path, "-ray-io-") && !strings.Contains(path, "-kueue-")
	})
	for _, each := range all {
		hook := each.(map[string]any)
		path, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
		hook["clientConfig"] = map[string]any{"url": server + path}
	}
	o.Object["webhooks"] = all
}

// certificates are the files of Kueue's Secret: a CA, and a certificate for the name that Kueue expects and for this machine.
func certificates(t *testing.T) map[string][]byte {
	t.Helper()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kueue-ca"}, DNSNames: []string{"kueue-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(5, 0, 0),
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kueue"}, DNSNames: []string{"kueue-webhook-service." + kueueNamespace + ".svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		KeyUsage: x509.KeyUsageDigitalSignature, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
	}
	caKey, serverKey := newKey(t), newKey(t)
	files := map[string][]byte{}
	maps.Copy(files, pair("ca", signed(t, ca, ca, caKey, caKey), caKey))
	maps.Copy(files, pair("tls", signed(t, server, ca, serverKey, caKey), serverKey))
	return files
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signed is the certificate of a key, signed by the parent's key.
func signed(t *testing.T, of, parent *x509.Certificate, key, parentKey *rsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, of, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func pair(name string, certificate []byte, key *rsa.PrivateKey) map[string][]byte {
	return map[string][]byte{
		name + ".crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		name + ".key": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
}

// raygate runs the command line against the gateway, and returns its standard output.
func raygate(t *testing.T, g *gateway, args ...string) []byte {
	t.Helper()
	out, stderr := raygateBoth(t, g, args...)
	if testing.Verbose() && len(stderr) > 0 {
		t.Logf("raygate %v: %s", args, stderr)
	}
	return out
}

// raygateBoth also returns the standard error.
func raygateBoth(t *testing.T, g *gateway, args ...string) (stdout, stderr []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.Binary("raygate"), append([]string{"--server", g.server, "--namespace", g.namespace}, args...)...)
	cmd.Env = append(os.Environ(), "RAYGATE_TOKEN="+g.token)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("raygate %v: %v: %s", args, err, errors.String())
	}
	return out, errors.Bytes()
}
