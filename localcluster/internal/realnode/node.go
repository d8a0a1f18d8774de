package realnode

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/raygate/raygate/localcluster/internal/proc"
)

// Options configure a node. All are required.
type Options struct {
	// Dir gets everything: images, logs, sockets, volumes of Pods.
	Dir string
	// Bin has the programs that hack/build-localcluster.sh makes for nodes.
	Bin string
	// Logs gets a log per part.
	Logs string
	// Count is the number of nodes.
	Count int
	// Port is where the API server listens on 127.0.0.1.
	Port int
	// Kubeconfig is an administrator's.
	Kubeconfig string
	// ClientCA is the file with the certificate that the API server shows to kubelets.
	ClientCA string
	// Layer is that of the parts in Group.
	Layer int
	Group *proc.Group
	// Progress gets one line per step.
	Progress func(format string, args ...any)
}

// Domain of the names of Services, and PodRange with the addresses of nodes and Pods.
const Domain = "cluster.local"

// The addresses: one bridge for all nodes and their Pods. Gateway is this machine, and the first node.
var (
	podRange = netip.MustParsePrefix("10.244.0.0/16")
	gateway  = netip.MustParseAddr("10.244.0.1")
)

const (
	bridge      = "raygate0"
	kubeletPort = 10250
	pauseImage  = "raygate.local/pause:1"
	// namespace of containerd with everything that is the kubelet's
	namespace = "k8s.io"
)

// node is one of the nodes.
type node struct {
	o     Options
	index int
}

func (o Options) nodes() []node {
	out := make([]node, 0, o.Count)
	for i := range o.Count {
		out = append(out, node{o, i})
	}
	return out
}

func (n node) name() string { return fmt.Sprintf("raygate-real-%d", n.index) }

// address of the node itself.
func (n node) address() netip.Addr { return netip.AddrFrom4([4]byte{10, 244, 0, byte(1 + n.index)}) }

// pods are the addresses of its Pods.
func (n node) pods() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(1 + n.index), 0}), 24)
}

func (n node) path(name ...string) string {
	return filepath.Join(append([]string{n.o.Dir, n.name()}, name...)...)
}

// state is the folder of sockets and of what does not outlive a run.
func (n node) state() string { return n.path("run") }

func (n node) socket() string { return filepath.Join(n.state(), "containerd.sock") }

func (n node) cgroup() string { return "/" + n.name() }

// start runs a part of the nodes.
func (o Options) start(name, program string, env []string, args ...string) (*proc.Process, error) {
	return o.Group.Start(proc.Spec{
		Name: name, Path: filepath.Join(o.Bin, program), Args: args, Env: env, Log: filepath.Join(o.Logs, name+".log"),
	}, o.Layer, 10*time.Second)
}
