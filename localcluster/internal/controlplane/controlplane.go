package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/raygate/raygate/localcluster/internal/proc"
)

// Layers of the parts for proc.Group. A part depends on those of lower layers.
const (
	LayerEtcd = iota
	LayerAPIServer
	LayerControllers
	LayerNodes    // kubelets and what they need
	LayerPrograms // parts that the caller adds
)

// StartLimit is how long each part may take to be ready. It is generous, for busy machines: a part that ends is reported at once.
const StartLimit = 10 * time.Minute

// Ports are the listeners of a control plane, all on the loopback address.
type Ports struct{ Secure, EtcdClient, EtcdPeer int }

// Options configure a control plane.
type Options struct {
	Dir   string // data, keys, logs and kubeconfig; created if missing
	Bin   string // folder with etcd, kube-apiserver, ...
	Ports Ports

	// Unsafe disables fsync in etcd: several times faster, but data may be lost if the machine (not the process) stops.
	Unsafe bool

	// Egress is the Unix socket through which the API server reaches Pods, nodes and Services, by HTTP CONNECT. Empty means direct
	// connections.
	Egress string

	// AuditPolicy is the path of an audit policy for logs/audit.log; empty disables the audit log.
	AuditPolicy string

	// AuthenticationConfig is the path of an AuthenticationConfiguration with identity providers that the API server trusts; empty for none.
	AuthenticationConfig string

	// Profiling makes the API server serve its profiles at /debug/pprof.
	Profiling bool

	// NodeBin is the folder with the programs of real nodes, among them the kube-controller-manager of Kubernetes. Kubelets are declared lost when
	// they say nothing, and ask for the certificate KubeletClientCert. Empty means that nodes are simulated.
	NodeBin string

	WithoutScheduler         bool
	WithoutControllerManager bool

	// Grace is how long each part may take to stop.
	Grace time.Duration

	// Progress is called with one line per step. It must not be nil.
	Progress func(format string, args ...any)
}

func (o Options) realNodes() bool { return o.NodeBin != "" }

// ErrPortTaken reports that a part ended because another process took its port after it was chosen. Retry with other ports.
var ErrPortTaken = errors.New("port is taken")

// ControlPlane is a running control plane.
type ControlPlane struct {
	// Config is the configuration of an administrator without client-side rate limits.
	Config *rest.Config
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// Server is the URL of the API server.
	Server string

	// KubeletClientCert is the path of the self-signed client certificate that the API server presents to kubelets. Empty without
	// real nodes.
	KubeletClientCert string

	opts      Options
	layout    layout
	group     *proc.Group
	apiServer *proc.Process
}

// Start starts the parts in group and returns when all are ready. After an error, the started parts stay in group and the caller
// must stop them.
func Start(ctx context.Context, group *proc.Group, o Options) (*ControlPlane, error) {
	l := layout{dir: o.Dir}
	secrets, err := prepare(l, o)
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{
		Kubeconfig: l.kubeconfig(),
		Server:     fmt.Sprintf("https://127.0.0.1:%d", o.Ports.Secure),
		opts:       o, layout: l, group: group,
	}
	if o.realNodes() {
		cp.KubeletClientCert = l.kubeletClientCert()
	}

	o.Progress("starting etcd on port %d", o.Ports.EtcdClient)
	etcd, err := cp.start(cp.opts.Bin, "etcd", etcdFlags(l, o), LayerEtcd)
	if err != nil {
		return nil, err
	}
	if err := (Wait{etcd, "etcd", StartLimit, o.Progress}).UntilHTTP(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", o.Ports.EtcdClient)); err != nil {
		return nil, err
	}

	if err := cp.startAPIServer(ctx); err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(l.servingCert())
	if err != nil {
		return nil, fmt.Errorf("reading the API server's certificate: %w", err)
	}
	for path, user := range map[string]string{
		l.kubeconfig(): userAdmin,
		l.partKubeconfig("kube-controller-manager"): userControllerManager,
		l.partKubeconfig("kube-scheduler"):          userScheduler,
		l.partKubeconfig("raygate-local"):           userSupervisor,
	} {
		if err := writeKubeconfig(path, cp.Server, ca, user, secrets[user]); err != nil {
			return nil, err
		}
	}
	if cp.Config, err = clientcmd.BuildConfigFromFlags("", l.partKubeconfig("raygate-local")); err != nil {
		return nil, fmt.Errorf("reading own kubeconfig: %w", err)
	}
	cp.Config.QPS = -1
	if err := (Wait{cp.apiServer, "API server", StartLimit, o.Progress}).until(ctx, apiServerReady(cp.Config)); err != nil {
		return nil, err
	}
	return cp, cp.startControllers(ctx)
}

