package main

import (
	"net/http"

	"k8s.io/component-base/version"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/console"
	"github.com/raygate/raygate/apiserver/internal/rest"
	restv2 "github.com/raygate/raygate/apiserver/internal/rest/v2"
	"github.com/raygate/raygate/proto/gen/openapi"
)

// newREST makes what answers by HTTP: the APIs, pages of dashboards and the console.
func (a *app) newREST(access *access, p apiParts) error {
	o := a.opts
	pages, err := newPages(o, p.dashboards)
	if err != nil {
		return err
	}
	api, err := restv2.New(restv2.Options{
		Conn: p.conn, Edge: p.edge, Table: p.table, Dashboard: p.dashboards.Serve, Pages: pages,
	})
	if err != nil {
		return err
	}
	apis := append([]rest.API{{Prefix: restv2.Prefix, Handler: api, WriteError: api.WriteError}}, a.v1.rest...)
	if pages != nil {
		apis = append(apis, rest.API{Prefix: restv2.PagePrefix, Handler: http.HandlerFunc(api.ServePages), WriteError: api.WriteError, AnyOrigin: true})
	}
	served := rest.Options{
		OpenAPI: openapi.V2, Checks: a.checks(),
		Local: o.Authentication == string(authn.None) && !o.InsecureAllowRemoteNone, Ambient: o.Authentication != string(authn.Passthrough), Origins: o.CORSAllowedOrigins,
	}
	if o.EnableConsole {
		if a.console, err = console.New(console.Options{
			Mode: authn.Mode(o.Authentication), Edge: p.edge, Table: p.table, WriteError: api.WriteError, Authorizer: access.authorizer, Rules: access.rules, Core: p.core,
			Namespaces: o.Namespaces, Version: version.Get().GitVersion,
		}); err != nil {
			return err
		}
		apis, served.Home = append(apis, a.console.APIs()...), console.Prefix
	}
	served.APIs = apis
	a.rest = rest.New(served)
	return nil
}
