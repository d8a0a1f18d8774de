package main

import (
	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	restv2 "github.com/raygate/raygate/apiserver/internal/rest/v2"
)

// newPages returns what shows dashboards to browsers. There is none with --authentication=impersonate: a connection that proves who calls is not the
// ticket's to repeat.
func newPages(o *Options, dashboards *dashboardproxy.Proxy) (*restv2.Pages, error) {
	if o.Authentication == string(authn.Impersonate) {
		return nil, nil
	}
	tickets, err := dashboardproxy.NewTickets(o.pageTokenKey, nil)
	if err != nil {
		return nil, err
	}
	return &restv2.Pages{Authorize: dashboards.MayOpenPages, Issue: tickets.Issue, Open: tickets.Open, Serve: dashboards.ServePage}, nil
}
