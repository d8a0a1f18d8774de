package rest

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// refuseForeign keeps web pages away from a gateway that asks for no credentials. A page of another site betrays itself by its Origin; one whose
// name was made to point to this machine (DNS rebinding) by the Host it asks for, which anyOrigin does not excuse.
func (s *Server) refuseForeign(r *http.Request, anyOrigin bool) error {
	if !isLoopbackName(r.Host) {
		return foreign("the Host header does not name this machine: use localhost")
	}
	if anyOrigin || s.cors != nil && r.Header.Get("Origin") != "" && s.cors.OriginAllowed(r) {
		return nil
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return foreign("requests from pages of other sites are refused")
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" {
		return foreign("requests from pages of other sites are refused")
	}
	return nil
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
