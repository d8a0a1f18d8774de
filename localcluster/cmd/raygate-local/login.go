package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/localcluster/internal/controlplane"
	"github.com/raygate/raygate/localcluster/internal/proc"
)

// loginOIDC is the value of --login with an identity provider.
const loginOIDC = "oidc"

// engineers and guests are the groups of the users of the identity provider, ada and ben.
const engineers, guests = "sso:ml-engineers", "sso:ml-guests"

func (p paths) provider() string { return filepath.Join(p.bin, "raygate-oidc") }
func (p paths) login() string    { return filepath.Join(p.data, "login") }

func (o *runOptions) checkLogin(p paths) error {
	switch {
	case o.login == "":
		return nil
	case o.login != loginOIDC:
		return fmt.Errorf("--login: %q is not %s", o.login, loginOIDC)
	case o.withoutRaygate:
		return errors.New("--login needs the gateway, which --without-raygate omits")
	case !exists(p.provider()):
		return errors.New("not built yet: bin/raygate-oidc; run: make provider")
	}
	return nil
}

// startLogin starts the identity provider, gives its users their rights, and returns the flags of the gateway.
func (r *runner) startLogin(ctx context.Context) ([]string, error) {
	if r.opts.login == "" {
		return []string{"--authentication=none"}, nil
	}
	gateway, _ := r.addresses()
	dir := r.paths.login()
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("removing the files of the last login: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making folder: %w", err)
	}
	r.out.printf("starting the identity provider")
	provider, err := r.group.Start(proc.Spec{
		Name: "raygate-oidc", Path: r.paths.provider(), Log: r.paths.log("raygate-oidc"),
		Args: []string{"-dir", dir, "-console", gateway, "-address", fmt.Sprintf("127.0.0.1:%d", r.ports[portProvider])},
	}, controlplane.LayerPrograms, time.Second)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "authentication.yaml")
	for end := time.Now().Add(controlplane.StartLimit); !exists(config); time.Sleep(20 * time.Millisecond) { // the provider writes it when it serves
		select {
		case <-provider.Done():
			return nil, fmt.Errorf("the identity provider ended; its log is %s", provider.Log)
		case <-ctx.Done():
			return nil, ctx.Err()
		default:
		}
		if time.Now().After(end) {
			return nil, errors.New("the identity provider did not become ready")
		}
	}
	text := fmt.Sprintf("redirectURL: %s/oauth2/callback\ncheckInterval: 1m\nproviders: [{name: the test provider, issuerURL: '%s', clientID: raygate-console}]\n", gateway, r.issuer())
	if err := os.WriteFile(filepath.Join(dir, "login.yaml"), []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("writing the login of the gateway: %w", err)
	}
	return []string{"--authentication=impersonate", "--authentication-config=" + config, "--login-config=" + filepath.Join(dir, "login.yaml")}, r.grant(ctx)
}

func (r *runner) issuer() string { return fmt.Sprintf("https://127.0.0.1:%d", r.ports[portProvider]) }

// grant lets engineers do everything with Ray, and guests read.
func (r *runner) grant(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(r.cp.Config)
	if err != nil {
		return fmt.Errorf("making client: %w", err)
	}
	for group, verbs := range map[string][]string{engineers: {"*"}, guests: {"get", "list", "watch"}} {
		meta := metav1.ObjectMeta{Name: "raygate-local:" + group}
		role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"ray.io"}, Resources: []string{"*"}, Verbs: verbs},
			{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"namespaces", "pods", "pods/log", "events", "services/proxy"}, Verbs: verbs},
		}}
		if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the rights of %s: %w", group, err)
		}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
		}
		if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("binding the rights of %s: %w", group, err)
		}
	}
	return nil
}

// guideLogin prints where to log in.
func (s state) guideLogin(line func(format string, args ...any)) {
	line("  console          %s/ui/", s.HTTP)
	line("  log in           as ada (password ada), who may do everything with Ray, or as ben (password ben), who may read")
	line("  provider         %s; your browser warns of its certificate once", s.Issuer)
	line("")
	line("  Try, in another terminal:")
	line("")
	line("  . %s", s.Env)
	line("  export SSL_CERT_FILE=%s", filepath.Join(filepath.Dir(s.Env), "login", "ca.crt"))
	line("  raygate login --server %s --issuer-url %s --client-id raygate", s.GRPC, s.Issuer)
	line("  raygate get clusters --server %s", s.GRPC)
}
