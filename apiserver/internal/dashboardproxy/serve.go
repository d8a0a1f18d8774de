package dashboardproxy

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/reverseproxy"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// rightsInterval is the interval at which an open call is authorized again.
const rightsInterval = 10 * time.Second

// verbs are the verbs that the Service proxy of Kubernetes requires.
var verbs = map[string]string{
	http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

var errBadPath = &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "BAD_PATH", Message: "the path of the dashboard cannot be read, or leads out of it"}

// Serve passes a request to path of a cluster's dashboard and streams its answer back, of any type, including WebSockets. path is escaped
// and begins with a slash. An error means that nothing has been answered. The caller is the context's.
func (p *Proxy) Serve(w http.ResponseWriter, r *http.Request, key types.NamespacedName, path string) error {
	return p.serve(w, r, key, path, nil)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, key types.NamespacedName, path string, page *Page) error {
	verb, ok := verbs[r.Method]
	if !ok {
		w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
		return rpcstatus.MethodNotAllowed(r.Method + " is not passed on to dashboards")
	}
	plain, err := url.PathUnescape(path)
	if err != nil || slices.ContainsFunc(strings.Split(plain, "/"), func(s string) bool { return s == "." || s == ".." }) {
		return errBadPath
	}
	d, err := p.opened(r.Context(), key, verb, page)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if d.access.Verb != "" {
		defer p.endWithRights(ctx, cancel, d, page).Stop()
	}
	reverseproxy.LimitBody(w, r)
	target := reverseproxy.Target{
		URL:       &url.URL{Scheme: d.url.Scheme, Host: d.url.Host, Path: d.url.Path + plain, RawPath: d.url.EscapedPath() + path, RawQuery: r.URL.RawQuery},
		Transport: d.transport, Stop: p.Stop, Header: d.identify, Untrusted: true,
	}
	if page != nil {
		target.Header = func(h http.Header) {
			d.identify(h)
			preparePage(h)
		}
		target.Answer = page.confine
	}
	return notAnswered(ctx, key.Name, reverseproxy.Pass(w, r.WithContext(ctx), target))
}

// opened returns the dashboard of a cluster that the context's caller may use. A file of its pages is for everybody with their path.
func (p *Proxy) opened(ctx context.Context, key types.NamespacedName, verb string, page *Page) (*Dashboard, error) {
	if page != nil && page.Proof == "" && p.ServesFiles() && IsFile(page.Path) {
		return p.find(ctx, key)
	}
	if err := p.mayKnow(ctx, key); err != nil {
		return nil, err
	}
	return p.Open(ctx, key, verb)
}

// notAnswered returns the error for a request without an answer. It has no addresses and causes.
func notAnswered(ctx context.Context, cluster string, err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(translated(ctx, err), unavailable(cluster, "it cannot be reached, or has broken off"))
}

// mayKnow returns the reason why the context's caller may not get a cluster.
func (p *Proxy) mayKnow(ctx context.Context, key types.NamespacedName) error {
	return p.Authorizer.Authorize(ctx, authz.Access{Verb: "get", Group: rayv1.GroupVersion.Group, Resource: "rayclusters", Namespace: key.Namespace, Name: key.Name})
}

// endWithRights ends a call when its caller loses the right to it, or logs out. page is nil for a call of the API.
func (p *Proxy) endWithRights(ctx context.Context, cancel context.CancelFunc, d *Dashboard, page *Page) *time.Timer {
	return rest.EndWhen(ctx, cancel, rightsInterval, func() bool { return p.StillAllowed(ctx, d) != nil || page.ended() != nil })
}

// identify puts the token of the cluster on a request. A token of the client's own counts where the cluster has none in a Secret.
func (d *Dashboard) identify(h http.Header) {
	if d.token != "" {
		h.Set("X-Ray-Authorization", "Bearer "+string(d.token))
	}
}
