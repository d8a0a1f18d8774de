package verdicts

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/test/controlplane"
)

var update = flag.Bool("update", false, "write verdicts.md")

// setting is one way to start the programs. The verdict of some rules depends on feature gates, so there is an operator
// and a gateway for each.
type setting struct {
	name  string
	gates map[validation.Gate]bool
	// noInitContainers says that the operator adds no init containers, which is said by its environment.
	noInitContainers bool

	operator, gateway *programs.Program
	rest              string // base URL
	conn              *grpc.ClientConn
	webhookURL        string
	webhookCA         []byte
	stored            []string // namespaces that the operator watches
}

// settings are tried in order: an example is shown to the first under which it is what it says.
var settings = []*setting{
	{name: "default", gates: map[validation.Gate]bool{}},
	{name: "on", gates: map[validation.Gate]bool{
		validation.GateNetworkPolicy: true, validation.GateMTLS: true, validation.GateHistoryServer: true,
		validation.GateEmbeddedGCSStorage: true, validation.GateCronJob: true,
	}},
	{name: "off", noInitContainers: true, gates: map[validation.Gate]bool{
		validation.GateDeletionPolicy: false, validation.GateIncrementalUpgrade: false, validation.GateMultiHostIndexing: false,
		validation.GateNetworkPolicy: false, validation.GateMTLS: false, validation.GateHistoryServer: false,
		validation.GateEmbeddedGCSStorage: false, validation.GateSidecarSubmitterRestart: false, validation.GateCronJob: false,
	}},
}

// lab is what the tests with a control plane share, and what needLab makes.
var lab struct {
	*controlplane.Env
	dynamic dynamic.Interface
	core    kubernetes.Interface
	cases   []*testCase
	corpus  []*corpusCase
	dir     string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if code != 0 {
		for _, s := range settings {
			if s.operator != nil {
				programs.PrintLogs(2000, s.operator)
			}
		}
	}
	endLab()
	os.Exit(code)
}

// startLab prepares the lab once.
var startLab = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	return prepare(ctx)
})

// needLab begins every test of the lab. With -short it skips the test.
func needLab(t *testing.T) {
	t.Helper()
	controlplane.SkipShort(t)
	if err := startLab(); err != nil {
		t.Fatal("preparing: ", err)
	}
}

func endLab() {
	_ = forEach(len(settings), func(i int) error {
		s := settings[i]
		if s.conn != nil {
			_ = s.conn.Close()
		}
		for _, p := range []*programs.Program{s.operator, s.gateway} {
			if p != nil {
				p.Stop()
			}
		}
		return nil
	})
	if lab.Env != nil {
		lab.Stop()
		_ = os.RemoveAll(lab.dir)
	}
}

// prepare makes a world with a past: objects that were stored when the API server took anything, then today's CRDs,
// webhooks and policies.
func prepare(ctx context.Context) error {
	if err := startControlPlane(); err != nil {
		return err
	}
	lab.cases = newCases()
	var err error
	if lab.corpus, err = newCorpus(); err != nil {
		return err
	}
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"installing CRDs without rules", func(ctx context.Context) error { return installCRDs(ctx, true) }},
		{"making namespaces", makeNamespaces},
		{"storing objects", storeObjects},
		{"storing the corpus", storeCorpus},
		{"storing what tests of the CRDs ask about", storePast},
		{"starting the programs", func(context.Context) error { return startPrograms() }},
		{"registering webhooks", registerWebhooks},
		{"asking the webhooks", askWebhooksAlone},
		{"reading what the operators say", readConditions},
		{"installing CRDs", func(ctx context.Context) error { return installCRDs(ctx, false) }},
		{"installing policies", installPolicies},
	}
	for _, s := range steps {
		begin := time.Now()
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		if testing.Verbose() {
			fmt.Printf("%s: %.1f s\n", s.what, time.Since(begin).Seconds())
		}
	}
	return nil
}

func startControlPlane() error {
	env, _, err := controlplane.StartForMain(controlplane.Options{Own: true, Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true, CRDs: controlplane.NoCRDs})
	if err != nil {
		return err
	}
	lab.Env = env
	cfg := rest.CopyConfig(env.Config)
	cfg.WarningHandlerWithContext = collectWarnings{}
	if lab.dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return err
	}
	if lab.core, err = kubernetes.NewForConfig(cfg); err != nil {
		return err
	}
	lab.dir, err = os.MkdirTemp("", "raygate-verdicts-")
	return err
}

