package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/localcluster/internal/controlplane"
	"github.com/raygate/raygate/localcluster/internal/lockfile"
	"github.com/raygate/raygate/localcluster/internal/ports"
	"github.com/raygate/raygate/localcluster/internal/proc"
	"github.com/raygate/raygate/localcluster/internal/realnode"
	"github.com/raygate/raygate/localcluster/internal/simnode"
)

// Names of the listeners in the ports file and in messages.
const (
	portAPIServer       = "API server"
	portEtcd            = "etcd"
	portEtcdPeer        = "etcd peer"
	portGatewayHTTP     = "gateway HTTP"
	portGatewayGRPC     = "gateway gRPC"
	portGatewayMetrics  = "gateway metrics"
	portOperatorMetrics = "operator metrics"
	portOperatorProbes  = "operator probes"
	portProvider        = "identity provider"
	portStore           = "S3 server"
)

var usualPorts = ports.Table{
	portAPIServer:       6443,
	portEtcd:            12379,
	portEtcdPeer:        12380,
	portGatewayHTTP:     8888,
	portGatewayGRPC:     8887,
	portGatewayMetrics:  8889,
	portOperatorMetrics: 8890,
	portOperatorProbes:  8891,
	portProvider:        8892,
	portStore:           8893,
}

type runOptions struct {
	dir            string
	crds           string
	nodes          int
	realNodes      int
	simulate       bool
	withoutRaygate bool
	login          string
	store          string
}

func (o *runOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.dir, "dir", "", "folder for data and logs (default .local beside bin)")
	f.StringVar(&o.crds, "crds", "", "folder with the CustomResourceDefinitions (default operator/config/crd/bases)")
	f.IntVar(&o.nodes, "nodes", 2, "number of simulated nodes")
	f.IntVar(&o.realNodes, "real-nodes", 0, "number of real nodes instead: kubelets that run containers on this machine (Linux, root); see docs/localcluster.md")
	f.BoolVar(&o.simulate, "simulate", true, "simulate Ray behind head Pods, and run entrypoints of jobs and submitters as processes of this machine")
	f.BoolVar(&o.withoutRaygate, "without-raygate", false, "start neither the operator nor the gateway")
	f.StringVar(&o.login, "login", "", "\"oidc\": start an identity provider with two users, by which people log in to the gateway; empty: everybody has all rights")
	f.StringVar(&o.store, "store", "", "\"s3\": start an S3 server for the history of ended objects; empty: a folder")
}

// maxRealNodes limits the real nodes of one machine. Each node runs a kubelet and a containerd.
const maxRealNodes = 8

// checkNodes rejects a negative number of nodes before anything starts.
func checkNodes(n int) error {
	if n < 0 {
		return fmt.Errorf("--nodes: %d is negative", n)
	}
	return nil
}

// check finds the folders and rejects invalid options.
func (o *runOptions) check() (paths, error) {
	if err := checkNodes(o.nodes); err != nil {
		return paths{}, err
	}
	if o.realNodes < 0 || o.realNodes > maxRealNodes {
		return paths{}, fmt.Errorf("--real-nodes: %d is not between 0 and %d", o.realNodes, maxRealNodes)
	}
	if o.realNodes > 0 { // real nodes replace the simulated ones
		o.nodes, o.simulate = 0, false
	}
	p, err := findPaths(o.dir)
	if err != nil {
		return paths{}, err
	}
	return p, errors.Join(p.missing(!o.withoutRaygate), o.checkLogin(p), o.checkStore(p))
}

func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run everything in the foreground until Ctrl-C; data are kept",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// run holds the lock while it works. Other commands use the lock to detect a running cluster.
func run(ctx context.Context, o runOptions) error {
	p, err := o.check()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.log("x")), 0o700); err != nil {
		return fmt.Errorf("making data folder: %w", err)
	}
	lock, err := lockfile.Acquire(p.lock())
	if errors.Is(err, lockfile.ErrHeld) {
		return alreadyRunning(p)
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	r := &runner{paths: p, opts: o, out: &progress{out: os.Stdout}}
	return r.run(ctx)
}

// runner is one run of everything.
type runner struct {
	paths paths
	opts  runOptions
	out   *progress
	group proc.Group
	ports ports.Table
	cp    *controlplane.ControlPlane
	sim   *simnode.Simulator
	// ground is nil if no containers run on this machine.
	ground *ground
	// stopNodes removes what real nodes created, after their processes have ended.
	stopNodes func() error
}

