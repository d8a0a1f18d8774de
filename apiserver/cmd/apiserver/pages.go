package main

import (
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	restv2 "github.com/raygate/raygate/apiserver/internal/rest/v2"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// maxPages is the number of pages whose callers a gateway with the Service proxy keeps.
const maxPages = 1024

// errNoTicket reports a caller whom a ticket cannot identify again.
var errNoTicket = &rpcstatus.Error{
	Code: codes.FailedPrecondition, Reason: "NO_LOGIN", Message: "pages of dashboards need a caller with a token; a client certificate identifies its connection only",
}

// newPages returns the handler that shows dashboards to browsers. With --authentication=impersonate it is for callers with tokens only, because a ticket
// cannot repeat the connection that authenticates others.
func newPages(o *Options, dashboards *dashboardproxy.Proxy) (*restv2.Pages, error) {
	impersonate := o.Authentication == string(authn.Impersonate)
	if impersonate && o.issuers == nil {
		return nil, nil
	}
	tickets, err := dashboardproxy.NewTickets(o.pageTokenKeys, nil)
	if err != nil {
		return nil, err
	}
	p := &pages{tickets: tickets, dashboards: dashboards, callers: cache.NewLRUExpireCache(maxPages)}
	issue := func(cluster types.NamespacedName, authorization string) (handle, proof string, expires time.Time, err error) {
		if impersonate && authorization == "" {
			return "", "", time.Time{}, errNoTicket
		}
		return tickets.Issue(cluster, authorization)
	}
	return &restv2.Pages{Authorize: dashboards.MayOpenPages, Issue: issue, Open: p.open, Serve: p.serve, Header: dashboardproxy.ProofHeader}, nil
}

type pages struct {
	tickets    *dashboardproxy.Tickets
	dashboards *dashboardproxy.Proxy
	// callers are the Authorization headers of pages by their id, where files of pages need credentials: a browser sends none with them.
	callers *cache.LRUExpireCache
}

func (p *pages) open(handle, proof, path string) (restv2.OpenPage, error) {
	h, err := p.tickets.Open(handle)
	if err != nil {
		return restv2.OpenPage{}, err
	}
	page := restv2.OpenPage{Cluster: h.Cluster, Expires: h.Expires}
	if proof == "" && dashboardproxy.IsFile(path) {
		if page.Anyone = p.dashboards.ServesFiles(); page.Anyone {
			return page, nil
		}
		if known, ok := p.callers.Get(h.ID); ok {
			page.Authorization = known.(string)
			return page, nil
		}
	}
	if page.Authorization, err = p.tickets.Prove(h, proof); err != nil {
		return restv2.OpenPage{}, err
	}
	if !p.dashboards.ServesFiles() {
		p.callers.Add(h.ID, page.Authorization, time.Until(h.Expires))
	}
	return page, nil
}

func (p *pages) serve(w http.ResponseWriter, r *http.Request, page restv2.OpenPage, path string) error {
	return p.dashboards.ServePage(w, r, dashboardproxy.Page{Cluster: page.Cluster, Base: page.Base, Path: path, Proof: page.Proof})
}
