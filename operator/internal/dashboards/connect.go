package dashboards

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/dashboard"
)

// Address is where the dashboard of a cluster is.
type Address struct {
	// Namespace is that of the cluster.
	Namespace string
	// HostPort is host:port, as status.dashboardURL has it: the host begins with the name of the head Service.
	HostPort string
}

// Connect returns a client of a dashboard. An empty token is none.
type Connect func(a Address, token dashboard.Token) (dashboard.Client, error)

// Direct connects to the address itself, which works within the Kubernetes cluster.
func Direct(a Address, token dashboard.Token) (dashboard.Client, error) {
	u, err := dashboard.DirectURL(a.HostPort)
	if err != nil {
		return nil, err
	}
	return dashboard.New(dashboard.Config{URL: u, Token: token})
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

// ProbeDirect asks the Pod itself, which works within the Kubernetes cluster.
func ProbeDirect(ctx context.Context, p Pod) (bool, error) {
	base := &url.URL{Scheme: "http", Host: net.JoinHostPort(p.IP, strconv.Itoa(int(p.Port)))}
	if p.HTTP.TLS {
		base.Scheme = "https"
	}
	return probe(ctx, base, p, nil)
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
