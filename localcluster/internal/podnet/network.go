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

// Endpoint handles one connection to an address.
type Endpoint func(net.Conn)

// Hosts resolves addresses to endpoints.
type Hosts interface {
	// Endpoint returns the endpoint of a Pod or node address, or an error with the reason why there is none.
	Endpoint(ctx context.Context, addr netip.AddrPort) (Endpoint, error)
	// Service returns the address behind a port of the Service with this namespace and name.
	Service(ctx context.Context, namespace, name string, port uint16) (netip.AddrPort, error)
	// ServiceAt returns the address behind a cluster IP and port.
	ServiceAt(ctx context.Context, addr netip.AddrPort) (netip.AddrPort, error)
}

// Address ranges of the local cluster. Other addresses are outside of this network.
var (
	podRange     = netip.MustParsePrefix("10.244.0.0/16")
	nodeRange    = netip.MustParsePrefix("10.245.0.0/16")
	serviceRange = netip.MustParsePrefix("10.96.0.0/16")
)

// ErrRefused reports that no endpoint listens on an address.
var ErrRefused = errors.New("connection refused")

// Network connects clients to the endpoints of hosts.
type Network struct{ hosts Hosts }

// New returns the network of these hosts.
func New(hosts Hosts) *Network { return &Network{hosts: hosts} }

// find returns the endpoint of host:port. The host is an address or, relative to the namespace, the name of a Service. A nil
// endpoint without an error means that the host is outside of this network.
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

// serviceName parses NAME, NAME.NAMESPACE, NAME.NAMESPACE.svc and NAME.NAMESPACE.svc.DOMAIN. A name without dots is a Service of
// the given namespace, unless that is empty.
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

// Dial connects to host:port from a Pod of the namespace. An empty namespace means no Pod, so short names are not resolved. Hosts
// outside of this network are dialled directly.
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
