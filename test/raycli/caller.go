package raycli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/controlplane"
)

// StartGateway starts a gateway that acts with the tokens of its callers, until the test ends, and returns its URL.
func StartGateway(t *testing.T, kubeconfig string) string {
	t.Helper()
	url, _ := StartGatewayWith(t, kubeconfig)
	return url
}

// StartGatewayWith starts it with the flags of a Certificate, and returns its URL, and its host and port for gRPC.
func StartGatewayWith(t *testing.T, kubeconfig string, flags ...string) (url, grpc string) {
	t.Helper()
	ports, err := programs.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	gateway := &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(t.TempDir(), "gateway.log"), Ready: "http://" + at(2) + "/readyz",
		Args: append([]string{
			"--kubeconfig", kubeconfig, "--authentication=passthrough", "--grpc-address=" + at(0), "--http-address=" + at(1), "--metrics-address=" + at(2), "--use-kubernetes-proxy",
		}, flags...),
	}
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		gateway.Stop()
		if t.Failed() {
			t.Logf("end of the log of the gateway:\n%s", gateway.Tail(6000))
		}
	})
	scheme := "http"
	if len(flags) > 0 {
		scheme = "https"
	}
	return scheme + "://" + at(1), at(0)
}

// Certificate writes a certificate for this machine, and returns the flags of a gateway with it and the file by which clients trust it.
func Certificate(t *testing.T) (flags []string, authority string) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	authority, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if err := errors.Join(os.WriteFile(authority, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	return []string{"--tls-cert-file=" + authority, "--tls-private-key-file=" + keyFile}, authority
}

// Caller makes a ServiceAccount that may use the dashboards of a namespace with these verbs, and returns a token of it.
func Caller(t *testing.T, config *rest.Config, ns, name string, verbs ...string) string {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reviews, err := authorizationclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Name: name, Namespace: ns}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}, // the cluster asks for its token
		{APIGroups: []string{""}, Resources: []string{"services/proxy"}, Verbs: verbs},
	}
	objects := []client.Object{
		account,
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: name}},
		},
	}
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("creating %T: %v", o, err)
		}
	}
	controlplane.AwaitRule(t, reviews, ns, name, rules[0])
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(context.WithoutCancel(t.Context()), account, request); err != nil {
		t.Fatalf("asking for a token: %v", err)
	}
	return request.Status.Token
}

// Address is the address of the dashboard of a cluster behind a gateway.
func Address(gateway, ns, cluster string) string {
	return gateway + "/apis/v2/namespaces/" + ns + "/clusters/" + cluster + "/dashboard"
}
