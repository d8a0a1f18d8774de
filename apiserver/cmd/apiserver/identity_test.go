package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authn/issuers"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/test/controlplane"
)

// tlsCaller calls a gateway that speaks TLS by both transports.
type tlsCaller struct {
	grpc   raygatev2.ClusterServiceClient
	http   *http.Client
	base   string
	header map[string]string
}

func newTLSCaller(t *testing.T, p *process, config *tls.Config, header map[string]string) *tlsCaller {
	t.Helper()
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return &tlsCaller{raygatev2.NewClusterServiceClient(conn), &http.Client{Transport: transport}, "https://" + p.http, header}
}

// codes are those of a list in a namespace by gRPC, and by REST, in HTTP.
func (c *tlsCaller) codes(ctx context.Context, namespace string) (codes.Code, int) {
	ctx, cancel := context.WithTimeout(ctx, controlplane.WaitTimeout)
	defer cancel()
	out := ctx
	for k, v := range c.header {
		out = metadata.AppendToOutgoingContext(out, k, v)
	}
	_, err := c.grpc.ListClusters(out, &raygatev2.ListClustersRequest{Namespace: namespace})
	r, _ := http.NewRequestWithContext(ctx, "GET", c.base+collection(namespace), nil)
	for k, v := range c.header {
		r.Header.Set(k, v)
	}
	resp, httpErr := c.http.Do(r)
	if httpErr != nil {
		return status.Code(err), 0
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return status.Code(err), resp.StatusCode
}

func TestImpersonate(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Name: "impersonated"}
	rules := []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters"}}}
	if _, err := kube.RbacV1().Roles("default").Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "ada"}, {Kind: "Group", APIGroup: "rbac.authorization.k8s.io", Name: "readers"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	serving, users, proxies := newAuthority(t, "serving"), newAuthority(t, "users"), newAuthority(t, "proxies")
	f := files{t.TempDir()}
	p := startProcess(t, env.Config, authn.Impersonate, f.serving(t, serving), func(o *Options) {
		o.ClientCAFile = f.write(t, "users.crt", users.pem)
		o.RequestHeader.ClientCAFile = f.write(t, "proxies.crt", proxies.pem)
		o.RequestHeader.AllowedNames = []string{"front"}
	})
	proxied := func(name string) map[string]string { return map[string]string{"x-remote-user": name} }
	for name, tc := range map[string]struct {
		config   *tls.Config
		header   map[string]string
		wantCode codes.Code
		wantHTTP int
	}{
		"a user by name":                {users.client(t, serving, "ada"), nil, codes.OK, 200},
		"a user by group":               {users.client(t, serving, "bob", "readers"), nil, codes.OK, 200},
		"a user without rights":         {users.client(t, serving, "eve"), nil, codes.PermissionDenied, 403},
		"nobody":                        {users.client(t, serving, ""), nil, codes.Unauthenticated, 401},
		"a token is nothing here":       {users.client(t, serving, ""), map[string]string{"authorization": "Bearer " + env.Config.BearerToken + "x"}, codes.Unauthenticated, 401},
		"a certificate of another CA":   {serving.client(t, serving, "ada"), nil, codes.Unauthenticated, 401},
		"the proxy for a user":          {proxies.client(t, serving, "front"), proxied("ada"), codes.OK, 200},
		"the proxy for one without":     {proxies.client(t, serving, "front"), proxied("eve"), codes.PermissionDenied, 403},
		"the proxy itself":              {proxies.client(t, serving, "front"), nil, codes.Unauthenticated, 401},
		"another proxy":                 {proxies.client(t, serving, "back"), proxied("ada"), codes.Unauthenticated, 401},
		"a user who plays proxy":        {users.client(t, serving, "eve"), proxied("ada"), codes.PermissionDenied, 403},
		"nobody who plays proxy":        {users.client(t, serving, ""), proxied("ada"), codes.Unauthenticated, 401},
		"a user who impersonates":       {users.client(t, serving, "eve"), map[string]string{"impersonate-user": "ada"}, codes.PermissionDenied, 403},
		"a member of system:masters":    {users.client(t, serving, "root", "system:masters"), nil, codes.PermissionDenied, 403},
		"a proxy for a group of groups": {proxies.client(t, serving, "front"), map[string]string{"x-remote-user": "eve", "x-remote-group": "readers"}, codes.OK, 200},
	} {
		t.Run(name, func(t *testing.T) {
			code, httpCode := newTLSCaller(t, p, tc.config, tc.header).codes(t.Context(), "default")
			if code != tc.wantCode || httpCode != tc.wantHTTP {
				t.Errorf("got %v and %d, want %v and %d", code, httpCode, tc.wantCode, tc.wantHTTP)
			}
		})
	}
}

