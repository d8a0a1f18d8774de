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

// Address is the address of a cluster's dashboard.
type Address struct {
	// Namespace is the namespace of the cluster.
	Namespace string
	// HostPort is host:port as in status.dashboardURL: the host begins with the name of the head Service.
	HostPort string
	// Head identifies the head of the cluster.
	Head headpod.Head
}

// Connect returns a client of a dashboard. An empty token means none.
type Connect func(a Address, token dashboard.Token) (dashboard.Client, error)

// Direct connects to the head Pod, which works within the Kubernetes cluster. The host of the address is used only as the
// requested name. It is neither resolved nor dialled, because users control the target of the head Service. pods reads Pods from a
// cache.
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

// headAddress returns the address of the newest head Pod, since a replacement may overlap with the old one.
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

// Proxied connects through the Service proxy of an API server. transport must have its credentials.
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

// Pod is a Pod with one of its ports.
type Pod struct {
	Namespace, Name string
	// IP is the address of the Pod.
	IP   string
	Port int32
	// HTTP contains the HTTP options of Ray Serve on the Pod.
	HTTP dashboard.ServeHTTPOptions
}

// Probe reports whether a proxy of Ray Serve serves requests; see dashboard.ServeProxyHealthy.
type Probe func(ctx context.Context, p Pod) (bool, error)

// ProbeDirect connects to the Pod, which works within the Kubernetes cluster. transport comes from package headpod.
func ProbeDirect(transport *http.Transport) Probe {
	// Certificates contain the names that clients call, not the address of a Pod. As in probes of Kubernetes they are not verified;
	// the request contains no secret.
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

// probe requests the health below the root path, and then without it: Ray versions differ in whether the path includes it.
func probe(ctx context.Context, base *url.URL, p Pod, transport http.RoundTripper) (bool, error) {
	if p.HTTP.RootPath != "" {
		if ok, err := dashboard.ServeProxyHealthy(ctx, base.JoinPath(p.HTTP.RootPath), transport); ok || err != nil {
			return ok, err
		}
	}
	return dashboard.ServeProxyHealthy(ctx, base, transport)
}

// ProbeProxied connects through the Pod proxy of an API server. transport must have its credentials.
func ProbeProxied(apiServer *url.URL, transport http.RoundTripper) Probe {
	return func(ctx context.Context, p Pod) (bool, error) {
		name := p.Name
		if p.HTTP.TLS {
			name = "https:" + name // the API server does not verify the certificate either
		}
		return probe(ctx, dashboard.PodProxyURL(apiServer, p.Namespace, name, p.Port), p, transport)
	}
}

var errNoService = errors.New("it does not begin with the name of a Service")
