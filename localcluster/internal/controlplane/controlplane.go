package controlplane

import (
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

// Layers of the parts for proc.Group: what depends on what.
const (
	LayerEtcd = iota
	LayerAPIServer
	LayerControllers
	LayerNodes    // kubelets and what they need
	LayerPrograms // whatever the caller adds
)

// Ports are the listeners of a control plane, all on the loopback address.
type Ports struct{ Secure, EtcdClient, EtcdPeer int }

// Options say what to start and where.
type Options struct {
	Dir   string // data, keys, logs and kubeconfig; made when missing
	Bin   string // folder with etcd, kube-apiserver, ...
	Ports Ports

	// Unsafe lets etcd not wait for the disk: several times faster, and the data
	// may be lost when the machine (not the process) stops.
	Unsafe bool

	// Egress is the Unix socket through which the API server reaches Pods, nodes
	// and Services, by HTTP CONNECT; empty means that it dials them itself.
	Egress string

	// AuditPolicy is the path of an audit policy of Kubernetes, by which the API server writes logs/audit.log; empty means that it writes none.
	AuditPolicy string

	// Profiling makes the API server serve its profiles at /debug/pprof.
	Profiling bool

	// RealNodes says that kubelets run somewhere: they are declared lost when they say nothing, and ask for the certificate KubeletClientCert.
	RealNodes bool

	WithoutScheduler         bool
	WithoutControllerManager bool

	// Grace is how long each part has to end when asked to.
	Grace time.Duration

	// Progress gets one line per step. Must not be nil.
	Progress func(format string, args ...any)
}

// ErrPortTaken says that a part ended because somebody else took its port
// between choosing and binding it. Another attempt with other ports may do.
var ErrPortTaken = errors.New("port is taken")

// ControlPlane is a running control plane.
type ControlPlane struct {
	// Config is an administrator's, without limits of its own.
	Config *rest.Config
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// Server is the URL of the API server.
	Server string

	// KubeletClientCert is the path of the certificate that the API server shows to kubelets, signed by itself. Empty without real nodes.
	KubeletClientCert string

	opts      Options
	layout    layout
	group     *proc.Group
	apiServer *proc.Process
}

// Start runs the parts in group and returns when all of them work. On an error
// the parts that were started are left in group, for the caller to stop.
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
	if o.RealNodes {
		cp.KubeletClientCert = l.kubeletClientCert()
	}

	o.Progress("starting etcd on port %d", o.Ports.EtcdClient)
	etcd, err := cp.start("etcd", etcdFlags(l, o), LayerEtcd)
	if err != nil {
		return nil, err
	}
	if err := (Wait{etcd, "etcd", 30 * time.Second, o.Progress}).UntilHTTP(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", o.Ports.EtcdClient)); err != nil {
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
	if err := (Wait{cp.apiServer, "API server", 90 * time.Second, o.Progress}).until(ctx, apiServerReady(cp.Config)); err != nil {
		return nil, err
	}
	return cp, cp.startControllers(ctx)
}

// prepare makes folders, keys and files, and returns the tokens by user.
func prepare(l layout, o Options) (map[string]string, error) {
	for _, dir := range []string{l.dir, l.etcdData(), l.certs(), filepath.Dir(l.log("x"))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making data folder: %w", err)
		}
	}
	if err := privateKey(l.serviceAccountKey()); err != nil {
		return nil, err
	}
	if o.RealNodes {
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
		if _, err := cp.start("kube-controller-manager", controllerManagerFlags(cp.layout, cp.opts), LayerControllers); err != nil {
			return err
		}
	}
	if !cp.opts.WithoutScheduler {
		cp.opts.Progress("starting kube-scheduler")
		if _, err := cp.start("kube-scheduler", schedulerFlags(cp.layout), LayerControllers); err != nil {
			return err
		}
	}
	if cp.opts.WithoutControllerManager {
		return nil
	}
	// Pods are refused until their namespace has this; a caller that creates one
	// at once should not see that.
	return Wait{cp.apiServer, "default ServiceAccount", time.Minute, cp.opts.Progress}.until(ctx, defaultServiceAccount(cp.Config))
}

// startAPIServer starts the API server and waits until it answers on its port.
func (cp *ControlPlane) startAPIServer(ctx context.Context) error {
	cp.opts.Progress("starting kube-apiserver on port %d", cp.opts.Ports.Secure)
	p, err := cp.start("kube-apiserver", apiServerFlags(cp.layout, cp.opts), LayerAPIServer)
	if err != nil {
		return err
	}
	cp.apiServer = p
	return Wait{p, "API server's port", time.Minute, cp.opts.Progress}.until(ctx, listens(cp.opts.Ports.Secure))
}

// KillAPIServer ends the API server as a crash would (SIGKILL), which is no
// crash to the group. Nothing happens when it is down already.
func (cp *ControlPlane) KillAPIServer() {
	if cp.apiServer == nil {
		return
	}
	cp.group.Remove(cp.apiServer)
	cp.apiServer.Kill()
	cp.apiServer = nil
}

// RestartAPIServer kills the API server when it runs, starts it on the same port
// and waits until it is ready.
func (cp *ControlPlane) RestartAPIServer(ctx context.Context) error {
	cp.KillAPIServer()
	if err := cp.startAPIServer(ctx); err != nil {
		return err
	}
	return Wait{cp.apiServer, "API server", 90 * time.Second, cp.opts.Progress}.until(ctx, apiServerReady(cp.Config))
}

func (cp *ControlPlane) start(name string, flags []string, layer int) (*proc.Process, error) {
	return cp.group.Start(proc.Spec{
		Name: name,
		Path: filepath.Join(cp.opts.Bin, name),
		Args: flags,
		Log:  cp.layout.log(name),
	}, layer, cp.opts.Grace)
}

// died explains the end of a part during the start.
func died(p *proc.Process) error {
	tail := strings.Join(p.Tail(20), "\n")
	if strings.Contains(tail, "address already in use") {
		return fmt.Errorf("%s ended (%s): %w", p.Name, p.Exit(), ErrPortTaken)
	}
	return fmt.Errorf("%s ended (%s); the end of %s:\n%s", p.Name, p.Exit(), p.Log, tail)
}