// Callers with a token of an identity provider have the rights of its claims, as an impersonated user.
func TestTokensOfAnIdentityProvider(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Name: "from-provider"}
	rules := []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters"}}}
	if _, err := kube.RbacV1().Roles("default").Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: "rbac.authorization.k8s.io", Name: "ml"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	serving, provider := newAuthority(t, "serving"), oidcprovider.New(t)
	f := files{t.TempDir()}
	config := f.write(t, "authentication.yaml", []byte(provider.Config()))
	p := startProcess(t, env.Config, authn.Impersonate, f.serving(t, serving), func(o *Options) {
		o.AuthenticationConfig = config
		if o.issuers, err = issuers.Load(config); err != nil {
			t.Fatal(err)
		}
	})
	with := func(changes map[string]any) *tlsCaller {
		return newTLSCaller(t, p, serving.client(t, serving, ""), map[string]string{"authorization": "Bearer " + provider.Token(t, changes)})
	}
	await.True(t, "the keys of the provider", func() bool {
		code, _ := with(nil).codes(t.Context(), "default")
		return code != codes.Unavailable
	})
	for name, tc := range map[string]struct {
		caller   *tlsCaller
		wantCode codes.Code
		wantHTTP int
	}{
		"a member of the group":   {with(nil), codes.OK, 200},
		"a member of another":     {with(map[string]any{"groups": []string{"sales"}}), codes.PermissionDenied, 403},
		"a member of nothing":     {with(map[string]any{"groups": nil}), codes.PermissionDenied, 403},
		"an administrator":        {with(map[string]any{"groups": []string{"system:masters"}}), codes.Unauthenticated, 401},
		"an expired token":        {with(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), codes.Unauthenticated, 401},
		"a token for others":      {with(map[string]any{"aud": "kubernetes"}), codes.Unauthenticated, 401},
		"a token of Kubernetes":   {newTLSCaller(t, p, serving.client(t, serving, ""), map[string]string{"authorization": "Bearer " + userToken(t, kube, "from-kubernetes", "list")}), codes.Unauthenticated, 401},
		"nobody":                  {newTLSCaller(t, p, serving.client(t, serving, ""), nil), codes.Unauthenticated, 401},
		"one who plays a proxy":   {newTLSCaller(t, p, serving.client(t, serving, ""), map[string]string{"x-remote-user": "ada", "x-remote-group": "ml"}), codes.Unauthenticated, 401},
		"a member who plays root": {newTLSCaller(t, p, serving.client(t, serving, ""), map[string]string{"authorization": "Bearer " + provider.Token(t, map[string]any{"groups": nil}), "impersonate-group": "ml"}), codes.PermissionDenied, 403},
	} {
		t.Run(name, func(t *testing.T) {
			code, httpCode := tc.caller.codes(t.Context(), "default")
			if code != tc.wantCode || httpCode != tc.wantHTTP {
				t.Errorf("got %v and %d, want %v and %d", code, httpCode, tc.wantCode, tc.wantHTTP)
			}
		})
	}
}

