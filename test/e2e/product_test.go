package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/test/controlplane"
)

// sampleGates are the feature gates that samples need, off by default. Operator, gateway and command line get the same.
const sampleGates = "RayClusterMTLS=true,RayClusterNetworkPolicy=true,RayClusterHistoryServer=true,GCSFaultToleranceEmbeddedStorage=true"

// operatorGates also has the controller of RayCronJobs, as in `make run`.
const operatorGates = sampleGates + ",RayCronJob=true"

// product is what all tests share: one control plane, one operator, one gateway.
var product struct {
	env      *controlplane.Env
	client   client.Client
	operator *programs.Program
	gateway  *programs.Program
	rest     string // base URL
	grpc     string // host:port
	clusters raygatev2.ClusterServiceClient
	jobs     raygatev2.JobServiceClient
	// token is that of the user who calls the gateway, and may do everything.
	token string
	// authentication is the file with the identity providers that the API server trusts, none until a test writes them.
	authentication string
	// audit sees what the programs ask of the API server.
	audit *audit
}

// bearer sends the token with each call by gRPC.
type bearer struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + product.token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: it stays on this machine.
func (bearer) RequireTransportSecurity() bool { return false }

func TestMain(m *testing.M) {
	if controlplane.ShortMain("test/e2e") {
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the product:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	logs, err := os.MkdirTemp("", "raygate-e2e-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(logs)
	product.authentication = filepath.Join(logs, "authentication.yaml")
	if err := os.WriteFile(product.authentication, []byte(noIssuers), 0o600); err != nil {
		return 0, err
	}
	env, stop, err := controlplane.StartForMain(controlplane.Options{Own: true, AuthenticationConfig: product.authentication})
	if err != nil {
		return 0, err
	}
	defer stop()
	product.env = env

	scheme := clientgoscheme.Scheme
	utilruntime.Must(rayv1.AddToScheme(scheme))
	if product.client, err = client.New(env.Config, client.Options{Scheme: scheme}); err != nil {
		return 0, fmt.Errorf("making client: %w", err)
	}
	ports, err := programs.FreePorts(5)
	if err != nil {
		return 0, err
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	product.rest, product.grpc = "http://"+at(3), at(2)

	// Operator and gateway have the rights of the manifests and no others.
	product.token, product.audit = env.Config.BearerToken, newAudit()
	if err := installRights(env.Kubeconfig); err != nil {
		return 0, err
	}
	identities := map[string]string{"operator": "raygate-operator", "gateway": "raygate-apiserver"}
	for program, account := range identities {
		direct, err := env.KubeconfigOf(context.Background(), logs, "raygate-system", account)
		if err != nil {
			return 0, err
		}
		watched, stop, err := product.audit.kubeconfig(env, logs, program, direct)
		if err != nil {
			return 0, err
		}
		defer stop()
		identities[program] = watched
	}
	metrics := httptest.NewServer(http.HandlerFunc(prometheus))
	defer metrics.Close()
	product.operator = &programs.Program{
		Path: programs.Binary("raygate-operator"), Log: filepath.Join(logs, "operator.log"), Ready: "http://" + at(1) + "/readyz",
		Args: []string{"--kubeconfig", identities["operator"], "--metrics-bind-address=" + at(0), "--health-probe-bind-address=" + at(1), "--leader-elect=false", "--feature-gates=" + operatorGates, "--use-kubernetes-proxy",
			"--prometheus-url=" + metrics.URL},
	}
	product.gateway = &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(logs, "gateway.log"), Ready: product.rest + "/readyz",
		Args: []string{"--kubeconfig", identities["gateway"], "--grpc-address=" + at(2), "--http-address=" + at(3), "--metrics-address=" + at(4), "--feature-gates=" + sampleGates, "--use-kubernetes-proxy",
			"--package-store=file://" + filepath.Join(logs, "packages"), "--package-url=" + product.rest},
	}
	conn, err := grpc.NewClient(product.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(bearer{}))
	if err != nil {
		return 0, fmt.Errorf("dialling gateway: %w", err)
	}
	defer conn.Close()
	product.clusters, product.jobs = raygatev2.NewClusterServiceClient(conn), raygatev2.NewJobServiceClient(conn)
	code, err := programs.Run(m, product.operator, product.gateway)
	for _, problem := range checkRights() {
		fmt.Fprintln(os.Stderr, "rights:", problem)
		code = 1
	}
	return code, err
}

// namespace makes a namespace of the test's own. Its Ray objects go with the test.
func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	if err := product.client.Create(t.Context(), ns); err != nil {
		t.Fatalf("creating namespace: %v", err)
	}
	product.audit.begin(ns.Name, t.Name())
	t.Cleanup(func() { // not the namespace: a controller manager then asks a hundred times for what may be in it
		for _, kind := range []client.Object{&rayv1.RayCronJob{}, &rayv1.RayService{}, &rayv1.RayJob{}, &rayv1.RayCluster{}} {
			_ = product.client.DeleteAllOf(context.Background(), kind, client.InNamespace(ns.Name))
		}
	})
	return ns.Name
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	await.NoError(t, what, func() error { return check(t.Context()) })
}

// command runs a program of bin/ with input and returns what it printed and its exit code.
func command(t *testing.T, input []byte, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.Binary(name), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+product.env.Kubeconfig, "RAYGATE_TOKEN="+product.token)
	cmd.Stdin = bytes.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("running %s: %v", name, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// kubectl runs kubectl and fails the test when it fails.
func kubectl(t *testing.T, input []byte, args ...string) string {
	t.Helper()
	stdout, stderr, code := command(t, input, "k8s/kubectl", args...)
	if code != 0 {
		t.Fatalf("kubectl %v: exit code %d: %s", args, code, stderr)
	}
	return stdout
}
