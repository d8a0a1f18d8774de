package v2

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// PagePrefix of the paths of dashboard pages, which go on with a ticket.
const PagePrefix = "/dashboards/"

// Routes that metrics know.
const (
	ticketRoute = Prefix + "namespaces/{namespace}/clusters/{cluster}/dashboard:ticket"
	pageRoute   = PagePrefix + "{ticket}/{path}"
)

// Pages shows dashboards to browsers.
type Pages struct {
	// Authorize says whether the context's caller may open the dashboard of a cluster.
	Authorize func(ctx context.Context, cluster types.NamespacedName) error
	// Issue returns a ticket for a cluster and the Authorization header of a caller.
	Issue func(cluster types.NamespacedName, authorization string) (ticket string, expires time.Time, err error)
	// Open returns what Issue was given.
	Open func(ticket string) (cluster types.NamespacedName, authorization string, expires time.Time, err error)
	// Serve answers a request for a page, as Options.Dashboard does.
	Serve func(w http.ResponseWriter, r *http.Request, cluster types.NamespacedName, path string) error
}

// ticketPath takes the path of a request for a ticket apart.
func ticketPath(u *url.URL) (cluster types.NamespacedName, ok bool) {
	rest, ok := strings.CutPrefix(u.EscapedPath(), Prefix+"namespaces/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 4 || parts[1] != "clusters" || parts[3] != "dashboard:ticket" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: parts[0], Name: parts[2]}, true
}

// serveTicket answers a caller with the path of a dashboard's pages.
func (a *API) serveTicket(w http.ResponseWriter, r *http.Request, cluster types.NamespacedName) {
	rest.SetRoute(w, ticketRoute)
	ctx, visit, err := a.Edge.Enter(r.Context(), r, false)
	if err != nil {
		a.WriteError(w, rest.Refused(a.Edge, a.Table, w.Header(), err))
		return
	}
	defer visit.Leave()
	var ticket string
	var expires time.Time
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		err = rpcstatus.MethodNotAllowed("use POST")
	case len(validation.IsDNS1123Label(cluster.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(cluster.Name)) > 0:
		err = &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "BAD_PATH", Message: "the path does not name a namespace and a cluster"}
	default:
		if err = a.Pages.Authorize(ctx, cluster); err == nil {
			ticket, expires, err = a.Pages.Issue(cluster, r.Header.Get("Authorization"))
		}
	}
	if err != nil {
		w.Header().Set("Connection", "close") // what there is of a body is not read
		a.WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"path": PagePrefix + ticket + "/", "expireTime": expires.UTC().Format(time.RFC3339)})
}

// ServePages answers what is asked for below PagePrefix. The ticket takes the place of credentials, of which none are looked at: the caller is who
// it was issued to, found out and authorized anew for each request.
func (a *API) ServePages(w http.ResponseWriter, r *http.Request) {
	rest.SetRoute(w, pageRoute)
	ticket, path, ok := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), PagePrefix), "/")
	if !ok {
		a.WriteError(w, rpcstatus.PathNotFound("there is nothing here; POST to "+ticketRoute+" returns the path of a dashboard"))
		return
	}
	cluster, authorization, expires, err := a.Pages.Open(ticket)
	if err != nil {
		a.WriteError(w, err)
		return
	}
	ctx, cancel := context.WithDeadline(r.Context(), expires) // ends what is still open
	defer cancel()
	r = r.WithContext(ctx)
	r.Header.Del("Cookie")
	if r.Header.Del("Authorization"); authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	a.passOn(w, r, cluster, "/"+path, pageRoute, a.Pages.Serve)
}
