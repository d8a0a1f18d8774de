package main

import (
	"testing"

	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authn/issuers"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
)

// tokenFor is a token of a ServiceAccount for an audience.
func tokenFor(t *testing.T, kube kubernetes.Interface, name, audience string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	answer, err := kube.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// Programs call with tokens of their ServiceAccount for the gateway alone, beside people with tokens of a provider. Both have their own rights.
func TestTokensOfServiceAccountsForTheGateway(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	forKubernetes := userToken(t, kube, "service", "list")
	userToken(t, kube, "service-without-rights")
	serving, provider := newAuthority(t, "serving"), oidcprovider.New(t)
	f := files{t.TempDir()}
	config := f.write(t, "authentication.yaml", []byte(provider.Config()))
	alone := startProcess(t, env.Config, authn.Impersonate, f.serving(t, serving), func(o *Options) { o.TokenAudiences = []string{"raygate", "ray"} })
	both := startProcess(t, env.Config, authn.Impersonate, f.serving(t, serving), func(o *Options) {
		o.AuthenticationConfig, o.TokenAudiences = config, []string{"raygate"}
		if o.issuers, err = issuers.Load(config); err != nil {
			t.Fatal(err)
		}
	})
	passthrough := startProcess(t, env.Config, authn.Passthrough, f.serving(t, serving))
	await.True(t, "the keys of the provider", func() bool {
		header := map[string]string{"authorization": "Bearer " + provider.Token(t, nil)}
		code, _ := newTLSCaller(t, both, serving.client(t, serving, ""), header).codes(t.Context(), "default")
		return code != codes.Unavailable
	})
	forGateway := tokenFor(t, kube, "service", "raygate")
	for name, tc := range map[string]struct {
		p        *process
		token    string
		wantCode codes.Code
		wantHTTP int
	}{
		"for the gateway":                     {alone, forGateway, codes.OK, 200},
		"for its other name":                  {alone, tokenFor(t, kube, "service", "ray"), codes.OK, 200},
		"without rights":                      {alone, tokenFor(t, kube, "service-without-rights", "raygate"), codes.PermissionDenied, 403},
		"for another service":                 {alone, tokenFor(t, kube, "service", "vault"), codes.Unauthenticated, 401},
		"for Kubernetes":                      {alone, forKubernetes, codes.Unauthenticated, 401},
		"of an administrator":                 {alone, env.Config.BearerToken + "x", codes.Unauthenticated, 401},
		"changed":                             {alone, forGateway + "x", codes.Unauthenticated, 401},
		"of a provider that is not trusted":   {alone, provider.Token(t, nil), codes.Unauthenticated, 401},
		"beside a provider":                   {both, forGateway, codes.OK, 200},
		"beside a provider, for Kubernetes":   {both, forKubernetes, codes.Unauthenticated, 401},
		"of a person without rights":          {both, provider.Token(t, map[string]any{"groups": []string{"sales"}}), codes.PermissionDenied, 403},
		"of an expired person":                {both, provider.Token(t, map[string]any{"exp": 1}), codes.Unauthenticated, 401},
		"where Kubernetes decides about them": {passthrough, forGateway, codes.Unauthenticated, 401},
	} {
		t.Run(name, func(t *testing.T) {
			header := map[string]string{"authorization": "Bearer " + tc.token}
			code, httpCode := newTLSCaller(t, tc.p, serving.client(t, serving, ""), header).codes(t.Context(), "default")
			if code != tc.wantCode || httpCode != tc.wantHTTP {
				t.Errorf("got %v and %d, want %v and %d", code, httpCode, tc.wantCode, tc.wantHTTP)
			}
		})
	}
	t.Run("is of no use at the API server", func(t *testing.T) {
		direct := rest.AnonymousClientConfig(env.Config)
		direct.BearerToken = forGateway
		c, err := kubernetes.NewForConfig(direct)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); err == nil {
			t.Error("it is accepted")
		}
	})
}
