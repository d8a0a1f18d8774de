package podnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Endpoint takes over one connection to an address.
type Endpoint func(net.Conn)

// Hosts knows who answers.
type Hosts interface {
	// Endpoint returns what answers at an address of a Pod or a node, or an error that says why nothing does.
	Endpoint(ctx context.Context, addr netip.AddrPort) (Endpoint, error)
	// Service returns the address behind a port of the Service of this namespace and name.
	Service(ctx context.Context, namespace, name string, port uint16) (netip.AddrPort, error)
	// ServiceAt is the same for a cluster IP.
	ServiceAt(ctx context.Context, addr netip.AddrPort) (netip.AddrPort, error)
}

// The ranges of addresses of the local cluster. What is outside of them is not of this network.
var (
	podRange     = netip.MustParsePrefix("10.244.0.0/16")
	nodeRange    = netip.MustParsePrefix("10.245.0.0/16")
	serviceRange = netip.MustParsePrefix("10.96.0.0/16")
)

// ErrRefused says that nothing answers at an address.
var ErrRefused = errors.New("connection refused")

// Network leads connections to whom hosts names.
type Network struct{ hosts Hosts }

// New returns the network of these hosts.
func New(hosts Hosts) *Network { return &Network{hosts: hosts} }

// find returns what answers at host:port. The host is an address or, as seen from the namespace, the name of a Service. A nil endpoint
// without an error says that the host is not of this network.
func (n *Network) find(ctx context.Context, hostport, namespace string) (Endpoint, error) {
	host, portText, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", hostport, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("address %q: port: %w", hostport, err)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return n.byName(ctx, host, uint16(port), namespace)
	}
	target := netip.AddrPortFrom(addr.Unmap(), uint16(port))
	switch {
	case podRange.Contains(target.Addr()), nodeRange.Contains(target.Addr()):
		return n.hosts.Endpoint(ctx, target)
	case serviceRange.Contains(target.Addr()):
		if target, err = n.hosts.ServiceAt(ctx, target); err != nil {
			return nil, err
		}
		return n.hosts.Endpoint(ctx, target)
	}
	return nil, nil
}

func (n *Network) byName(ctx context.Context, host string, port uint16, namespace string) (Endpoint, error) {
	name, ns, ok := serviceName(host, namespace)
	if !ok {
		return nil, nil
	}
	target, err := n.hosts.Service(ctx, ns, name, port)
	if err != nil {
		return nil, err
	}
	return n.hosts.Endpoint(ctx, target)
}

// serviceName reads NAME, NAME.NAMESPACE, NAME.NAMESPACE.svc and NAME.NAMESPACE.svc.DOMAIN. A name without dots is that of a Service of the
// namespace, if there is one to look from.
func serviceName(host, namespace string) (name, ns string, ok bool) {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	switch {
	case len(labels) == 1 && namespace != "" && host != "localhost":
		return labels[0], namespace, true
	case len(labels) >= 3 && labels[2] == "svc", len(labels) == 2 && namespace != "":
		return labels[0], labels[1], true
	}
	return "", "", false
}

// Dial connects to host:port as a Pod of the namespace sees it; empty is no Pod, to which short names mean nothing. What is not of this
// network is dialled as this machine does.
func (n *Network) Dial(ctx context.Context, hostport, namespace string) (net.Conn, error) {
	endpoint, err := n.find(ctx, hostport, namespace)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", hostport, err)
	}
	if endpoint == nil {
		d := net.Dialer{Timeout: 10 * time.Second}
		return d.DialContext(ctx, "tcp", hostport)
	}
	here, there := net.Pipe()
	go endpoint(there)
	return here, nil
}
