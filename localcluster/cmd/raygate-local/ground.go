package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/localcluster/internal/kubelet"
	"github.com/raygate/raygate/localcluster/internal/localproc"
	"github.com/raygate/raygate/localcluster/internal/podnet"
	"github.com/raygate/raygate/localcluster/internal/podrun"
	"github.com/raygate/raygate/localcluster/internal/simnode"
)

// Maximum numbers of processes at a time: containers, and entrypoints of jobs. Further ones wait.
const (
	maxContainers  = 256
	maxEntrypoints = 256
)

// ground contains the network of the simulated Pods and the runtime of their real processes.
type ground struct {
	paths    paths
	out      *progress
	net      *podnet.Network
	egress   net.Listener
	done     func() // removes the socket
	services podnet.Services
	sim      *simnode.Simulator
	runtime  *podrun.Runtime
	kubelet  *kubelet.Server
	proxy    *podnet.Proxy
}

// newGround listens for the API server, which starts later. Connections fail until settle is called.
func newGround(p paths, out *progress) (*ground, error) {
	if !exists(filepath.Join(p.standIns(), "ray")) {
		return nil, errors.New("not built yet: bin/standins/ray; run: make localcluster")
	}
	g := &ground{paths: p, out: out}
	g.net = podnet.New(g)
	if err := os.MkdirAll(p.data, 0o700); err != nil {
		return nil, fmt.Errorf("making data folder: %w", err)
	}
	path, done, err := podnet.SocketPath(p.data, "egress.sock")
	if err != nil {
		return nil, err
	}
	g.done = done
	if g.egress, err = net.Listen("unix", path); err != nil {
		done()
		return nil, fmt.Errorf("listening for the API server: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		g.close()
		return nil, fmt.Errorf("closing the socket to others: %w", err)
	}
	return g, nil
}

// socket returns the value for controlplane.Options; "" if ground is nil.
func (g *ground) socket() string {
	if g == nil {
		return ""
	}
	return g.egress.Addr().String()
}

// settle runs the supported containers of Pods of sim as real processes.
func (g *ground) settle(cfg *rest.Config, sim *simnode.Simulator) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making client: %w", err)
	}
	containers, left := localproc.New(g.paths.data, maxContainers)
	entrypoints, _ := localproc.New(g.paths.data, maxEntrypoints)
	if left > 0 {
		g.out.printf("killed %d processes of simulated Pods that an earlier run has left", left)
	}
	if g.proxy, err = podnet.NewProxy(g.net); err != nil {
		return err
	}
	g.services, g.sim = podnet.Services{Client: client}, sim
	g.runtime = podrun.New(podrun.Options{
		Client: client, Dir: g.paths.pods(), Programs: g.paths.standIns(), Environ: os.Environ(),
		Containers: containers, Entrypoints: entrypoints, Proxy: g.proxy, Pods: sim.Pods, Changed: sim.Changed, Logf: g.out.printf,
	})
	if g.kubelet, err = kubelet.New(g); err != nil {
		return err
	}
	sim.Use(g.runtime, kubelet.Port)
	go func() {
		if err := g.net.ServeEgress(g.egress); err != nil {
			g.out.printf("%v", err)
		}
	}()
	name := "the user who runs this"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	g.out.plain(fmt.Sprintf(`
  WARNING: Ray is simulated, but entrypoints are not. The entrypoint of every Ray job, and every container that calls "ray job",
  RUNS AS A PROCESS OF THIS MACHINE, with the rights of %s, in folders below
  %s. A user who may write to the API server may run programs here. To leave this out: make run SIMULATE=false
`, name, g.paths.pods()))
	return nil
}

// close ends all processes. It may be called on nil.
func (g *ground) close() {
	if g == nil {
		return
	}
	_ = g.egress.Close()
	if g.kubelet != nil {
		g.kubelet.Close()
	}
	if g.runtime != nil {
		g.runtime.Close()
	}
	if g.proxy != nil {
		g.proxy.Close()
	}
	g.done()
}

var errNoPod = errors.New("no Pod has this address")

// Endpoint implements podnet.Hosts.
func (g *ground) Endpoint(ctx context.Context, addr netip.AddrPort) (podnet.Endpoint, error) {
	if addr.Port() == kubelet.Port && g.sim.IsNode(addr.Addr().String()) {
		return g.kubelet.Serve, nil
	}
	p := g.sim.PodAt(addr.Addr().String())
	if p == nil {
		return nil, fmt.Errorf("%s: %w", addr, errNoPod)
	}
	return g.runtime.Endpoint(ctx, p, addr.Port())
}

// Service implements podnet.Hosts.
func (g *ground) Service(ctx context.Context, namespace, name string, port uint16) (netip.AddrPort, error) {
	return g.services.Service(ctx, namespace, name, port)
}

// ServiceAt implements podnet.Hosts.
func (g *ground) ServiceAt(ctx context.Context, addr netip.AddrPort) (netip.AddrPort, error) {
	return g.services.ServiceAt(ctx, addr)
}

// Pod implements kubelet.Pods.
func (g *ground) Pod(namespace, name string) *corev1.Pod { return g.sim.Pod(namespace, name) }

// Logs implements kubelet.Pods.
func (g *ground) Logs(ctx context.Context, p *corev1.Pod, o *corev1.PodLogOptions, stdout, stderr io.Writer) error {
	return g.runtime.Logs(ctx, p, o, stdout, stderr)
}

// Exec implements kubelet.Pods.
func (g *ground) Exec(ctx context.Context, p *corev1.Pod, container string, o podrun.ExecOptions) error {
	return g.runtime.Exec(ctx, p, container, o)
}

// Dial implements kubelet.Pods.
func (g *ground) Dial(ctx context.Context, p *corev1.Pod, port uint16) (net.Conn, error) {
	endpoint, err := g.runtime.Endpoint(ctx, p, port)
	if err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	go endpoint(there)
	return here, nil
}

// pods returns the folder with one folder per Pod that has real processes.
func (p paths) pods() string { return filepath.Join(p.data, "pods") }

// standIns returns the folder of the programs that replace those of Ray's image.
func (p paths) standIns() string { return filepath.Join(p.bin, "standins") }
