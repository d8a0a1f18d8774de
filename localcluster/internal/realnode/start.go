package realnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/localcluster/internal/podnet"
)

const (
	startLimit = 90 * time.Second
	pollEvery  = 200 * time.Millisecond
)

// Start runs the nodes and returns when they are ready for Pods. The parts belong to o.Group; stop ends what else there is, after these have
// ended, and is to be called also after an error.
func Start(ctx context.Context, client kubernetes.Interface, o Options) (stop func() error, err error) {
	if err := Missing(o.Bin); err != nil {
		return func() error { return nil }, err
	}
	if err := Clean(o.Dir); err != nil {
		return func() error { return nil }, fmt.Errorf("before the start of real nodes: %w", err)
	}
	stop = func() error { return Clean(o.Dir) }
	for _, dir := range []string{o.Dir, o.Logs} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return stop, fmt.Errorf("making folder of the nodes: %w", err)
		}
	}
	if err := makeBridge(ctx, o); err != nil {
		return stop, err
	}
	listener, err := forwardAPIServer(ctx, o)
	if err != nil {
		return stop, err
	}
	stop = func() error { return errors.Join(listener.Close(), Clean(o.Dir)) }
	if err := exposeAPIServer(ctx, client, o); err != nil {
		return stop, err
	}
	if err := o.startNodes(ctx, client); err != nil {
		return stop, err
	}
	// kube-proxy ends if its node gets an address more than half a minute after its start, and images are imported before that.
	return stop, o.startProxyAndDNS()
}

// startNodes starts all nodes, then waits until they are ready.
func (o Options) startNodes(ctx context.Context, client kubernetes.Interface) error {
	for _, n := range o.nodes() {
		if err := n.start(ctx); err != nil {
			return fmt.Errorf("node %s: %w", n.name(), err)
		}
	}
	for _, n := range o.nodes() {
		if err := n.awaitReady(ctx, client); err != nil {
			return err
		}
	}
	return nil
}

// command runs a program to its end.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %v: %w: %s", filepath.Base(name), args, err, out)
	}
	return nil
}

// makeBridge makes the network of nodes and Pods.
func makeBridge(ctx context.Context, o Options) error {
	steps := [][]string{{"link", "add", bridge, "type", "bridge"}, {"link", "set", bridge, "alias", o.Dir}}
	for _, n := range o.nodes() {
		steps = append(steps, []string{"addr", "add", fmt.Sprintf("%s/%d", n.address(), podRange.Bits()), "dev", bridge})
	}
	steps = append(steps, []string{"link", "set", bridge, "up"})
	for _, args := range steps {
		if err := command(ctx, "ip", args...); err != nil {
			return fmt.Errorf("making the bridge of the Pods: %w", err)
		}
	}
	// Between Pods on the bridge, too, the rules for Services count.
	for _, name := range []string{"net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"} {
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte("1\n"), 0o600); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}

// forwardAPIServer lets Pods reach the API server, which listens on the loopback address only.
func forwardAPIServer(ctx context.Context, o Options) (net.Listener, error) {
	here := net.JoinHostPort(gateway.String(), strconv.Itoa(o.Port))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", here)
	if err != nil {
		return nil, fmt.Errorf("listening for Pods: %w", err)
	}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				to, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
				if err != nil {
					_ = from.Close()
					return
				}
				podnet.Join(from, to)
			}()
		}
	}()
	return l, nil
}

// exposeAPIServer gives the Service "kubernetes" its endpoint.
func exposeAPIServer(ctx context.Context, client kubernetes.Interface, o Options) error {
	slices := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{gateway.String()}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(o.Port)), Protocol: new(corev1.ProtocolTCP)}},
	}
	err := slices.Delete(ctx, slice.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("exposing the API server to Pods: %w", err)
	}
	if _, err := slices.Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("exposing the API server to Pods: %w", err)
	}
	return nil
}

// startProxyAndDNS starts what all nodes share.
func (o Options) startProxyAndDNS() error {
	if _, err := o.start("kube-proxy", "kube-proxy", nil,
		"--kubeconfig="+o.Kubeconfig, "--proxy-mode=nftables", "--cluster-cidr="+podRange.String(), "--hostname-override="+node{o, 0}.name(),
		"--conntrack-max-per-core=0", "--metrics-bind-address="+gateway.String()+":10249", "--healthz-bind-address=", "--nodeport-addresses="+gateway.String()+"/32",
	); err != nil {
		return err
	}
	corefile := fmt.Sprintf(`.:53 {
    bind %s
    errors
    cache 5
    kubernetes %s in-addr.arpa {
        kubeconfig %s
        ttl 5
    }
    forward . /etc/resolv.conf
}
`, gateway, Domain, o.Kubeconfig)
	path := filepath.Join(o.Dir, "Corefile")
	if err := os.WriteFile(path, []byte(corefile), 0o600); err != nil {
		return fmt.Errorf("writing configuration of DNS: %w", err)
	}
	_, err := o.start("dns", "dns", nil, "-conf", path)
	return err
}

// start runs containerd, then the kubelet.
func (n node) start(ctx context.Context) error {
	n.o.Progress("starting node %s on %s", n.name(), n.address())
	if err := n.writeFiles(); err != nil {
		return err
	}
	if err := makeCgroup(n.cgroup()); err != nil {
		return err
	}
	path := "PATH=" + n.o.Bin + string(os.PathListSeparator) + os.Getenv("PATH")
	if _, err := n.o.start("containerd-"+n.name(), "containerd", []string{path}, "--config", n.path("containerd.toml"), "--log-level", "warn"); err != nil {
		return err
	}
	if err := n.importImages(ctx); err != nil {
		return err
	}
	_, err := n.o.start("kubelet-"+n.name(), "kubelet", []string{path},
		"--config="+n.path("kubelet.yaml"), "--kubeconfig="+n.o.Kubeconfig, "--root-dir="+n.path("kubelet"), "--cert-dir="+n.path("pki"),
		"--hostname-override="+n.name(), "--node-ip="+n.address().String(), "--v=1",
	)
	return err
}

func (n node) awaitReady(ctx context.Context, client kubernetes.Interface) error {
	last := "it has not registered"
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); {
		got, err := client.CoreV1().Nodes().Get(ctx, n.name(), metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("waiting for node %s: %w", n.name(), err)
		}
		if err == nil {
			for _, c := range got.Status.Conditions {
				if c.Type != corev1.NodeReady {
					continue
				}
				// A kubelet that comes back has its old condition at first.
				if c.Status == corev1.ConditionTrue && time.Since(c.LastHeartbeatTime.Time) < startLimit {
					return nil
				}
				last = c.Message
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
	return fmt.Errorf("node %s is not ready after %s: %s; its log is %s", n.name(), startLimit, last, filepath.Join(n.o.Logs, "kubelet-"+n.name()+".log"))
}
