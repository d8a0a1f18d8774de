package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// session is one scenario at work: its control plane, its clients, and the programs it has started.
type session struct {
	name   string
	opts   Options
	report *Report
	logf   func(format string, args ...any)

	dir        string
	kubeconfig string
	config     *rest.Config
	client     client.WithWatch
	processes  []*process // in the order of their start
}

// add adds a row of the scenario to the report, as Report.Add.
func (s *session) add(what, unit string, measured, direct []float64, aim *Aim) {
	s.report.Add(Row{Scenario: s.name, What: what, Unit: unit}, measured, direct, aim)
}

// newSession starts the control plane of a scenario with two simulated nodes and the CRDs of raygate.
func newSession(ctx context.Context, sc scenario, o Options, report *Report, logf func(string, ...any)) (_ *session, err error) {
	dir, err := os.MkdirTemp("", "raygate-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	s := &session{name: sc.name, opts: o, report: report, logf: logf, dir: dir, kubeconfig: filepath.Join(dir, "control-plane", "kubeconfig")}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	data := filepath.Dir(s.kubeconfig)
	flags := []string{"control-plane", "--dir=" + data, "--nodes=2", "--exit-with-parent"}
	if sc.audited {
		policy, err := s.writeAuditPolicy()
		if err != nil {
			return nil, err
		}
		flags = append(flags, "--audit-policy="+policy)
	}
	if o.Profiles != "" {
		flags = append(flags, "--profiling")
	}
	p, err := s.start("raygate-local", flags...)
	if err != nil {
		return nil, err
	}
	err = p.await(ctx, "the control plane", 2*time.Minute, func(context.Context) error {
		_, err := os.Stat(filepath.Join(data, "ready"))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.connect(); err != nil {
		return nil, err
	}
	if err := s.installCRDs(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// benchClient is the user agent of the benchmark.
const benchClient = "raygate-bench"

func (s *session) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubeconfig: %w", err)
	}
	config.QPS = -1 // the default limit of 5 requests a second would be what is measured
	config.UserAgent = benchClient
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, rayv1.AddToScheme, gatewayv1.Install} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("building scheme: %w", err)
		}
	}
	s.config = config
	if s.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("making client: %w", err)
	}
	return nil
}

// installCRDs creates the CRDs and their policies, and waits until the API server serves them.
func (s *session) installCRDs(ctx context.Context) error {
	crds, err := s.readCRDs()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := s.client.Create(ctx, crd); err != nil {
			return fmt.Errorf("installing %s: %w", crd.Name, err)
		}
	}
	if err := s.awaitServed(ctx, crds); err != nil {
		return err
	}
	return s.installPolicies(ctx)
}

// readCRDs reads the folder --crds.
func (s *session) readCRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(s.opts.CRDs, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("looking for CRDs in %s: %w", s.opts.CRDs, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("looking for CRDs in %s: there are none", s.opts.CRDs)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading CRD: %w", err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", file, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// awaitServed waits until the API server serves all kinds of CRDs.
func (s *session) awaitServed(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	return s.eventually(ctx, "all kinds to be served", 2*time.Minute, func(ctx context.Context) error {
		for _, crd := range crds {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: rayv1.GroupVersion.Version, Kind: crd.Spec.Names.ListKind})
			if err := s.client.List(ctx, list, client.Limit(1)); err != nil {
				return err
			}
		}
		return nil
	})
}

// start starts a program of the folder --bin.
func (s *session) start(program string, args ...string) (*process, error) {
	p, err := startProcess(s.dir, program, filepath.Join(s.opts.Bin, program), args...)
	if err != nil {
		return nil, fmt.Errorf("%w (make build builds it)", err)
	}
	s.processes = append(s.processes, p)
	return p, nil
}

// startShell starts a command of the shell. It is stopped with the session.
func (s *session) startShell(name, command string) (*process, error) {
	p, err := startProcess(s.dir, name, "/bin/sh", "-c", command)
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, p)
	return p, nil
}

// startOperator starts the operator, with more flags of the scenario if it has any, and waits until it is ready. Another operator has its own flags, and
// is ready when the cluster is that warms it up.
func (s *session) startOperator(ctx context.Context, kubeconfig string, flags ...string) (*process, error) {
	if command := s.opts.OperatorCommand; command != "" {
		return s.startShell("operator", fmt.Sprintf("export KUBECONFIG='%s'; exec %s", kubeconfig, command))
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	p, err := s.start("raygate-operator", append([]string{
		"--kubeconfig=" + kubeconfig,
		"--metrics-bind-address=" + ports[0],
		"--health-probe-bind-address=" + ports[1],
		"--leader-elect=false",
	}, slices.Concat(flags, s.opts.OperatorFlags)...)...)
	if err != nil {
		return nil, err
	}
	return p, p.await(ctx, "the operator", 30*time.Second, httpOK("http://"+ports[1]+"/readyz"))
}

// stop stops one program before the session ends.
func (s *session) stop(p *process) {
	p.stop()
	for i, other := range s.processes {
		if other == p {
			s.processes = append(s.processes[:i], s.processes[i+1:]...)
			return
		}
	}
}

// close stops all programs, the control plane last.
func (s *session) close() {
	for _, p := range slices.Backward(s.processes) {
		p.stop()
	}
	s.processes = nil
	if s.opts.Keep {
		s.logf("the logs are in %s", s.dir)
	} else if err := os.RemoveAll(s.dir); err != nil {
		s.logf("removing %s: %v", s.dir, err)
	}
}

// lastLogLines returns the last lines of the logs of all programs, for error messages.
func (s *session) lastLogLines() string {
	var b strings.Builder
	for _, p := range s.processes {
		fmt.Fprintf(&b, "last lines of %s:\n%s\n", p.name, p.lastLines(15))
	}
	return b.String()
}

// namespace creates a namespace and waits for its service account, without which no Pod can be created.
func (s *session) namespace(ctx context.Context, name string) error {
	if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return fmt.Errorf("creating namespace: %w", err)
	}
	return s.eventually(ctx, "the service account of "+name, 30*time.Second, func(ctx context.Context) error {
		return s.client.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
	})
}

// eventually calls ask until it succeeds; ctx and limit bound it.
func (s *session) eventually(ctx context.Context, what string, limit time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last answer: %w", what, ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// writeKubeconfig writes a kubeconfig for a server on loopback that requires no credentials.
func (s *session) writeKubeconfig(server string) (string, error) {
	type object = map[string]any
	data, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "bench",
		"clusters": []object{{"name": "bench", "cluster": object{"server": server}}},
		"contexts": []object{{"name": "bench", "context": object{"cluster": "bench", "user": "bench"}}},
		"users":    []object{{"name": "bench", "user": object{}}},
	})
	if err != nil {
		return "", fmt.Errorf("encoding kubeconfig: %w", err)
	}
	path := filepath.Join(s.dir, "counting.kubeconfig")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("writing kubeconfig: %w", err)
	}
	return path, nil
}
