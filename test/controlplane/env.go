package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	startLimit = 12 * time.Minute // each part has ten
	stopLimit  = time.Minute
)

// Folders of the generated CRDs, and of the policies with their rules on updates, relative to the root of the repository.
const (
	crdFolder     = "operator/config/crd/bases"
	updatesFolder = "operator/config/crd/updates"
)

var errShared = errors.New("other packages use this control plane: set Options.Own")

// Options select what to start. The zero value is everything, with two nodes.
type Options struct {
	// Nodes is the number of simulated nodes; 0 means 2, a negative number none.
	Nodes int
	// WithoutScheduler: Pods stay unscheduled.
	WithoutScheduler bool
	// WithoutControllerManager: nothing is garbage collected and no Endpoints,
	// Jobs or ServiceAccounts work; Pods can then be created only in a World and in
	// namespaces where the test makes the ServiceAccount "default" itself.
	WithoutControllerManager bool
	// CRDs are the CustomResourceDefinitions that are installed; the zero value is FullCRDs.
	CRDs CRDs
	// Own: the package never uses a control plane that it shares with other packages. A test needs its own when it kills the API server, changes
	// CRDs, registers webhooks for all namespaces, runs an operator on all namespaces, or expects that a kind or an object does not exist.
	Own bool
	// AuditPolicy is the path of an audit policy, by which the API server writes Dir/logs/audit.log; empty means that it writes none.
	AuditPolicy string
	// AuthenticationConfig is the path of an AuthenticationConfiguration with identity providers that the API server trusts. The file is read again
	// when it changes. Empty means that there are none.
	AuthenticationConfig string
}

// Env is a running control plane.
type Env struct {
	// Config is an administrator's, without client-side limits. Its clients repeat what the API server did not finish in time. Copy it before
	// changing it.
	Config *rest.Config
	// Kubeconfig is the path of a kubeconfig for child processes.
	Kubeconfig string
	// Server is the URL of the API server.
	Server string
	// Etcd is the URL of etcd's client port.
	Etcd string
	// Dir has data and logs (Dir/logs/*.log); Stop removes it.
	Dir string

	// attached means that another process started the control plane and other packages use it.
	attached bool
	// options are those that it runs with.
	options Options

	cmd    *exec.Cmd
	stdin  io.Closer
	output *lockedBuffer
	ended  chan struct{}
	once   sync.Once
}

// Start runs a control plane until the end of the test and its subtests. With -short it skips the test.
func Start(tb testing.TB, o Options) *Env {
	tb.Helper()
	SkipShort(tb)
	e, stop, err := StartForMain(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	return e
}

// StartForMain runs a control plane, or finds the one with these options that packages share; see Share. stop ends it unless others use it, and may
// be called more than once.
func StartForMain(o Options) (env *Env, stop func(), err error) {
	if e, err := attach(o); err != nil {
		return nil, nil, err
	} else if e != nil {
		return e, e.Stop, nil
	}
	dir, err := os.MkdirTemp("", "raygate-controlplane-")
	if err != nil {
		return nil, nil, fmt.Errorf("making folder for the control plane: %w", err)
	}
	e, err := startIn(dir, o)
	if err != nil {
		return nil, nil, err
	}
	return e, e.Stop, nil
}

// startIn runs a control plane with its data in the folder, which Stop removes, as does an error.
func startIn(dir string, o Options) (*Env, error) {
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(root, "bin", "raygate-local")
	if _, err := os.Stat(program); err != nil {
		return nil, errors.New("bin/raygate-local is not built; run: make localcluster")
	}
	e := newEnv(dir, o)
	if err := e.startSeeded(root, program); err != nil {
		e.Stop()
		return nil, err
	}
	return e, nil
}

func newEnv(dir string, o Options) *Env {
	return &Env{Dir: dir, options: o, output: &lockedBuffer{}, ended: make(chan struct{})}
}

// startSeeded starts on a copy of the seed for the options, and waits until the API server serves the CRDs.
func (e *Env) startSeeded(repo, program string) error {
	from, err := seed(repo, program, e.options.CRDs)
	if err != nil {
		return err
	}
	if err := os.CopyFS(e.Dir, os.DirFS(from)); err != nil {
		return fmt.Errorf("copying the seed of the control plane: %w", err)
	}
	if err := e.start(program); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	return e.awaitServed(ctx)
}

func (e *Env) start(program string) error {
	e.cmd = exec.Command(program, append([]string{"control-plane", "--dir", e.Dir, "--exit-with-parent"}, e.options.flags()...)...)
	e.cmd.Stdout, e.cmd.Stderr = e.output, e.output
	// The system closes this pipe when this process ends for any reason.
	stdin, err := e.cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("starting control plane: %w", err)
	}
	e.stdin = stdin
	if err := e.cmd.Start(); err != nil {
		e.cmd = nil
		return fmt.Errorf("starting control plane: %w", err)
	}
	go func() {
		_ = e.cmd.Wait()
		close(e.ended)
	}()
	r, err := e.awaitGeneration(1, startLimit)
	if err != nil {
		return err
	}
	return e.use(r)
}

