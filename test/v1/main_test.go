package v1

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
	"github.com/raygate/raygate/test/controlplane"
)

// image and version are those that KubeRay's tests use.
const (
	image   = "rayproject/ray:2.46.0-py310"
	version = "2.46.0"
)

// product is what all tests share: one control plane, one operator, one gateway.
var product struct {
	env  *controlplane.Env
	kube client.Client
	rest *goClient
	conn *grpc.ClientConn
	logs string
}

func TestMain(m *testing.M) {
	if controlplane.ShortMain("test/v1") {
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
	log.SetLogger(klog.Background())
	env, stop, err := controlplane.StartForMain(controlplane.Options{Own: true})
	if err != nil {
		return 0, err
	}
	defer stop()
	product.env = env
	scheme := clientgoscheme.Scheme
	utilruntime.Must(rayv1.AddToScheme(scheme))
	if product.kube, err = client.New(env.Config, client.Options{Scheme: scheme}); err != nil {
		return 0, fmt.Errorf("making client: %w", err)
	}
	if product.logs, err = os.MkdirTemp("", "raygate-v1-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(product.logs)
	ports, err := programs.FreePorts(2)
	if err != nil {
		return 0, err
	}
	operator := &programs.Program{
		Path: programs.Binary("raygate-operator"), Log: filepath.Join(product.logs, "operator.log"), Ready: fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]),
		Args: []string{
			"--kubeconfig", env.Kubeconfig, fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]),
			"--leader-elect=false", "--use-kubernetes-proxy",
		},
	}
	gateway, url, target, err := newGateway("gateway", "127.0.0.1", "--authentication=none")
	if err != nil {
		return 0, err
	}
	product.rest = &goClient{base: url}
	if product.conn, err = grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return 0, fmt.Errorf("dialling gateway: %w", err)
	}
	defer product.conn.Close()
	return programs.Run(m, operator, gateway)
}

// newGateway returns a gateway, its URL for REST and its address for gRPC. Its flags are those of KubeRay's server as far as that has them.
func newGateway(name, host string, args ...string) (p *programs.Program, url, target string, err error) {
	ports, err := programs.FreePorts(2)
	if err != nil {
		return nil, "", "", err
	}
	url, target = fmt.Sprintf("http://%s:%d", host, ports[0]), fmt.Sprintf("%s:%d", host, ports[1])
	return &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(product.logs, name+".log"), Ready: url + "/readyz",
		Args: append([]string{
			"--kubeconfig", product.env.Kubeconfig, fmt.Sprintf("-httpPortFlag=%s:%d", host, ports[0]), "-rpcPortFlag=" + target, "--metrics-address=", "-collectMetricsFlag=true",
			"--use-kubernetes-proxy",
		}, args...),
	}, url, target, nil
}

// startGateway starts another gateway until the end of the test.
func startGateway(t *testing.T, host string, args ...string) *goClient {
	t.Helper()
	p, url, _, err := newGateway("another", host, args...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return &goClient{base: url}
}

// world is a namespace of a case's own, with the compute template that KubeRay's tests have.
type world struct {
	*testing.T
	*goClient
	namespace, template string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "v1-"}}
	if err := product.kube.Create(t.Context(), ns); err != nil {
		t.Fatalf("creating namespace: %v", err)
	}
	w := &world{T: t, goClient: product.rest, namespace: ns.Name, template: "template"}
	w.ok("POST", w.path("compute_templates"), &kuberay.ComputeTemplate{Name: w.template, Namespace: w.namespace, Cpu: 1, Memory: 4}, &kuberay.ComputeTemplate{})
	t.Cleanup(func() { // others count, and Pods cost
		for _, o := range []client.Object{&rayv1.RayCluster{}, &rayv1.RayJob{}, &rayv1.RayService{}} {
			if err := product.kube.DeleteAllOf(context.WithoutCancel(t.Context()), o, client.InNamespace(w.namespace)); err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// path is that of a collection of the namespace, and of what is in it.
func (w *world) path(parts ...string) string { return pathIn(w.namespace, parts...) }

// ok makes a call that must succeed.
func (w *world) ok(method, path string, body, reply message) {
	w.Helper()
	if err := w.call(w.Context(), method, path, body, reply); err != nil {
		w.Fatalf("%s %s: %v", method, path, err)
	}
}

// refused makes a call that must fail with an HTTP status; a client gets the error as it gets all errors.
func (w *world) refused(code int, method, path string, body message) {
	w.Helper()
	err := w.call(w.Context(), method, path, body, nil)
	if got := httpCode(err); got != code {
		w.Errorf("%s %s: want HTTP %d, got %v", method, path, code, err)
	}
}

// stored reads an object as Kubernetes has it.
func (w *world) stored(name string, o client.Object) {
	w.Helper()
	if err := product.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o); err != nil {
		w.Fatal(err)
	}
}
