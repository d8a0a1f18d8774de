package rest

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/rs/cors"
	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// origins says which pages of other sites may use the API. Browsers prove some callers by themselves, with a certificate, a cookie for a proxy in front or
// no proof at all, whichever page asks. So there is one rule for every path and every mode of authentication, also for reads, since some of those that
// dashboards serve change something.
type origins struct {
	foreign http.CrossOriginProtection
	// all are the allowed sites, nil for none. listed are those that count where callers prove nothing by a header of their own.
	all, listed *cors.Cors
}

// newOrigins returns the rule for sites as in Options.Origins. The site * is any, but not where browsers prove the caller by themselves: any page could
// act as its visitor then. There it means the pages of this machine, if the gateway is local.
func newOrigins(sites []string, local bool) *origins {
	o := &origins{}
	if len(sites) == 0 {
		return o
	}
	o.all = cors.New(cors.Options{
		AllowedOrigins: sites,
		AllowedMethods: methods,
		AllowedHeaders: []string{"Authorization", "Content-Type", "X-Request-Id", "If-Match", "Last-Event-ID", "X-Min-Resource-Version", "Grpc-Timeout"},
		ExposedHeaders: []string{"ETag", "Location", "Retry-After", "Warning", "X-Request-Id"},
		MaxAge:         600,
	})
	listed := slices.DeleteFunc(slices.Clone(sites), func(site string) bool { return site == AnySite })
	if local && len(listed) < len(sites) {
		listed = append(listed, "http://localhost", "http://localhost:*", "http://127.0.0.1", "http://127.0.0.1:*", "http://[::1]", "http://[::1]:*")
	}
	if len(listed) > 0 {
		o.listed = cors.New(cors.Options{AllowedOrigins: listed})
	}
	return o
}

// AnySite is the value of Options.Origins that means any site.
const AnySite = "*"

// check says why a request to an API is refused. A page of another site betrays itself by headers that no page can set; one whose name was made to point
// to this machine (DNS rebinding) by the Host it asks for.
func (s *Server) check(r *http.Request, api *API) error {
	if (s.Local || api.Local) && !isLoopbackName(r.Host) {
		return foreign("the Host header does not name this machine: use localhost")
	}
	allowed := s.origins.all
	if s.Ambient || api.Ambient {
		allowed = s.origins.listed
	}
	switch {
	case api.AnyOrigin, !s.origins.isForeign(r):
		return nil
	case (isPublic(r.URL.Path) || api.Public) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return nil
	case !api.OwnPages && allowed != nil && r.Header.Get("Origin") != "" && allowed.OriginAllowed(r):
		return nil
	}
	return foreign("requests from pages of other sites are refused; an administrator lists sites that may send them in --cors-allowed-origins")
}

// isForeign tells whether a page of another site asks.
func (o *origins) isForeign(r *http.Request) bool {
	written := *r
	written.Method = http.MethodPost // reads are looked at as writes are
	return o.foreign.Check(&written) != nil
}

// isPublic tells whether a path shows the same to everybody.
func isPublic(path string) bool {
	return slices.Contains([]string{"/", "/docs", "/docs/", "/openapi/v3.json", "/livez", "/healthz", "/readyz"}, path)
}

func foreign(why string) error {
	return &rpcstatus.Error{Code: codes.PermissionDenied, Reason: "FOREIGN_ORIGIN", Message: why}
}

func isLoopbackName(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
