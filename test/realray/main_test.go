package realray

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
)

var (
	suite = flag.String("suite", "", "core is for the tests that are called TestCore, all for all of them; empty leaves all out")
	local = flag.String("local", "", "folder of a local cluster with real nodes that runs already, rather than one of the test's own:\nraygate-local up --real-nodes=2 --without-raygate --dir FOLDER")
)

// gates are the feature gates of operator and gateway that the tests need beyond the defaults.
const gates = "RayClusterMTLS=true,RayClusterNetworkPolicy=true,GCSFaultToleranceEmbeddedStorage=true"

// startLimit includes importing images into each node.
const startLimit = 10 * time.Minute

// product is what all tests share.
var product struct {
	dir        string // of the local cluster
	kubeconfig string
	config     *rest.Config
	client     client.WithWatch
	kube       *kubernetes.Clientset
	operator   *programs.Program
	gateway    *programs.Program
	rest       string // base URL of the gateway
	grpc       string // its host:port
}

// rayVersion is that of the image.
var rayVersion string

func TestMain(m *testing.M) {
	flag.Parse()
	if *suite == "" {
		fmt.Println("real Ray: not run, as it takes a real node; see make test-ray")
		return
	}
	// The local cluster gets a signal when the thread that started it ends.
	goruntime.LockOSThread()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "real Ray:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	switch *suite {
	case "core":
		if err := flag.Set("test.run", cmp.Or(flag.Lookup("test.run").Value.String(), "^TestCore")); err != nil {
			return 0, err
		}
	case "all":
	default:
		return 0, fmt.Errorf("-suite: %q is neither core nor all", *suite)
	}
	data, err := os.ReadFile("../../hack/ray-image/VERSION")
	if err != nil {
		return 0, fmt.Errorf("reading version of Ray: %w", err)
	}
	rayVersion = strings.TrimSpace(string(data))
	begin := time.Now()
	stop, err := startLocalCluster()
	defer stop()
	if err != nil {
		return 0, err
	}
	if err := connect(); err != nil {
		return 0, err
	}
	stopRaygate, err := startRaygate()
	defer stopRaygate()
	if err != nil {
		return 0, err
	}
	fmt.Printf("real Ray: suite %s with Ray %s; the node, the operator and the gateway are ready after %s\n", *suite, rayVersion, time.Since(begin).Round(time.Second))
	code := m.Run()
	if code != 0 {
		programs.PrintLogs(6000, product.operator, product.gateway)
	}
	return code, nil
}

// startLocalCluster starts real nodes in a folder that is always the same: a start cleans up after a run that was killed.
func startLocalCluster() (stop func(), err error) {
	stop = func() {}
	if *local != "" {
		product.dir = *local
		return stop, nil
	}
	if product.dir, err = filepath.Abs("../../.local/test-ray"); err != nil {
		return stop, err
	}
	program := programs.Binary("raygate-local")
	reset := func() error {
		if out, err := exec.Command(program, "reset", "--dir", product.dir).CombinedOutput(); err != nil {
			return fmt.Errorf("cleaning up %s: %w: %s", product.dir, err, out)
		}
		return nil
	}
	if err := reset(); err != nil {
		return stop, err
	}
	nodes := "--real-nodes=1"
	if *suite == "all" {
		nodes = "--real-nodes=2" // one gets lost
	}
	cmd := exec.Command(program, "run", nodes, "--without-raygate", "--dir", product.dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return stop, fmt.Errorf("starting the local cluster (run `make build node ray-image` first): %w", err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(2 * time.Minute):
			_ = cmd.Process.Kill()
			<-ended
		}
		if err := reset(); err != nil {
			fmt.Fprintln(os.Stderr, "real Ray:", err)
		}
	}
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		select {
		case <-ended:
			return stop, errors.New("the local cluster ended before it was ready")
		default:
		}
		if _, err := os.Stat(filepath.Join(product.dir, "state.json")); err == nil {
			return stop, nil
		}
	}
	return stop, fmt.Errorf("the local cluster is not ready after %s", startLimit)
}

// connect makes the clients of the local cluster.
func connect() error {
	data, err := os.ReadFile(filepath.Join(product.dir, "state.json"))
	if err != nil {
		return fmt.Errorf("finding the local cluster: %w", err)
	}
	var state struct{ Kubeconfig string }
	if err := json.Unmarshal(data, &state); err != nil {
		return fmt.Errorf("finding the local cluster: %w", err)
	}
	product.kubeconfig = state.Kubeconfig
	if product.config, err = clientcmd.BuildConfigFromFlags("", state.Kubeconfig); err != nil {
		return fmt.Errorf("reading kubeconfig: %w", err)
	}
	product.config.QPS = -1
	ctrllog.SetLogger(logr.Discard()) // else its absence is logged with a stack
	// All kinds of all tests: a scheme that is in use must not change.
	for _, add := range []func(*runtime.Scheme) error{rayv1.AddToScheme, apiextensionsv1.AddToScheme, gatewayv1.Install} {
		if err := add(clientgoscheme.Scheme); err != nil {
			return err
		}
	}
	if product.client, err = client.NewWithWatch(product.config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return fmt.Errorf("making client: %w", err)
	}
	if product.kube, err = kubernetes.NewForConfig(product.config); err != nil {
		return fmt.Errorf("making client: %w", err)
	}
	return nil
}

// startRaygate starts operator and gateway as `make run NODES=real` does, with the gates of the tests.
func startRaygate() (stop func(), err error) {
	stop = func() {}
	ports, err := programs.FreePorts(5)
	if err != nil {
		return stop, err
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	product.rest, product.grpc = "http://"+at(3), at(2)
	logs := filepath.Join(product.dir, "logs")
	metrics := httptest.NewServer(http.HandlerFunc(prometheus))
	product.operator = &programs.Program{
		Path: programs.Binary("raygate-operator"), Log: filepath.Join(logs, "test-operator.log"), Ready: "http://" + at(1) + "/readyz",
		Args: []string{
			"--kubeconfig", product.kubeconfig, "--metrics-bind-address=" + at(0), "--health-probe-bind-address=" + at(1), "--leader-elect=false",
			"--use-kubernetes-proxy", "--feature-gates=" + gates + ",RayCronJob=true", "--watch-label-selector=!" + labelDirect, "--prometheus-url=" + metrics.URL,
			historyStore(), "--history-node-logs=8Mi",
		},
	}
	product.gateway = &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(logs, "test-gateway.log"), Ready: product.rest + "/readyz",
		Args: []string{
			"--kubeconfig", product.kubeconfig, "--authentication=none", "--grpc-address=" + at(2), "--http-address=" + at(3),
			"--metrics-address=" + at(4), "--use-kubernetes-proxy", "--feature-gates=" + gates,
		},
	}
	stop = func() { product.gateway.Stop(); product.operator.Stop(); metrics.Close() }
	return stop, errors.Join(product.operator.Start(), product.gateway.Start())
}