// Certificates and client CAs are replaced under a running process; connections that there are go on.
func TestTLSRotation(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	header := map[string]string{"authorization": "Bearer " + userToken(t, kube, "rotation", "list")}
	first, second := newAuthority(t, "first"), newAuthority(t, "second")
	f := files{t.TempDir()}
	p := startProcess(t, env.Config, authn.Passthrough, f.serving(t, first), func(o *Options) { o.ClientCAFile = f.write(t, "clients.crt", first.pem) })

	old := newTLSCaller(t, p, first.client(t, first, "client"), header)
	if code, httpCode := old.codes(t.Context(), "default"); code != codes.OK || httpCode != 200 {
		t.Fatalf("before: %v and %d", code, httpCode)
	}
	if code, httpCode := newTLSCaller(t, p, first.client(t, first, ""), header).codes(t.Context(), "default"); code == codes.OK || httpCode != 0 {
		t.Errorf("without a client certificate: %v and %d", code, httpCode)
	}
	f.serving(t, second)
	f.write(t, "clients.crt", second.pem)
	await.True(t, "the new certificate by both transports", func() bool {
		code, httpCode := newTLSCaller(t, p, second.client(t, second, "client"), header).codes(t.Context(), "default")
		return code == codes.OK && httpCode == 200
	})
	if code, httpCode := newTLSCaller(t, p, first.client(t, second, "client"), header).codes(t.Context(), "default"); code == codes.OK || httpCode != 0 {
		t.Errorf("with a client certificate of the old CA: %v and %d", code, httpCode)
	}
	if code, httpCode := old.codes(t.Context(), "default"); code != codes.OK || httpCode != 200 {
		t.Errorf("a connection from before: %v and %d", code, httpCode)
	}
	var from peer.Peer
	out := metadata.AppendToOutgoingContext(t.Context(), "authorization", header["authorization"])
	if _, err := newTLSCaller(t, p, second.client(t, second, "client"), header).grpc.ListClusters(out, &raygatev2.ListClustersRequest{Namespace: "default"}, grpc.Peer(&from)); err != nil {
		t.Fatal(err)
	}
	if info := from.AuthInfo.(credentials.TLSInfo); info.State.Version < tls.VersionTLS12 || info.State.NegotiatedProtocol != "h2" {
		t.Errorf("the connection speaks %x %q", info.State.Version, info.State.NegotiatedProtocol)
	}
}

// A browser has one connection to the gateway for any number of streams; HTTP/1.1 lets it have six.
func TestStreamsShareAConnection(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	serving, token := newAuthority(t, "http2"), userToken(t, kube, "http2", "list", "watch")
	p := startProcess(t, env.Config, authn.Passthrough, files{t.TempDir()}.serving(t, serving))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: serving.client(t, serving, ""), ForceAttemptHTTP2: true, MaxConnsPerHost: 1}, Timeout: controlplane.WaitTimeout}
	defer client.CloseIdleConnections()
	get := func(path, token string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+p.http+"/apis/v2/namespaces/default/"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	for range 8 {
		resp := get("clusters:watch", token)
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); resp.ProtoMajor != 2 || err != nil {
			t.Fatalf("a watch by %s begins with %q, %v", resp.Proto, line, err)
		}
	}
	if resp := get("clusters", "nobody's"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token that is none: %s", resp.Status)
	}
	if resp := get("clusters", token); resp.StatusCode != http.StatusOK {
		t.Errorf("a list beside watches: %s", resp.Status)
	}
}

