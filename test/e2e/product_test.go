package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/test/envtest"
)

// settle bounds every wait of these tests. It is generous, for slow machines: no test depends on speed.
const settle = 3 * time.Minute

// sampleGates are the feature gates that samples need, off by default. Operator, gateway and command line get the same.
const sampleGates = "RayClusterMTLS=true,RayClusterNetworkPolicy=true,RayClusterHistoryServer=true,GCSFaultToleranceEmbeddedStorage=true"

// product is what all tests share: one control plane, one operator, one gateway.
var product struct {
	env      *envtest.Env
	client   client.Client
	operator *program
	gateway  *program
	rest     string // base URL
	grpc     string // host:port
	clusters raygatev2.ClusterServiceClient
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the product:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	env, stop, err := envtest.StartForMain(envtest.Options{})
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
	ports, err := freePorts(5)
	if err != nil {
		return 0, err
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	product.rest, product.grpc = "http://"+at(3), at(2)

	logs, err := os.MkdirTemp("", "raygate-e2e-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(logs)
	product.operator = &program{
		path: binary("raygate-operator"), log: filepath.Join(logs, "operator.log"), ready: "http://" + at(1) + "/readyz",
		args: []string{"--kubeconfig", env.Kubeconfig, "--metrics-bind-address=" + at(0), "--health-probe-bind-address=" + at(1), "--leader-elect=false", "--feature-gates=" + sampleGates},
	}
	product.gateway = &program{
		path: binary("raygate-apiserver"), log: filepath.Join(logs, "gateway.log"), ready: product.rest + "/readyz",
		args: []string{"--kubeconfig", env.Kubeconfig, "--authentication=none", "--grpc-address=" + at(2), "--http-address=" + at(3), "--metrics-address=" + at(4), "--feature-gates=" + sampleGates},
	}
	for _, p := range []*program{product.operator, product.gateway} {
		if err := p.start(); err != nil {
			return 0, err
		}
		defer p.stop()
	}
	conn, err := grpc.NewClient(product.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, fmt.Errorf("dialling gateway: %w", err)
	}
	defer conn.Close()
	product.clusters = raygatev2.NewClusterServiceClient(conn)

	code := m.Run()
	if code != 0 {
		for _, p := range []*program{product.operator, product.gateway} {
			fmt.Fprintf(os.Stderr, "--- end of %s\n%s\n", p.log, p.tail(4000))
		}
	}
	return code, nil
}

// program is one of the built programs running as a child process.
type program struct {
	path  string
	args  []string
	log   string
	ready string // URL that answers 200 when the program serves

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

func (p *program) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s (run `make build` first): %w", p.path, err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	p.mu.Lock()
	p.cmd, p.done = cmd, done
	p.mu.Unlock()
	return p.waitReady(done)
}

func (p *program) waitReady(done <-chan struct{}) error {
	for deadline := time.Now().Add(settle); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		select {
		case <-done:
			return fmt.Errorf("%s ended; the end of its log:\n%s", p.path, p.tail(4000))
		default:
		}
		if resp, err := http.Get(p.ready); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return fmt.Errorf("%s did not become ready; the end of its log:\n%s", p.path, p.tail(4000))
}

// kill ends the program as a crash would.
func (p *program) kill() { p.end(syscall.SIGKILL) }

// stop ends the program as a user would, and kills it when that takes too long.
func (p *program) stop() { p.end(syscall.SIGTERM) }

func (p *program) end(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	p.cmd = nil
}

func (p *program) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *program) tail(n int) []byte {
	data, _ := os.ReadFile(p.log)
	return data[max(0, len(data)-n):]
}

// namespace makes a namespace of the test's own.
func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	if err := product.client.Create(t.Context(), ns); err != nil {
		t.Fatalf("creating namespace: %v", err)
	}
	t.Cleanup(func() { _ = product.client.Delete(context.Background(), ns) })
	return ns.Name
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(settle); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = check(t.Context()); err == nil {
			return
		}
	}
	t.Fatalf("%s: still not so after %s: %v", what, settle, err)
}

// command runs a program of bin/ with input and returns what it printed and its exit code.
func command(t *testing.T, input []byte, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(name), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+product.env.Kubeconfig)
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

func binary(name string) string {
	return filepath.Join("..", "..", "bin", filepath.FromSlash(name))
}

func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // held until all are chosen, so that they differ
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
