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

// origins decides which pages of other sites may use the API. Browsers authenticate some callers for any page: by a certificate, by a
// cookie for a proxy in front, or not at all. One rule therefore applies to every path and every mode of authentication. It also applies to
// reads, because some reads of dashboards change something.
type origins struct {
	foreign http.CrossOriginProtection
	// all are the allowed sites, nil for none. listed are those for callers who are authenticated without a header of their own.
	all, listed *cors.Cors
}

// newOrigins returns the rule for sites as in Options.Origins. The site * is any site, except where browsers authenticate the caller by themselves, because
// then any page could act as its visitor. There it means the pages of this machine, if the gateway is local.
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

// check returns the reason why a request to an API is refused. It recognizes a page of another site by headers that no page can set, and a
// page whose name resolves to this machine (DNS rebinding) by its Host header.
func (s *Server) check(r *http.Request, api *API) error {
	if (s.Local || api.Local) && !IsLoopback(r.Host) {
		return foreign("the Host header does not name this machine: use localhost")
	}
	isPublicRead := (isPublic(r.URL.Path) || api.Public) && IsRead(r.Method)
	if api.AnyOrigin || !s.origins.isForeign(r) || isPublicRead || s.allowsOrigin(r, api) {
		return nil
	}
	return foreign("requests from pages of other sites are refused; an administrator lists sites that may send them in --cors-allowed-origins")
}

// allowsOrigin reports whether the site of a request may use an API.
func (s *Server) allowsOrigin(r *http.Request, api *API) bool {
	allowed := s.origins.all
	if s.Ambient || api.Ambient {
		allowed = s.origins.listed
	}
	return !api.OwnPages && allowed != nil && r.Header.Get("Origin") != "" && allowed.OriginAllowed(r)
}

// isForeign reports whether the request is from a page of another site.
func (o *origins) isForeign(r *http.Request) bool {
	written := *r
	written.Method = http.MethodPost // reads are checked like writes
	return o.foreign.Check(&written) != nil
}

// isPublic reports whether a path shows the same to everybody.
func isPublic(path string) bool {
	return slices.Contains([]string{"/", "/docs", "/docs/", "/openapi/v3.json", "/livez", "/healthz", "/readyz"}, path)
}

func foreign(why string) error {
	return &rpcstatus.Error{Code: codes.PermissionDenied, Reason: "FOREIGN_ORIGIN", Message: why}
}

// IsLoopback reports whether a host, with or without a port, is this machine by its name.
func IsLoopback(hostport string) bool {
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
