package main

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

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
	keys := o.pageTokenKeys
	if len(keys) == 0 {
		keys = [][]byte{nil} // NewTickets makes one
	}
	var all []*dashboardproxy.Tickets
	for _, key := range keys {
		tickets, err := dashboardproxy.NewTickets(key, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, tickets)
	}
	open := func(ticket string) (cluster types.NamespacedName, authorization string, expires time.Time, err error) {
		for _, tickets := range all {
			if cluster, authorization, expires, err = tickets.Open(ticket); err == nil {
				break
			}
		}
		return cluster, authorization, expires, err
	}
	return &restv2.Pages{Authorize: dashboards.MayOpenPages, Issue: all[0].Issue, Open: open, Serve: dashboards.ServePage}, nil
}