func (r *runner) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := time.Now()
	if err := removeState(r.paths); err != nil {
		return err
	}
	defer func() { _ = removeState(r.paths) }()
	defer func() {
		r.group.StopAll(r.out.printf)
		if err := r.stopNodes(); err != nil {
			r.out.printf("%v", err)
		}
	}()

	wait := func() {}
	defer func() {
		cancel()
		wait()
		r.ground.close()
	}()
	r.stopNodes = func() error { return nil }
	if err := r.start(ctx, &wait); err != nil {
		select {
		case part := <-r.group.Crashes():
			tellCrash(r.out, part)
			return errReported
		default:
		}
		return stopped(ctx, err)
	}
	st := r.state()
	if err := st.write(r.paths.state()); err != nil {
		return err
	}
	r.out.printf("everything is ready after %.1f s", time.Since(begin).Seconds())
	r.out.plain(st.guide())
	r.out.printf("press Ctrl-C to stop; data are kept in %s", r.paths.data)

	watching := make(chan struct{})
	go func() {
		defer close(watching)
		r.stream(ctx)
	}()
	defer func() { <-watching }()
	select {
	case <-ctx.Done():
		r.out.printf("stopping")
		return r.stop(&wait)
	case part := <-r.group.Crashes():
		cancel()
		tellCrash(r.out, part)
		return errReported
	}
}

// stop ends all parts in reverse order and prints how long that took.
func (r *runner) stop(wait *func()) error {
	begin := time.Now()
	(*wait)()
	*wait = func() {}
	r.ground.close()
	r.ground = nil
	r.group.StopAll(r.out.printf)
	if err := r.stopNodes(); err != nil {
		return err
	}
	r.stopNodes = func() error { return nil }
	r.out.printf("stopped in %.1f s", time.Since(begin).Seconds())
	return nil
}

// start starts the parts in order. It sets wait to a function that waits for the parts that end only with ctx.
func (r *runner) start(ctx context.Context, wait *func()) error {
	if err := r.choosePorts(); err != nil {
		return err
	}
	var err error
	if r.opts.simulate {
		if r.ground, err = newGround(r.paths, r.out); err != nil {
			return err
		}
	}
	if err := r.startControlPlane(ctx); err != nil {
		return err
	}
	if err := r.startNodes(ctx, wait); err != nil {
		return err
	}
	if err := r.installCRDs(ctx); err != nil {
		return err
	}
	if r.opts.withoutRaygate {
		return nil
	}
	return r.startRaygate(ctx)
}

func (r *runner) startControlPlane(ctx context.Context) (err error) {
	o := controlplane.Options{
		Dir: r.paths.data, Bin: r.paths.k8s(),
		Ports: controlplane.Ports{
			Secure:     r.ports[portAPIServer],
			EtcdClient: r.ports[portEtcd],
			EtcdPeer:   r.ports[portEtcdPeer],
		},
		Egress:   r.ground.socket(),
		Grace:    1500 * time.Millisecond,
		Progress: r.out.printf,
	}
	if r.opts.realNodes > 0 {
		o.NodeBin = r.paths.node()
	}
	if r.cp, err = controlplane.Start(ctx, &r.group, o); err != nil {
		return err
	}
	return r.writeEnv()
}

// startNodes starts the real nodes, if any, and the simulation of Pods and nodes. It sets wait as start does.
func (r *runner) startNodes(ctx context.Context, wait *func()) (err error) {
	if r.opts.realNodes > 0 {
		if err := r.startRealNodes(ctx); err != nil {
			return err
		}
	} else {
		r.out.printf("registering %d simulated nodes", r.opts.nodes)
	}
	if r.sim, err = simnode.New(r.cp.Config, r.opts.nodes, r.out.printf); err != nil {
		return err
	}
	if r.ground != nil {
		if err := r.ground.settle(r.cp.Config, r.sim); err != nil {
			return err
		}
	}
	*wait, err = r.sim.Start(ctx)
	return err
}

func (r *runner) startRealNodes(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(r.cp.Config)
	if err != nil {
		return fmt.Errorf("making client: %w", err)
	}
	r.stopNodes, err = realnode.Start(ctx, client, realnode.Options{
		Dir: r.paths.realNodes(), Bin: r.paths.node(), Logs: filepath.Dir(r.paths.log("x")), Count: r.opts.realNodes, Port: r.ports[portAPIServer],
		Kubeconfig: r.cp.Kubeconfig, ClientCA: r.cp.KubeletClientCert, Layer: controlplane.LayerNodes, Group: &r.group, Progress: r.out.printf,
	})
	return err
}

func (r *runner) choosePorts() error {
	saved := ports.Load(r.paths.ports())
	// A previous run that was killed a moment ago may still hold its ports.
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		free := true
		for _, port := range saved {
			free = free && ports.IsFree(port)
		}
		if free {
			break
		}
	}
	var moved []ports.Moved
	var err error
	if r.ports, moved, err = ports.Assign(&ports.Chooser{}, usualPorts, saved); err != nil {
		return err
	}
	for _, m := range moved {
		r.out.printf("port %d is taken: %s is on %d", m.Usual, m.Name, m.Port)
	}
	return r.ports.Save(r.paths.ports())
}
