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

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Routes of requests to heads in metrics and logs.
const (
	dashboardRoute = Prefix + "namespaces/{namespace}/clusters/{cluster}/dashboard/{path}"
	tunnelRoute    = Prefix + "namespaces/{namespace}/clusters/{cluster}/tunnel"
)

// splitClusterPath splits a path below a cluster, namespaces/NAMESPACE/clusters/CLUSTER/REST. rest is escaped.
func splitClusterPath(u *url.URL) (cluster types.NamespacedName, rest string, ok bool) {
	below, ok := strings.CutPrefix(u.EscapedPath(), Prefix+"namespaces/")
	parts := strings.SplitN(below, "/", 4)
	if !ok || len(parts) < 4 || parts[1] != "clusters" {
		return types.NamespacedName{}, "", false
	}
	return types.NamespacedName{Namespace: parts[0], Name: parts[2]}, parts[3], true
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
	if !strings.Contains(r.URL.Path, "/dashboard") && !strings.HasSuffix(r.URL.Path, "/tunnel") {
		return false
	}
	cluster, below, ok := splitClusterPath(r.URL)
	path, toDashboard := strings.CutPrefix(below, "dashboard/")
	switch {
	case ok && toDashboard && a.Dashboard != nil:
		a.passOn(w, r, dashboardRequest{dashboardRoute, cluster, "/" + path}, func(r *http.Request) error { return a.Dashboard(w, r, cluster, "/"+path) })
	case ok && below == "tunnel" && a.Tunnel != nil:
		port := r.URL.Query().Get("port")
		a.passOn(w, r, dashboardRequest{tunnelRoute, cluster, rpcstatus.Quoted(port)}, func(r *http.Request) error { return a.Tunnel(w, r, cluster, port) })
	case ok && below == "dashboard:ticket" && a.Pages != nil:
		a.serveTicket(w, r, cluster)
	default:
		return false
	}
	return true
}

// dashboardRequest is a request to path, which is escaped, of a cluster's dashboard, or to a port of its head.
type dashboardRequest struct {
	route   string
	cluster types.NamespacedName
	path    string
}

// passOn calls serve, which passes a request on to a dashboard. It counts as a long call, because its duration is unknown. An error of serve means that
// nothing has been answered.
func (a *API) passOn(w http.ResponseWriter, r *http.Request, d dashboardRequest, serve func(r *http.Request) error) {
	rest.SetRoute(w, d.route)
	a.gate.Enter(w, r, true, func(ctx context.Context, _ *flowcontrol.Visit) error {
		st := status.New(codes.Aborted, "broken off") // of a handler that panics
		defer func() {
			mutates := d.route == tunnelRoute || !rest.IsRead(r.Method)
			rest.Audit(ctx, r, d.route, mutates, "code", st.Code().String(), "namespace", d.cluster.Namespace, "name", d.cluster.Name, "path", d.path)
		}()
		err := checkCluster(d.cluster)
		if err == nil {
			err = serve(r.WithContext(ctx))
		}
		masked := false
		id := r.Header.Get("X-Request-Id")
		if st, masked = a.Table.Status(err, id); masked {
			klog.FromContext(ctx).Error(err, "Masked an internal error", "method", d.route, "requestID", id)
		}
		return st.Err()
	})
}