// Reads and watches died 10 s after the API server.
func TestReadsGoOnWhileTheAPIServerIsAway(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	token := userToken(t, kube, "away", "get", "list", "watch", "create")
	p := startProcess(t, env.Config, authn.Passthrough)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for name, open := range callersOf(t, p) {
		wantCode(t, name+" create", onClusters(t, open(token), "Create", "away-"+name), codes.OK)
		reads(t, open(token), "away-"+name)
	}
	alive, ended := make(chan string, 100), make(chan error, 1)
	go func() {
		ended <- watchClusters(ctx, newGRPCCaller(t, p.grpc, token), func(what string) bool {
			alive <- what
			return true
		})
	}()
	for e := range alive {
		if e == "SYNCED" {
			break
		}
	}
	if err := env.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := env.RestartAPIServer(); err != nil {
			t.Error(err)
		}
	}()
	// The heartbeat, for which the caller is authorized anew, comes after the first verdict has lost its freshness.
	for heartbeat := ""; heartbeat != "HEARTBEAT"; {
		select {
		case heartbeat = <-alive:
		case err := <-ended:
			t.Fatalf("the watch ended with %v", err)
		}
	}
	for name, open := range callersOf(t, p) {
		reads(t, open(token), "away-"+name)
		err = onClusters(t, open(token), "Create", "away-2")
		wantCode(t, name+" create while away", err, codes.Unavailable)
	}
	err = onClusters(t, newGRPCCaller(t, p.grpc, token), "Create", "away-2")
	retry := false
	for _, d := range status.Convert(err).Details() {
		_, isRetry := d.(*errdetails.RetryInfo)
		retry = retry || isRetry
	}
	if !retry {
		t.Errorf("a write is not told when to try again: %v", err)
	}
	wantCode(t, "a caller never seen", onClusters(t, newGRPCCaller(t, p.grpc, token+"x"), "List", ""), codes.Unavailable)
	if code, text := p.ready(t); code != 200 || !strings.Contains(text, "last contact with the API server") {
		t.Errorf("readiness is %d: %s", code, text)
	}
}

func reads(t *testing.T, c caller, name string) {
	t.Helper()
	wantCode(t, "get of "+name, onClusters(t, c, "Get", name), codes.OK)
	wantCode(t, "list beside "+name, onClusters(t, c, "List", ""), codes.OK)
}

// What Kubernetes refuses the gateway was shown to the caller as if it had been refused to them.
func TestGatewayWithoutRights(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	own := rest.AnonymousClientConfig(env.Config)
	own.BearerToken = userToken(t, kube, "powerless")
	token := userToken(t, kube, "powerful", "get", "list")
	p := launch(t, own, authn.Passthrough)
	c := newGRPCCaller(t, p.grpc, token)
	await.True(t, "an answer", func() bool { return !isRefused(onClusters(t, c, "List", "")) })
	for _, verb := range []string{"Get", "List"} {
		err := onClusters(t, c, verb, "x")
		wantCode(t, verb, err, codes.Unavailable)
		if !strings.Contains(err.Error(), "gateway's own credentials") {
			t.Errorf("%s: %v does not say whose rights are missing", verb, err)
		}
	}
	if code, _ := p.ready(t); code != http.StatusServiceUnavailable {
		t.Errorf("readiness is %d", code)
	}
}

// isRefused reports whether the connection was refused because no server listens yet.
func isRefused(err error) bool {
	return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "connection")
}

func TestNamespaces(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	own := rest.AnonymousClientConfig(env.Config)
	own.BearerToken = userToken(t, kube, "of-one-namespace", "get", "list", "watch")
	token := userToken(t, kube, "user-of-one-namespace", "get", "list", "watch", "create", "delete")
	p := startProcess(t, own, authn.Passthrough, func(o *Options) { o.Namespaces = []string{"default"} })
	for name, open := range callersOf(t, p) {
		for _, verb := range []string{"Create", "Get", "List", "Watch", "Delete"} {
			wantCode(t, name+" "+verb, onClusters(t, open(token), verb, "one-"+name), codes.OK)
		}
	}
	admin := newGRPCCaller(t, startProcess(t, env.Config, authn.None, func(o *Options) { o.Namespaces = []string{"default"} }).grpc, "")
	s, other := allServed()[0], allServed()[0].example(t, "x")
	delete(other["metadata"].(object), "namespace")
	for what, tc := range map[string]struct {
		verb, suffix string
		req          object
		want         codes.Code
	}{
		"list of all namespaces":      {"List", "s", object{}, codes.InvalidArgument},
		"list of another namespace":   {"List", "s", object{"namespace": "elsewhere"}, codes.NotFound},
		"create in another namespace": {"Create", "", object{"namespace": "elsewhere", s.body: other}, codes.NotFound},
	} {
		_, err := admin.call(t.Context(), s.method(t, tc.verb, tc.suffix), tc.req)
		wantCode(t, what, err, tc.want)
	}
}
