package main

import (
	"net/http"

	"k8s.io/component-base/version"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/console"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/rest"
	restv2 "github.com/raygate/raygate/apiserver/internal/rest/v2"
	"github.com/raygate/raygate/proto/gen/openapi"
)

// newPages returns the handler that shows dashboards to browsers. There is none with --authentication=impersonate, because a ticket cannot
// repeat the connection that authenticates the caller.
func newPages(o *Options, dashboards *dashboardproxy.Proxy) (*dashboardproxy.Pages, error) {
	if o.Authentication == string(authn.Impersonate) {
		return nil, nil
	}
	return dashboardproxy.NewPages(dashboards, o.pageTokenKeys)
}

// addREST makes the HTTP server: the APIs, pages of dashboards and the console.
func (a *app) addREST() error {
	o := a.opts
	pages, err := newPages(o, a.dashboards)
	if err != nil {
		return err
	}
	api, err := restv2.New(restv2.Options{Conn: a.channel, FlowControl: a.flow, Table: a.table, Dashboard: a.dashboards.Serve, Pages: pages})
	if err != nil {
		return err
	}
	apis := append([]rest.API{{Prefix: restv2.Prefix, Handler: api, WriteError: api.WriteError}}, a.v1.rest...)
	if pages != nil {
		apis = append(apis, rest.API{Prefix: restv2.PagePrefix, Handler: http.HandlerFunc(api.ServePages), WriteError: api.WriteError, AnyOrigin: true})
	}
	home := ""
	if o.EnableConsole {
		if a.console, err = console.New(console.Options{
			Login: o.Authentication == string(authn.Passthrough) || o.issuers != nil, FlowControl: a.flow, Table: a.table, WriteError: api.WriteError, Authorizer: a.authorizer, Rules: a.rules, Core: a.core,
			Namespaces: o.Namespaces, Version: version.Get().GitVersion,
		}); err != nil {
			return err
		}
		apis, home = append(apis, a.console.APIs()...), console.Prefix
	}
	a.rest = rest.New(rest.Options{
		OpenAPI: openapi.V2, Checks: a.checks(), APIs: apis, Home: home, Origins: o.CORSAllowedOrigins,
		Local: o.Authentication == string(authn.None) && !o.InsecureAllowRemoteNone, Ambient: o.Authentication != string(authn.Passthrough),
	})
	return nil
}
