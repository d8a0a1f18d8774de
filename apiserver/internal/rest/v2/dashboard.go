package v2

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Routes of requests to heads, and to what dashboards showed, in metrics and logs.
const (
	dashboardRoute = Prefix + "namespaces/{namespace}/clusters/{cluster}/dashboard/{path}"
	tunnelRoute    = Prefix + "namespaces/{namespace}/clusters/{cluster}/tunnel"
	pastRoute      = Prefix + "namespaces/{namespace}/history/{kind}/{name}/dashboard/{path}"
)

// shown is the target of a path: a cluster or, with a kind, the records of an object.
type shown struct {
	types.NamespacedName
	kind string
	// below is the rest of the path, escaped.
	below string
}

// splitPath splits the path of a request to a dashboard, for a ticket or for a tunnel: namespaces/NAMESPACE/clusters/CLUSTER/REST or
// namespaces/NAMESPACE/history/KIND/NAME/REST.
func splitPath(u *url.URL) (s shown, ok bool) {
	if !strings.Contains(u.Path, "/dashboard") && !strings.HasSuffix(u.Path, "/tunnel") {
		return s, false
	}
	below, ok := strings.CutPrefix(u.EscapedPath(), Prefix+"namespaces/")
	parts := strings.SplitN(below, "/", 4)
	if !ok || len(parts) < 4 {
		return s, false
	}
	s.Namespace = parts[0]
	switch parts[1] {
	case "clusters":
		s.Name, s.below = parts[2], parts[3]
	case "history":
		s.kind = parts[2]
		s.Name, s.below, ok = strings.Cut(parts[3], "/")
	default:
		return s, false
	}
	return s, ok
}

// checkCluster refuses a path with an invalid namespace or cluster.
func checkCluster(cluster types.NamespacedName) error {
	if len(validation.IsDNS1123Label(cluster.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(cluster.Name)) > 0 {
		return &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "BAD_PATH", Message: "the path does not name a namespace and a cluster"}
	}
	return nil
}

// servedDashboard answers requests to dashboards, for tickets and for tunnels, which have no method in the protos. False means that the request is none of
// these.
func (a *API) servedDashboard(w http.ResponseWriter, r *http.Request) bool {
	s, ok := splitPath(r.URL)
	path, toDashboard := strings.CutPrefix(s.below, "dashboard/")
	path = "/" + path
	switch {
	case !ok || s.kind != "" && a.Past == nil:
		return false
	case s.below == "dashboard:ticket" && a.Pages != nil:
		a.serveTicket(w, r, s)
	case s.below == "tunnel" && s.kind == "":
		port := r.URL.Query().Get("port")
		a.passOn(w, r, dashboardRequest{tunnelRoute, s.NamespacedName, rpcstatus.Quoted(port)}, func(r *http.Request) error { return a.Dashboards.Tunnel(w, r, s.NamespacedName, port) })
	case toDashboard && s.kind == "":
		a.passOn(w, r, dashboardRequest{dashboardRoute, s.NamespacedName, path}, func(r *http.Request) error { return a.Dashboards.Serve(w, r, s.NamespacedName, path) })
	case toDashboard:
		a.passOn(w, r, dashboardRequest{pastRoute, s.NamespacedName, path}, func(r *http.Request) error {
			k, err := dashboardproxy.KeyOf(s.kind, s.NamespacedName, r.URL.Query())
			if err != nil {
				return err
			}
			return a.Past.Serve(w, r, k, path)
		})
	default:
		return false
	}
	return true
}

// dashboardRequest is a request to path, which is escaped, of a dashboard, or to a port of a head. In one with a package, cluster is the RayJob.
type dashboardRequest struct {
	route   string
	cluster types.NamespacedName
	path    string
}

// passOn calls serve, which passes a request on to a dashboard, or a package to the store. It counts as a long call, because its duration is unknown. An error of serve means that
// nothing has been answered.
func (a *API) passOn(w http.ResponseWriter, r *http.Request, d dashboardRequest, serve func(r *http.Request) error) {
	rest.SetRoute(w, d.route)
	a.gate.Enter(w, r, true, func(ctx context.Context, _ *flowcontrol.Visit) error {
		st := status.New(codes.Aborted, "broken off") // of a handler that panics
		defer func() {
			mutates := d.route == tunnelRoute || !rest.IsRead(r.Method)
			rest.Audit(ctx, r, d.route, mutates, "code", st.Code().String(), "namespace", d.cluster.Namespace, "name", d.cluster.Name, "path", d.path)
		}()
		var err error
		if d.route != packageRoute {
			err = checkCluster(d.cluster)
		}
		if err == nil {
			err = serve(r.WithContext(ctx))
		}
		masked := false
		id := r.Header.Get("X-Request-Id")
		if st, masked = a.FlowControl.Table.Status(err, id); masked {
			klog.FromContext(ctx).Error(err, "Masked an internal error", "method", d.route, "requestID", id)
		}
		return st.Err()
	})
}
