// Package product starts the programs for the console: a control plane with simulated nodes, the operator and the gateway.
package product

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/controlplane"
)

const gates = "RayCronJob=true"

// Product is a control plane with raygate in it.
type Product struct {
	Env    *controlplane.Env
	Client client.Client
	// URL is the base URL of the gateway's REST server, without a slash at the end.
	URL string
	// Metrics is the URL of the gateway's Prometheus metrics.
	Metrics  string
	Gateway  *programs.Program
	Operator *programs.Program

	logs string
}

// Start starts a Product; the tests that use it run two folders below the root of the repository. Stop ends it.
func Start(ctx context.Context) (_ *Product, err error) {
	ctrllog.SetLogger(logr.Discard())
	p := &Product{}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	if p.Env, _, err = controlplane.StartForMain(controlplane.Options{}); err != nil {
		return nil, err
	}
	if err := rayv1.AddToScheme(clientgoscheme.Scheme); err != nil {
		return nil, fmt.Errorf("adding kinds: %w", err)
	}
	if p.Client, err = client.New(p.Env.Config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if p.logs, err = os.MkdirTemp("", "raygate-console-"); err != nil {
		return nil, fmt.Errorf("making a folder for logs: %w", err)
	}
	gateway, err := p.gatewayAccount(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := programs.FreePorts(5)
	if err != nil {
		return nil, err
	}
	past := "--history-store=file://" + filepath.Join(p.logs, "history")
	pages := filepath.Join(p.logs, "pages") // in place of Ray's
	if err := errors.Join(os.Mkdir(pages, 0o755), os.WriteFile(filepath.Join(pages, "index.html"), []byte("<!doctype html><title>Ray</title>"), 0o600)); err != nil {
		return nil, err
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	p.URL, p.Metrics = "http://"+at(3), "http://"+at(4)+"/metrics"
	p.Operator = &programs.Program{
		Path: programs.Binary("raygate-operator"), Log: filepath.Join(p.logs, "operator.log"), Ready: "http://" + at(1) + "/readyz",
		Args: []string{"--kubeconfig", p.Env.Kubeconfig, "--metrics-bind-address=" + at(0), "--health-probe-bind-address=" + at(1), "--leader-elect=false", "--feature-gates=" + gates, "--use-kubernetes-proxy", past, "--history-node-logs=1Mi"},
	}
	p.Gateway = &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(p.logs, "gateway.log"), Ready: p.URL + "/readyz",
		Args: []string{"--kubeconfig", gateway, "--grpc-address=" + at(2), "--http-address=" + at(3), "--metrics-address=" + at(4), "--use-kubernetes-proxy", past, "--dashboard-pages=" + pages,
			"--package-url=" + p.URL}, // simulated Ray runs on this machine
	}
	for _, program := range []*programs.Program{p.Operator, p.Gateway} {
		if err := program.Start(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Stop ends everything. It may be called more than once.
func (p *Product) Stop() {
	for _, program := range []*programs.Program{p.Gateway, p.Operator} {
		if program != nil {
			program.Stop()
		}
	}
	if p.Env != nil {
		p.Env.Stop()
	}
	if p.logs != "" {
		_ = os.RemoveAll(p.logs)
	}
}

// gatewayAccount installs the gateway's rights as they are shipped, and returns the kubeconfig of its ServiceAccount.
func (p *Product) gatewayAccount(ctx context.Context) (string, error) {
	for _, file := range []string{
		"operator/config/manager/namespace.yaml", "apiserver/config/deployment/service_account.yaml",
		"apiserver/config/rbac/role.yaml", "apiserver/config/rbac/role_binding.yaml",
	} {
		cmd := exec.CommandContext(ctx, programs.Binary("k8s/kubectl"), "--kubeconfig", p.Env.Kubeconfig, "apply", "--server-side", "-f", filepath.Join("../..", file))
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("applying %s: %w: %s", file, err, out)
		}
	}
	return p.Env.KubeconfigOf(ctx, p.logs, "raygate-system", "raygate-apiserver")
}

// Namespace creates a namespace whose name begins with prefix.
func (p *Product) Namespace(ctx context.Context, prefix string) (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	if err := p.Client.Create(ctx, ns); err != nil {
		return "", fmt.Errorf("creating a namespace: %w", err)
	}
	// Without its ServiceAccount no Pod can be created, and events report that for a long time.
	account := client.ObjectKey{Namespace: ns.Name, Name: "default"}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := p.Client.Get(ctx, account, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return "", fmt.Errorf("waiting for the ServiceAccount of a namespace: %w", err)
	}
	return ns.Name, nil
}

// User makes a ServiceAccount with a ClusterRole, in its own namespace only unless everywhere is true, or with no rights when role is empty, and returns its token.
func (p *Product) User(ctx context.Context, namespace, name, role string, everywhere bool) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := p.Client.Create(ctx, account); err != nil {
		return "", fmt.Errorf("creating ServiceAccount: %w", err)
	}
	if role != "" {
		subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
		var binding client.Object = &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Subjects: subjects, RoleRef: ref}
		if everywhere {
			binding = &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name}, Subjects: subjects, RoleRef: ref}
		}
		if err := p.Client.Create(ctx, binding); err != nil {
			return "", fmt.Errorf("creating binding: %w", err)
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(86400))}}
	if err := p.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("asking for a token: %w", err)
	}
	return request.Status.Token, nil
}
