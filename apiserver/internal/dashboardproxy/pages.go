package dashboardproxy

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/raygate/raygate/apiserver/internal/login"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/history"
)

// maxPages is the number of pages whose callers a gateway with the Service proxy keeps.
const maxPages = 1024

// errNoTicket reports a caller that a ticket cannot identify later.
var errNoTicket = &rpcstatus.Error{
	Code: codes.FailedPrecondition, Reason: "NO_LOGIN", Message: "pages of dashboards need a caller with a token; a client certificate identifies its connection only",
}

// Pages shows dashboards to browsers.
type Pages struct {
	*Proxy
	// NeedToken means that callers without an Authorization header get no pages: a ticket cannot identify them again.
	NeedToken bool
	// Logins knows which sessions have ended. Nil means that there are none.
	Logins *login.Login
	// Past has the dashboards of past sessions; nil for none.
	Past *Past

	tickets *Tickets
	// holders are the callers of pages by their id, where files of pages need credentials: a browser sends none with them.
	holders *cache.LRUExpireCache
}

// NewPages returns Pages of the dashboards that p leads to. keys are those of NewTickets.
func NewPages(p *Proxy, keys [][]byte) *Pages {
	return &Pages{Proxy: p, tickets: NewTickets(keys, nil), holders: cache.NewLRUExpireCache(maxPages)}
}

// Page is a request for a page of a dashboard, or for a part of it.
type Page struct {
	Handle
	// Base is the path of the pages of this dashboard on the gateway, with a trailing slash, and Path the path below it, with a leading
	// slash.
	Base, Path string
	// Proof is passed to the scripts of the page. It is empty for a file that is requested without one, which needs no caller's
	// authorization: see IsFile.
	Proof string
	// Holder is the caller. Anyone is set for a file that is the same for everybody: it needs no caller.
	Holder
	Anyone bool

	logins *login.Login
}

// Issue returns handle and proof of the pages of a cluster's dashboard for the context's caller, who has this Authorization header.
func (p *Pages) Issue(ctx context.Context, cluster types.NamespacedName, authorization string) (handle, proof string, expires time.Time, err error) {
	if _, err := p.opened(ctx, cluster, "get", nil); err != nil {
		return "", "", time.Time{}, err
	}
	return p.issue(ctx, cluster, nil, authorization)
}

// IssuePast is Issue for the past session of a record.
func (p *Pages) IssuePast(ctx context.Context, k history.Key, authorization string) (handle, proof string, expires time.Time, err error) {
	if k, err = p.Past.Checked(ctx, k); err != nil {
		return "", "", time.Time{}, err
	}
	return p.issue(ctx, types.NamespacedName{Namespace: k.Namespace, Name: k.Name}, &k, authorization)
}

func (p *Pages) issue(ctx context.Context, of types.NamespacedName, past *history.Key, authorization string) (handle, proof string, expires time.Time, err error) {
	if p.NeedToken && authorization == "" {
		return "", "", time.Time{}, errNoTicket
	}
	handle, proof, expires = p.tickets.Issue(of, past, Holder{authorization, login.MarkFrom(ctx)})
	return handle, proof, expires, nil
}

// Open returns the page at path below a handle. base is the path of the handle. proof is empty if the request has none.
func (p *Pages) Open(handle, proof, base, path string) (Page, error) {
	h, err := p.tickets.Open(handle)
	if err != nil {
		return Page{}, err
	}
	if h.Past != nil && p.Past == nil { // of a gateway with other flags
		return Page{}, errTicket
	}
	page := Page{Handle: h, Base: base, Path: path, Proof: proof, logins: p.Logins}
	if proof == "" && IsFile(path) {
		if page.Anyone = h.Past != nil || p.ServesFiles(); page.Anyone {
			return page, nil
		}
		if known, ok := p.holders.Get(h.ID); ok {
			page.Holder = known.(Holder)
			return page, page.ended()
		}
	}
	if page.Holder, err = p.tickets.Prove(h, proof); err != nil {
		return Page{}, err
	}
	if !p.ServesFiles() {
		p.holders.Add(h.ID, page.Holder, time.Until(h.Expires))
	}
	return page, page.ended()
}

// ended returns an error if the login of the page's caller has ended. A nil page has none.
func (p *Page) ended() error {
	if p == nil {
		return nil
	}
	return p.logins.Check(p.Session)
}