// prepare creates folders, keys and files, and returns the tokens by user.
func prepare(l layout, o Options) (map[string]string, error) {
	for _, dir := range []string{l.dir, l.etcdData(), l.certs(), filepath.Dir(l.log("x"))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making data folder: %w", err)
		}
	}
	if err := privateKey(l.serviceAccountKey()); err != nil {
		return nil, err
	}
	if o.realNodes() {
		if err := kubeletClient(l.kubeletClientCert(), l.kubeletClientKey()); err != nil {
			return nil, err
		}
	}
	if err := writeEgress(l, o.Egress); err != nil {
		return nil, err
	}
	return tokens(l.tokens())
}

func (cp *ControlPlane) startControllers(ctx context.Context) error {
	if !cp.opts.WithoutControllerManager {
		cp.opts.Progress("starting kube-controller-manager")
		bin := cmp.Or(cp.opts.NodeBin, cp.opts.Bin)
		if _, err := cp.start(bin, "kube-controller-manager", controllerManagerFlags(cp.layout, cp.opts), LayerControllers); err != nil {
			return err
		}
	}
	if !cp.opts.WithoutScheduler {
		cp.opts.Progress("starting kube-scheduler")
		if _, err := cp.start(cp.opts.Bin, "kube-scheduler", schedulerFlags(cp.layout), LayerControllers); err != nil {
			return err
		}
	}
	if cp.opts.WithoutControllerManager {
		return nil
	}
	// Pods are rejected until their namespace has a default ServiceAccount, so wait for it.
	return Wait{cp.apiServer, "default ServiceAccount", StartLimit, cp.opts.Progress}.until(ctx, defaultServiceAccount(cp.Config))
}

// startAPIServer starts the API server and waits until it answers on its port.
func (cp *ControlPlane) startAPIServer(ctx context.Context) error {
	cp.opts.Progress("starting kube-apiserver on port %d", cp.opts.Ports.Secure)
	p, err := cp.start(cp.opts.Bin, "kube-apiserver", apiServerFlags(cp.layout, cp.opts), LayerAPIServer)
	if err != nil {
		return err
	}
	cp.apiServer = p
	return Wait{p, "API server's port", StartLimit, cp.opts.Progress}.until(ctx, listens(cp.opts.Ports.Secure))
}

// KillAPIServer kills the API server with SIGKILL. The group does not report that as a crash. It does nothing if the API server is
// not running.
func (cp *ControlPlane) KillAPIServer() {
	if cp.apiServer == nil {
		return
	}
	cp.group.Remove(cp.apiServer)
	cp.apiServer.Kill()
	cp.apiServer = nil
}

// RestartAPIServer kills the API server if it runs, starts it on the same port and waits until it is ready.
func (cp *ControlPlane) RestartAPIServer(ctx context.Context) error {
	cp.KillAPIServer()
	if err := cp.startAPIServer(ctx); err != nil {
		return err
	}
	return Wait{cp.apiServer, "API server", StartLimit, cp.opts.Progress}.until(ctx, apiServerReady(cp.Config))
}

func (cp *ControlPlane) start(bin, name string, flags []string, layer int) (*proc.Process, error) {
	return cp.group.Start(proc.Spec{
		Name: name,
		Path: filepath.Join(bin, name),
		Args: flags,
		Log:  cp.layout.log(name),
	}, layer, cp.opts.Grace)
}

// died returns an error for a part that ended during the start.
func died(p *proc.Process) error {
	tail := strings.Join(p.Tail(20), "\n")
	if strings.Contains(tail, "address already in use") {
		return fmt.Errorf("%s ended (%s): %w", p.Name, p.Exit(), ErrPortTaken)
	}
	return fmt.Errorf("%s ended (%s); the end of %s:\n%s", p.Name, p.Exit(), p.Log, tail)
}
