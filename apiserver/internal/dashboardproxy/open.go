package dashboardproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/reverseproxy"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/headpod"
)

// Options of New. All are required but the last two.
type Options struct {
	// Caller acts as the caller of each request; see authn.CallerConfig.
	Caller *rest.Config
	// Core reads Secrets with the caller's credentials.
	Core rest.Interface
	// Pods reads head Pods with the gateway's own credentials: callers need no right on Pods to use a dashboard.
	Pods *rest.RESTClient
	// Authorizer authorizes callers.
	Authorizer authz.Authorizer
	// Cluster reads a RayCluster.
	Cluster func(ctx context.Context, key types.NamespacedName) (*store.Item, error)
	// KubernetesProxy uses the Service proxy of the API server, for a gateway outside of the Kubernetes cluster.
	KubernetesProxy bool
	// Stop ends connections that stay open in Serve. Nil means never.
	Stop <-chan struct{}
}

// Proxy leads to dashboards.
type Proxy struct {
	Options
	transport http.RoundTripper
	dial      func(ctx context.Context, network, address string) (net.Conn, error) // connects to Pods only; nil with KubernetesProxy
	apiServer *url.URL                                                             // nil when going directly
	// known caches addresses of head Pods, and tokens by caller, because a page requests many files at once.
	known *cache.LRUExpireCache
}

// Lifetimes of cached entries, and their number.
const (
	addressLife = 2 * time.Second
	tokenLife   = 10 * time.Second // as long as a right
	maxKnown    = 4096
)

// New returns a Proxy.
func New(o Options) (*Proxy, error) {
	p := &Proxy{Options: o, known: cache.NewLRUExpireCache(maxKnown)}
	if !o.KubernetesProxy {
		transport := headpod.NewTransport(o.Caller.Host)
		transport.ResponseHeaderTimeout = time.Minute
		p.transport, p.dial = transport, transport.DialContext
		return p, nil
	}
	var err error
	if p.apiServer, p.transport, err = reverseproxy.ToAPIServer(o.Caller); err != nil {
		return nil, err
	}
	p.apiServer = p.apiServer.JoinPath("/") // so that what is joined begins with a slash
	return p, nil
}

// Dashboard is a dashboard that a caller may use.
type Dashboard struct {
	// Cluster is as the cache has it.
	Cluster   *rayv1.RayCluster
	access    authz.Access
	url       *url.URL
	token     dashboard.Token
	transport http.RoundTripper
}

// Open returns the dashboard of a cluster for a caller with the right verb on services/proxy of the head Service. The caller must already
// be authorized to get the cluster. The errors are those of the store (not found), of the Authorizer, and rpcstatus.Errors.
func (p *Proxy) Open(ctx context.Context, key types.NamespacedName, verb string) (*Dashboard, error) {
	d, err := p.authorized(ctx, key, verb)
	if err != nil {
		return nil, err
	}
	if d.token, err = p.token(ctx, d.Cluster); err != nil {
		return nil, err
	}
	return d, nil
}

// authorized is Open without the token of the cluster.
func (p *Proxy) authorized(ctx context.Context, key types.NamespacedName, verb string) (*Dashboard, error) {
	d, err := p.find(ctx, key)
	if err != nil {
		return nil, err
	}
	d.access = authz.Access{Verb: verb, Resource: "services", Subresource: "proxy", Namespace: key.Namespace, Name: d.Cluster.Status.Head.ServiceName}
	return d, p.Authorizer.Authorize(ctx, d.access)
}

// ServesFiles reports whether the files of pages can be read without credentials of a caller, which the proxy of the API server demands.
func (p *Proxy) ServesFiles() bool { return p.apiServer == nil }

// read returns a stored cluster.
func (p *Proxy) read(ctx context.Context, key types.NamespacedName) (*rayv1.RayCluster, error) {
	item, err := p.Cluster(ctx, key)
	if err != nil {
		return nil, err
	}
	rc := &rayv1.RayCluster{}
	if err := json.Unmarshal(item.JSON(), rc); err != nil {
		return nil, fmt.Errorf("reading a stored RayCluster: %w", err)
	}
	return rc, nil
}

// find returns the dashboard of a cluster without its token, for files that Ray serves to everybody.
func (p *Proxy) find(ctx context.Context, key types.NamespacedName) (*Dashboard, error) {
	rc, err := p.read(ctx, key)
	if err != nil {
		return nil, err
	}
	d := &Dashboard{Cluster: rc, transport: p.transport}
	service := d.Cluster.Status.Head.ServiceName
	// Others besides the operator may write the status; use only a Service of this namespace.
	if len(validation.IsDNS1035Label(service)) > 0 {
		return nil, notReady(key.Name, "it has no head Service yet")
	}
	if p.apiServer != nil {
		d.url = dashboard.ServiceProxyURL(p.apiServer, key.Namespace, service, rayv1.PortDashboard)
		return d, nil
	}
	// The name is for the Host header only. Where the Pod is, is found for each request: a log that is followed outlives its head.
	d.url = &url.URL{Scheme: "http", Host: net.JoinHostPort(service+"."+key.Namespace+".svc", strconv.Itoa(int(headpod.Of(d.Cluster).Port)))}
	d.transport = headpod.To(p.transport, func(ctx context.Context) (netip.AddrPort, error) {
		rc, err := p.read(ctx, key)
		if err != nil {
			return netip.AddrPort{}, err
		}
		return p.addressOf(ctx, rc, headpod.Of(rc))
	})
	return d, nil
}