// use sets the addresses of a ready control plane.
func (e *Env) use(r ready) (err error) {
	e.Kubeconfig, e.Server, e.Etcd = r.Kubeconfig, r.Server, r.Etcd
	if e.Config, err = clientcmd.BuildConfigFromFlags("", r.Kubeconfig); err != nil {
		return fmt.Errorf("reading kubeconfig of the control plane: %w", err)
	}
	e.Config.QPS = -1
	e.Config.Wrap(patiently)
	return nil
}

func (o Options) flags() []string {
	nodes := o.Nodes
	if nodes == 0 {
		nodes = 2
	}
	var without []string
	if o.WithoutScheduler {
		without = append(without, "scheduler")
	}
	if o.WithoutControllerManager {
		without = append(without, "controller-manager")
	}
	if nodes < 0 {
		without = append(without, "nodes")
		nodes = 0
	}
	out := []string{"--nodes", strconv.Itoa(nodes)}
	if o.AuditPolicy != "" {
		out = append(out, "--audit-policy="+o.AuditPolicy)
	}
	if o.AuthenticationConfig != "" {
		out = append(out, "--authentication-config="+o.AuthenticationConfig)
	}
	if len(without) > 0 {
		out = append(out, "--without="+strings.Join(without, ","))
	}
	return out
}

// ready is the output of the control-plane command when it is ready.
type ready struct {
	Kubeconfig string `json:"kubeconfig"`
	Server     string `json:"server"`
	Etcd       string `json:"etcd"`
	Generation int    `json:"generation"`
}

// awaitGeneration waits until the API server is ready for at least the n-th time.
func (e *Env) awaitGeneration(n int, limit time.Duration) (ready, error) {
	deadline := time.Now().Add(limit)
	for {
		if r, ok := e.readReady(); ok && r.Generation >= n {
			return r, nil
		}
		select {
		case <-e.ended:
			return ready{}, fmt.Errorf("control plane ended early; its output:\n%s", e.output)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return ready{}, fmt.Errorf("control plane not ready within %s; its output:\n%s", limit, e.output)
		}
	}
}

func (e *Env) readReady() (ready, bool) {
	data, err := os.ReadFile(filepath.Join(e.Dir, "ready"))
	if err != nil {
		return ready{}, false
	}
	var r ready
	return r, json.Unmarshal(data, &r) == nil
}

// KillAPIServer ends the API server as a crash would and leaves it down until
// RestartAPIServer; it returns when the server does not answer any more.
func (e *Env) KillAPIServer() error {
	if e.attached {
		return errShared
	}
	if err := e.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		return fmt.Errorf("asking for the end of the API server: %w", err)
	}
	return e.awaitPort(false)
}

// RestartAPIServer ends the API server as a crash would, if it runs, starts it on
// the same port and returns when it is ready.
func (e *Env) RestartAPIServer() error {
	if e.attached {
		return errShared
	}
	r, ok := e.readReady()
	if !ok {
		return errors.New("restarting the API server: the control plane is not ready")
	}
	if err := e.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		return fmt.Errorf("asking for a restart of the API server: %w", err)
	}
	_, err := e.awaitGeneration(r.Generation+1, startLimit)
	return err
}

// Stop ends everything and removes the data, unless the control plane is shared with other packages. It may be called more than once.
func (e *Env) Stop() {
	e.end()
	if !e.attached {
		_ = os.RemoveAll(e.Dir)
	}
}

// end ends everything and leaves the data.
func (e *Env) end() {
	e.once.Do(func() {
		if e.cmd == nil {
			return
		}
		_ = e.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-e.ended:
		case <-time.After(stopLimit):
			_ = e.cmd.Process.Kill()
			<-e.ended
		}
		_ = e.stdin.Close()
	})
}

// repositoryRoot is the nearest folder above with the localcluster module; tests
// run in the folder of their package.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "localcluster", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the repository: no folder above has localcluster/go.mod")
		}
		dir = parent
	}
}

// lockedBuffer keeps the output of the child, which is written while it is read.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
