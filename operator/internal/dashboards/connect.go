package dashboards

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/headpod"
)

// Address is where the dashboard of a cluster is.
type Address struct {
	// Namespace is that of the cluster.
	Namespace string
	// HostPort is host:port, as status.dashboardURL has it: the host begins with the name of the head Service.
	HostPort string
	// Head is the head of the cluster.
	Head headpod.Head
}

// Connect returns a client of a dashboard. An empty token is none.
type Connect func(a Address, token dashboard.Token) (dashboard.Client, error)

// Direct connects to the head Pod itself, which works within the Kubernetes cluster. The host of the address is only the name that is asked for: it is
// neither resolved nor connected to, since users decide where the head Service leads. pods reads Pods from a cache.
func Direct(pods client.Reader, transport http.RoundTripper) Connect {
	return func(a Address, token dashboard.Token) (dashboard.Client, error) {
		u, err := dashboard.DirectURL(a.HostPort)
		if err != nil {
			return nil, err
		}
		return dashboard.New(dashboard.Config{URL: u, Token: token, Transport: headpod.To(transport, func(ctx context.Context) (netip.AddrPort, error) {
			return headAddress(ctx, pods, a.Head)
		})})
	}
}

// headAddress is the address of the head Pod that was created last, while one replaces the other.
func headAddress(ctx context.Context, pods client.Reader, head headpod.Head) (netip.AddrPort, error) {
	var all corev1.PodList
	if err := pods.List(ctx, &all, client.InNamespace(head.Namespace), client.MatchingLabels(head.Labels())); err != nil {
		return netip.AddrPort{}, fmt.Errorf("listing head Pods: %w", err)
	}
	slices.SortStableFunc(all.Items, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	failure := headpod.ErrNoHead
	for i := range all.Items {
		address, err := head.Address(&all.Items[i])
		if err == nil {
			return address, nil
		}
		failure = err
	}
	return netip.AddrPort{}, failure
}

// Proxied connects through the Service proxy of an API server. The transport has the credentials for it.
func Proxied(apiServer *url.URL, transport http.RoundTripper) Connect {
	return func(a Address, token dashboard.Token) (dashboard.Client, error) {
		host, port, err := net.SplitHostPort(a.HostPort)
		service, _, _ := strings.Cut(host, ".")
		if err != nil || service == "" || port == "" {
			return nil, fmt.Errorf("parsing dashboard address %q: %w", a.HostPort, errors.Join(errNoService, err))
		}
		return dashboard.New(dashboard.Config{
			URL: dashboard.ServiceProxyURL(apiServer, a.Namespace, service, port), Transport: transport, Token: token,
		})
	}
}

// Pod is a Pod at one of its ports.
type Pod struct {
	Namespace, Name string
	// IP is its address.
	IP   string
	Port int32
	// HTTP is how Ray Serve was started there.
	HTTP dashboard.ServeHTTPOptions
}

// Probe asks a proxy of Ray Serve whether it takes requests; see dashboard.ServeProxyHealthy.
type Probe func(ctx context.Context, p Pod) (bool, error)

// ProbeDirect asks the Pod itself, which works within the Kubernetes cluster. transport is one of headpod.
func ProbeDirect(transport *http.Transport) Probe {
	// Certificates are for the names that users call, and not for the address of a Pod: they are not verified, as by probes of Kubernetes. Nothing secret
	// is sent.
	unverified := transport.Clone()
	unverified.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	return func(ctx context.Context, p Pod) (bool, error) {
		base, by := &url.URL{Scheme: "http", Host: net.JoinHostPort(p.IP, strconv.Itoa(int(p.Port)))}, transport
		if p.HTTP.TLS {
			base.Scheme, by = "https", unverified
		}
		ctx, cancel := context.WithTimeout(ctx, dashboard.ProbeTimeout)
		defer cancel()
		return probe(ctx, base, p, by)
	}
}

// probe asks below the root path, and without it: versions of Ray differ in whether it is part of the path.
func probe(ctx context.Context, base *url.URL, p Pod, transport http.RoundTripper) (bool, error) {
	if p.HTTP.RootPath != "" {
		if ok, err := dashboard.ServeProxyHealthy(ctx, base.JoinPath(p.HTTP.RootPath), transport); ok || err != nil {
			return ok, err
		}
	}
	return dashboard.ServeProxyHealthy(ctx, base, transport)
}

// ProbeProxied asks through the Pod proxy of an API server. The transport has the credentials for it.
func ProbeProxied(apiServer *url.URL, transport http.RoundTripper) Probe {
	return func(ctx context.Context, p Pod) (bool, error) {
		name := p.Name
		if p.HTTP.TLS {
			name = "https:" + name // the API server does not verify the certificate, either
		}
		return probe(ctx, dashboard.PodProxyURL(apiServer, p.Namespace, name, p.Port), p, transport)
	}
}

var errNoService = errors.New("it does not begin with the name of a Service")