// addressOf returns the address of a port of a cluster's head Pod. It uses no other source, because a tenant controls the head Service and the answers
// of DNS.
func (p *Proxy) addressOf(ctx context.Context, rc *rayv1.RayCluster, head headpod.Head) (netip.AddrPort, error) {
	name := rc.Status.Head.PodName
	if len(validation.IsDNS1123Subdomain(name)) > 0 { // the status may be written by others than the operator
		return netip.AddrPort{}, notReady(rc.Name, "it has no head Pod yet")
	}
	id := fmt.Sprint("address ", head.UID, " ", name, " ", head.Port)
	if found, ok := p.known.Get(id); ok {
		return found.(netip.AddrPort), nil
	}
	pod := &corev1.Pod{}
	err := p.Pods.Get().Namespace(rc.Namespace).Resource("pods").Name(name).Do(ctx).Into(pod)
	switch {
	case apierrors.IsNotFound(err):
		return netip.AddrPort{}, unavailable(rc.Name, "its head Pod is gone")
	case err != nil:
		return netip.AddrPort{}, err
	}
	found, err := head.Address(pod)
	if err != nil {
		return netip.AddrPort{}, unavailable(rc.Name, err.Error())
	}
	p.known.Add(id, found, addressLife)
	return found, nil
}

func notReady(cluster, why string) error {
	return rpcstatus.Precondition("CLUSTER_NOT_READY", "RayCluster %s is not ready: %s", cluster, why)
}

// Allowed returns an error unless the caller may get services/proxy of a head Service, which need not exist any more. An empty
// name means all Services of the namespace.
func (p *Proxy) Allowed(ctx context.Context, namespace, headService string) error {
	return p.Authorizer.Authorize(ctx, authz.Access{Verb: "get", Resource: "services", Subresource: "proxy", Namespace: namespace, Name: headService})
}

// StillAllowed returns the reason why a caller may no longer use the dashboard. Verdicts may be a few seconds old. If the API server is
// unreachable, the caller keeps access.
func (p *Proxy) StillAllowed(ctx context.Context, d *Dashboard) error {
	err := p.Authorizer.Authorize(ctx, d.access)
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return err
	}
	return nil
}

// CheckReady returns an error for a cluster that does not accept jobs.
func (d *Dashboard) CheckReady() error {
	if st := &d.Cluster.Status; st.State != rayv1.ClusterStateReady {
		return notReady(d.Cluster.Name, strings.TrimSpace(fmt.Sprintf("its state is %q %s", st.State, st.Reason)))
	}
	return nil
}

// Client returns a client that is good for the present call.
func (d *Dashboard) Client() (dashboard.Client, error) {
	return dashboard.New(dashboard.Config{URL: d.url, Transport: d.transport, Token: d.token, Room: flowcontrol.Hold})
}

// token reads the token of a cluster; it is empty if none is required. A cluster that lets Kubernetes check tokens gets none: the caller's
// token is not for Ray.
func (p *Proxy) token(ctx context.Context, rc *rayv1.RayCluster) (dashboard.Token, error) {
	name := secretOf(rc)
	if name == "" {
		return "", nil
	}
	id := fmt.Sprintf("token %x %s %s", callerKey(ctx), rc.UID, name)
	if found, ok := p.known.Get(id); ok {
		return found.(dashboard.Token), nil
	}
	secret := &corev1.Secret{}
	err := p.Core.Get().Namespace(rc.Namespace).Resource("secrets").Name(name).Do(ctx).Into(secret)
	value := strings.TrimSpace(string(secret.Data[rayv1.AuthTokenSecretKey]))
	switch {
	case apierrors.IsForbidden(err):
		return "", &rpcstatus.Error{
			Code: codes.PermissionDenied, Reason: "FORBIDDEN",
			Message: fmt.Sprintf("the dashboard of RayCluster %s asks for the token in Secret %s, which you may not read: %v", rc.Name, name, err),
		}
	case apierrors.IsNotFound(err), err == nil && value == "":
		return "", notReady(rc.Name, fmt.Sprintf("there is no token under the key %s of Secret %s", rayv1.AuthTokenSecretKey, name))
	case err != nil:
		return "", err
	}
	p.known.Add(id, dashboard.Token(value), tokenLife)
	return dashboard.Token(value), nil
}

// callerKey returns the cache key of the context's caller, empty if there is none.
func callerKey(ctx context.Context) string {
	if c := authn.CallerFrom(ctx); c != nil {
		return c.Key()
	}
	return ""
}

// maxName is the length of a cluster's name in the names of the operator's objects for it.
const maxName = 50

// secretOf is the Secret with the token of a cluster, as KubeRay names it; empty if none is required.
func secretOf(rc *rayv1.RayCluster) string {
	o := rc.Spec.AuthOptions
	if o == nil || o.Mode != rayv1.AuthModeToken || o.EnableK8sTokenAuth != nil && *o.EnableK8sTokenAuth {
		return ""
	}
	if o.SecretName != nil && *o.SecretName != "" {
		return *o.SecretName
	}
	name := rc.Name[max(0, len(rc.Name)-maxName):]
	if first := rune(name[0]); unicode.IsDigit(first) || unicode.IsPunct(first) {
		name = "r" + name[1:]
	}
	return name
}