func startPrograms() error {
	dir := lab.dir
	ports, err := programs.FreePorts(6 * len(settings))
	if err != nil {
		return err
	}
	for i, s := range settings {
		at := func(n int) string { return fmt.Sprintf("127.0.0.1:%d", ports[6*i+n]) }
		var gates []string
		for gate, on := range s.gates {
			gates = append(gates, fmt.Sprintf("--feature-gates=%s=%v", gate, on))
		}
		if s.webhookCA, err = writeCertificate(filepath.Join(dir, s.name)); err != nil {
			return err
		}
		s.webhookURL = "https://" + at(5)
		s.operator = &programs.Program{
			Path: programs.Binary("raygate-operator"), Log: filepath.Join(dir, "operator-"+s.name+".log"), Ready: "http://" + at(1) + "/readyz",
			Env: []string{fmt.Sprintf("ENABLE_INIT_CONTAINER_INJECTION=%v", !s.noInitContainers)},
			Args: append([]string{
				"--kubeconfig", lab.Kubeconfig, "--metrics-bind-address=" + at(0), "--health-probe-bind-address=" + at(1), "--leader-elect=false",
				"--watch-namespace=" + strings.Join(s.stored, ","), "--enable-webhooks", fmt.Sprintf("--webhook-port=%d", ports[6*i+5]),
				"--webhook-cert-dir=" + filepath.Join(dir, s.name),
			}, gates...),
		}
		s.rest = "http://" + at(3)
		s.gateway = &programs.Program{
			Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(dir, "gateway-"+s.name+".log"), Ready: s.rest + "/readyz",
			Args: append([]string{
				"--kubeconfig", lab.Kubeconfig, "--authentication=none", "--grpc-address=" + at(2), "--http-address=" + at(3), "--metrics-address=" + at(4),
			}, gates...),
		}
		conn, err := grpc.NewClient(at(2), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return fmt.Errorf("dialling gateway: %w", err)
		}
		s.conn = conn
	}
	return forEach(2*len(settings), func(i int) error {
		s := settings[i/2]
		if i%2 == 0 {
			return s.operator.Start()
		}
		return s.gateway.Start()
	})
}

// forEach runs f for 0 to n-1, a few at a time, and returns the first error.
func forEach(n int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(6)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

// eventually asks until check returns nil, ever less often.
func eventually(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, await.Limit)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 400*time.Millisecond) {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if final := (*finalError)(nil); errors.As(err, &final) {
			return final.err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last: %w", what, ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// finalError ends the waiting of eventually.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }

func stop(err error) error { return &finalError{err} }

func kindOf(kind string) dynamic.NamespaceableResourceInterface {
	return lab.dynamic.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: strings.ToLower(kind) + "s"})
}

// makeNamespaces makes one for each way to the API server. What admission asks about them is said by labels, later.
func makeNamespaces(ctx context.Context) error {
	names := []string{nsGateway, nsCRDs, nsPolicies, nsQuota, nsOwnPolicy, nsOldVersion}
	var watched []string
	for _, s := range settings {
		names = append(names, nsWebhooks(s), nsLayers(s))
		watched = append(watched, s.stored...)
	}
	names = append(names, watched...)
	return forEach(len(names), func(i int) error {
		ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": names[i]}}}
		if _, err := lab.dynamic.Resource(namespaces).Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			return err
		}
		if !slices.Contains(watched, names[i]) {
			return nil
		}
		// There is no controller manager that makes it. Without it the API server refuses every Pod after ten reads.
		_, err := lab.core.CoreV1().ServiceAccounts(names[i]).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
		return err
	})
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

const (
	nsGateway    = "gateway"
	nsCRDs       = "crds"
	nsPolicies   = "policies"
	nsQuota      = "quota"
	nsOwnPolicy  = "own-policy"
	nsOldVersion = "v1alpha1"
)

func nsWebhooks(s *setting) string { return "webhooks-" + s.name }

// nsLayers is where the API server asks the CRDs, the webhooks of a setting and the policies, and no controller looks.
func nsLayers(s *setting) string { return "layers-" + s.name }

// label sets a label of a namespace that selects its admission.
func label(ctx context.Context, namespace, key, value string) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	_, err := lab.dynamic.Resource(namespaces).Patch(ctx, namespace, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
	return err
}

// warningsKey is where a context keeps what the API server warns of.
type warningsKey struct{}

type collectWarnings struct{}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (collectWarnings) HandleWarningHeaderWithContext(ctx context.Context, _ int, _, text string) {
	if list, ok := ctx.Value(warningsKey{}).(*[]string); ok {
		*list = append(*list, text)
	}
}
