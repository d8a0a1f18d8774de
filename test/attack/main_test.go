package attack

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/podaddress"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/controlplane"
)

var binary = flag.String("gateway", programs.Binary("raygate-apiserver"), "gateway to attack")

// The tenants.
const (
	teamA = "team-a" // attacks
	teamB = "team-b" // is attacked
)

// stage is what all tests share.
var stage struct {
	env    *controlplane.Env
	kube   client.Client
	dir    string
	tokens map[string]string // by tenant
	spans  collector
	// traced are the flags that send spans there, and rights the kubeconfig of a gateway with the rights of the manifests.
	traced []string
	rights string
	// gateway identifies callers by their tokens.
	gateway *gateway
}

// gateway is a running one.
type gateway struct {
	*programs.Program
	url, metrics, grpc string
}

func TestMain(m *testing.M) {
	flag.Parse()
	if controlplane.ShortMain("test/attack") {
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the gateway:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	env, stop, err := controlplane.StartForMain(controlplane.Options{Nodes: -1, WithoutScheduler: true})
	if err != nil {
		return 0, err
	}
	defer stop()
	stage.env = env
	if err := rayv1.AddToScheme(clientgoscheme.Scheme); err != nil {
		return 0, err
	}
	if stage.kube, err = client.New(env.Config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return 0, err
	}
	if stage.dir, err = os.MkdirTemp("", "raygate-attack-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(stage.dir)
	stage.tokens = map[string]string{}
	for _, team := range []string{teamA, teamB} {
		if stage.tokens[team], err = tenant(context.Background(), team); err != nil {
			return 0, err
		}
	}
	endpoint, stopCollector, err := stage.spans.serve()
	if err != nil {
		return 0, err
	}
	defer stopCollector()
	if stage.rights, err = shippedRights(context.Background()); err != nil {
		return 0, err
	}
	stage.traced = []string{"--v=2", "--tracing-endpoint=" + endpoint, "--tracing-sampling-rate-per-million=1000000"}
	if stage.gateway, err = newGateway("gateway", stage.rights, append(stage.traced, "--history-store="+historyStore(), "--package-url="+packageURL)...); err != nil {
		return 0, err
	}
	return programs.Run(m, stage.gateway.Program)
}

// historyStore is the URL of the history that the gateway reads.
func historyStore() string { return "file://" + filepath.Join(stage.dir, "history") }

// newGateway returns a gateway that is not started, for whose eyes the names of tenants' head Services lead to this machine.
func newGateway(name, kubeconfig string, args ...string) (*gateway, error) {
	path, err := filepath.Abs(*binary)
	if err != nil {
		return nil, err
	}
	ports, err := programs.FreePorts(3)
	if err != nil {
		return nil, err
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	g := &gateway{url: "http://" + at(1), metrics: "http://" + at(2), grpc: at(0)}
	args = append([]string{"--kubeconfig=" + kubeconfig, "--grpc-address=" + at(0), "--http-address=" + at(1), "--metrics-address=" + at(2)}, args...)
	g.Program = &programs.Program{Path: path, Args: args, Log: filepath.Join(stage.dir, name+".log"), Ready: g.metrics + "/readyz"}
	if exec.Command("unshare", "-rm", "true").Run() == nil {
		hosts := filepath.Join(stage.dir, "hosts")
		text := "127.0.0.1 localhost" + names(teamA, "evil") + "\n"
		if address, ok := podaddress.Find(); ok { // what is honest would work by DNS, too
			text += address.String() + names(teamA, "own") + names(teamA, "shown") + names(teamA, "hostile") + names(teamB, "other") + names(teamB, "watched") + "\n"
		}
		if err := os.WriteFile(hosts, []byte(text), 0o600); err != nil {
			return nil, err
		}
		g.Path, g.Args = "unshare", append([]string{"-rm", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, hosts, path}, args...)
		if g.Path, err = exec.LookPath("unshare"); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// names are those by which a gateway could ask for the head Service of a cluster.
func names(team, cluster string) string {
	name := " " + cluster + "-head-svc." + team
	return name + name + ".svc" + name + ".svc.cluster.local"
}

// start runs another gateway until the end of the test.
func start(t *testing.T, name string, args ...string) *gateway {
	t.Helper()
	g, err := newGateway(name, stage.env.Kubeconfig, args...)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g
}

// shippedRights gives the gateway its ServiceAccount and its role, and returns its kubeconfig.
func shippedRights(ctx context.Context) (string, error) {
	for _, file := range []string{"operator/config/manager/namespace.yaml", "apiserver/config/deployment/service_account.yaml", "apiserver/config/deployment/page_tokens.yaml", "apiserver/config/rbac/role.yaml", "apiserver/config/rbac/role_binding.yaml", "apiserver/config/components/impersonate/role.yaml"} {
		cmd := exec.Command(programs.Binary("k8s/kubectl"), "--kubeconfig", stage.env.Kubeconfig, "apply", "--server-side", "-f", filepath.Join("../..", file))
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("applying %s: %w: %s", file, err, out)
		}
	}
	return stage.env.KubeconfigOf(ctx, stage.dir, "raygate-system", "raygate-apiserver")
}

// tenant makes a namespace with a user who may do in it what people do who run Ray there, and returns their token.
func tenant(ctx context.Context, team string) (string, error) {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: team, Name: name} }
	account := &corev1.ServiceAccount{ObjectMeta: at("user")}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, account,
		&rbacv1.Role{ObjectMeta: at("user"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters", "rayjobs", "rayservices"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
			{APIGroups: []string{""}, Resources: []string{"services/proxy"}, Verbs: []string{"get", "create", "update", "delete"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: at("user"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "user"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: team, Name: "user"}}},
	} {
		if err := stage.kube.Create(ctx, o); err != nil {
			return "", err
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := stage.kube.SubResource("token").Create(ctx, account, request); err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// collector keeps the spans that it gets, as text.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer
	mu   sync.Mutex
	text strings.Builder
}

// Export implements collectorpb.TraceServiceServer.
func (c *collector) Export(_ context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(prototext.Format(req))
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func (c *collector) serve() (endpoint string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(l) }()
	return l.Addr().String(), server.Stop, nil
}

// answer is one to a request.
type answer struct {
	code   int
	header http.Header
	body   string
}

// send sends a request; headers are names and values in turn.
func send(t *testing.T, c *http.Client, method, url, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

// as sends a request to the gateway with the token of a tenant.
func as(t *testing.T, team, method, path, body string, headers ...string) answer {
	t.Helper()
	return send(t, &http.Client{Transport: http.DefaultTransport}, method, stage.gateway.url+path, body, append(headers, "Authorization", "Bearer "+stage.tokens[team])...)
}

// allow lets a user do everything.
func allow(t *testing.T, user string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	if err := stage.kube.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}
