package dashboardproxy

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// maxPages is the number of pages whose callers a gateway with the Service proxy keeps.
const maxPages = 1024

// errNoTicket reports a caller whom a ticket cannot identify again.
var errNoTicket = &rpcstatus.Error{
	Code: codes.FailedPrecondition, Reason: "NO_LOGIN", Message: "pages of dashboards need a caller with a token; a client certificate identifies its connection only",
}

// Pages shows dashboards to browsers.
type Pages struct {
	*Proxy
	// NeedToken means that callers without an Authorization header get no pages: a ticket cannot identify them again.
	NeedToken bool

	tickets *Tickets
	// callers are the Authorization headers of pages by their id, where files of pages need credentials: a browser sends none with them.
	callers *cache.LRUExpireCache
}

// NewPages returns Pages of the dashboards that p leads to. keys are those of NewTickets.
func NewPages(p *Proxy, keys [][]byte) (*Pages, error) {
	tickets, err := NewTickets(keys, nil)
	return &Pages{Proxy: p, tickets: tickets, callers: cache.NewLRUExpireCache(maxPages)}, err
}

// Page is a request for a page of a dashboard, or for a part of it.
type Page struct {
	Cluster types.NamespacedName
	// Base is the path of the pages of this dashboard on the gateway, with a trailing slash, and Path the path below it, with a leading
	// slash.
	Base, Path string
	// Proof is passed to the scripts of the page. It is empty for a file that is requested without one, which needs no caller's
	// authorization: see IsFile.
	Proof string
	// Authorization is the header of the caller. Anyone is set for a file that is the same for everybody: it needs no caller.
	Authorization string
	Anyone        bool
	Expires       time.Time
}

// Issue returns handle and proof of the pages of a cluster's dashboard for the context's caller, who has this Authorization header.
func (p *Pages) Issue(ctx context.Context, cluster types.NamespacedName, authorization string) (handle, proof string, expires time.Time, err error) {
	if err := p.MayOpenPages(ctx, cluster); err != nil {
		return "", "", time.Time{}, err
	}
	if p.NeedToken && authorization == "" {
		return "", "", time.Time{}, errNoTicket
	}
	return p.tickets.Issue(cluster, authorization)
}

// Open returns the page at path below a handle. base is the path of the handle. proof is empty if the request has none.
func (p *Pages) Open(handle, proof, base, path string) (Page, error) {
	h, err := p.tickets.Open(handle)
	if err != nil {
		return Page{}, err
	}
	page := Page{Cluster: h.Cluster, Base: base, Path: path, Proof: proof, Expires: h.Expires}
	if proof == "" && IsFile(path) {
		if page.Anyone = p.ServesFiles(); page.Anyone {
			return page, nil
		}
		if known, ok := p.callers.Get(h.ID); ok {
			page.Authorization = known.(string)
			return page, nil
		}
	}
	if page.Authorization, err = p.tickets.Prove(h, proof); err != nil {
		return Page{}, err
	}
	if !p.ServesFiles() {
		p.callers.Add(h.ID, page.Authorization, time.Until(h.Expires))
	}
	return page, nil
}
