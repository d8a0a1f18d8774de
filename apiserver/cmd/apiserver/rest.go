package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"k8s.io/component-base/version"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/console"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/login"
	"github.com/raygate/raygate/apiserver/internal/packages"
	"github.com/raygate/raygate/apiserver/internal/rest"
	restv2 "github.com/raygate/raygate/apiserver/internal/rest/v2"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/proto/gen/openapi"
)

// newPages returns the handler that shows dashboards to browsers. With --authentication=impersonate it is for callers with tokens only, because
// a ticket cannot repeat the connection that authenticates others.
func newPages(o *Options, dashboards *dashboardproxy.Proxy) *dashboardproxy.Pages {
	impersonate := o.Authentication == string(authn.Impersonate)
	if impersonate && o.issuers == nil {
		return nil
	}
	pages := dashboardproxy.NewPages(dashboards, o.pageTokenKeys)
	pages.NeedToken = impersonate
	return pages
}

// newPast returns the way to the dashboards of past sessions; nil without a history.
func newPast(o *Options, r service.Resources, dashboards *dashboardproxy.Proxy) (*dashboardproxy.Past, error) {
	if o.DashboardPages == "" {
		return service.NewPast(r, dashboards, nil), nil
	}
	folder, err := os.OpenRoot(o.DashboardPages) // no file leads out of it
	if err != nil {
		return nil, fmt.Errorf("opening --dashboard-pages: %w", err)
	}
	if _, err := folder.Stat("index.html"); err != nil {
		return nil, fmt.Errorf("opening --dashboard-pages: %w", err)
	}
	return service.NewPast(r, dashboards, folder.FS()), nil
}

// addREST makes the HTTP server: the APIs, pages of dashboards and the console.
func (a *app) addREST() error {
	o := a.opts
	pages := newPages(o, a.dashboards)
	api, err := restv2.New(restv2.Options{
		Conn: a.channel, FlowControl: a.flow, Dashboards: a.dashboards, Past: a.past, Pages: pages,
		Package: service.PutPackage(service.Resources{Kinds: a.resources, Packages: a.packages}, a.dashboards),
	})
	if err != nil {
		return err
	}
	apis := append([]rest.API{{Prefix: restv2.Prefix, Handler: api, WriteError: api.WriteError}}, a.v1.rest...)
	if pages != nil {
		pages.Past = a.past
		apis = append(apis, rest.API{Prefix: restv2.PagePrefix, Handler: http.HandlerFunc(api.ServePages), WriteError: api.WriteError, AnyOrigin: true})
	}
	if a.packages != nil {
		apis = append(apis, rest.API{Prefix: packages.Prefix, Handler: a.packages.Handler(api.WriteError), WriteError: api.WriteError})
	}
	home := ""
	if o.EnableConsole {
		providers, err := a.newLogin()
		if err != nil {
			return err
		}
		if pages != nil {
			pages.Logins = providers
		}
		if a.console, err = console.New(console.Options{
			Providers: providers, Login: o.Authentication == string(authn.Passthrough) || o.issuers != nil, FlowControl: a.flow, WriteError: api.WriteError, Authorizer: a.authorizer, Rules: a.rules, Core: a.core,
			Namespaces: o.Namespaces, Version: version.Get().GitVersion, History: o.HistoryStore != "", PastDashboards: o.DashboardPages != "" && pages != nil,
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

// newLogin returns the identity providers of --login-config, nil for none. The ends of sessions are shared for as long as the process runs: logouts are
// answered while it drains.
func (a *app) newLogin() (*login.Login, error) {
	o := a.opts
	if o.login == nil {
		return nil, nil
	}
	l, err := login.New(o.login, o.pageTokenKeys, nil)
	if err == nil && o.PageTokenSecret != "" {
		go l.Share(context.Background(), newSharedSecret(a.ownCore, o.PageTokenSecret))
	}
	return l, err
}
