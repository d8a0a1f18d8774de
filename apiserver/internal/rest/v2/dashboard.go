package v2

import (
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// dashboardRoute is what metrics know of requests to dashboards.
const dashboardRoute = Prefix + "namespaces/{namespace}/clusters/{cluster}/dashboard/{path}"

// serveFunc answers a request to path of a cluster's dashboard. An error means that nothing has been answered.
type serveFunc = func(w http.ResponseWriter, r *http.Request, cluster types.NamespacedName, path string) error

// dashboardPath takes the path of a request to a dashboard apart. path is escaped and begins with a slash.
func dashboardPath(u *url.URL) (cluster types.NamespacedName, path string, ok bool) {
	rest, ok := strings.CutPrefix(u.EscapedPath(), Prefix+"namespaces/")
	parts := strings.SplitN(rest, "/", 5)
	if !ok || len(parts) < 5 || parts[1] != "clusters" || parts[3] != "dashboard" {
		return types.NamespacedName{}, "", false
	}
	return types.NamespacedName{Namespace: parts[0], Name: parts[2]}, "/" + parts[4], true
}

// servedDashboard answers what goes to a dashboard, or is about one, and is in no proto. False means that it is neither.
func (a *API) servedDashboard(w http.ResponseWriter, r *http.Request) bool {
	if !strings.Contains(r.URL.Path, "/dashboard") {
		return false
	}
	if cluster, path, ok := dashboardPath(r.URL); ok && a.Dashboard != nil {
		a.passOn(w, r, cluster, path, dashboardRoute, a.Dashboard)
		return true
	}
	if cluster, ok := ticketPath(r.URL); ok && a.Pages != nil {
		a.serveTicket(w, r, cluster)
		return true
	}
	return false
}

// passOn passes a request on once the edge has let it in. It counts as a call that stays open: nobody knows how long it takes.
func (a *API) passOn(w http.ResponseWriter, r *http.Request, cluster types.NamespacedName, path, route string, to serveFunc) {
	rest.SetRoute(w, route)
	ctx, visit, err := a.Edge.Enter(r.Context(), r, true)
	if err != nil {
		a.WriteError(w, rest.Refused(a.Edge, a.Table, w.Header(), err))
		return
	}
	defer visit.Leave()
	id, st := r.Header.Get("X-Request-Id"), status.New(codes.Aborted, "broken off")
	defer func() {
		message := "Mutation"
		if r.Method == http.MethodGet || r.Method == http.MethodHead { // some of which change something: Ray kills actors by GET
			message = "Read"
		}
		fields := []any{"method", r.Method + " " + route, "code", st.Code().String(), "requestID", id, "namespace", cluster.Namespace, "name", cluster.Name, "path", path}
		if c := authn.CallerFrom(ctx); c != nil {
			fields = append(fields, "user", c.Name(), "groups", c.Groups())
		}
		klog.FromContext(ctx).WithName("audit").Info(message, fields...)
	}()
	if len(validation.IsDNS1123Label(cluster.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(cluster.Name)) > 0 {
		err = &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "BAD_PATH", Message: "the path does not name a namespace and a cluster"}
	} else {
		err = to(w, r.WithContext(ctx), cluster, path)
	}
	masked := false
	if st, masked = a.Table.Status(err, id); masked {
		klog.FromContext(ctx).Error(err, "Masked an internal error", "method", route, "requestID", id)
	}
	if st.Code() != codes.OK {
		w.Header().Set("Connection", "close") // what is left of the body is not read
		a.WriteError(w, st.Err())
	}
}
