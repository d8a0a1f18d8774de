package v2

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// PagePrefix of the paths of dashboard pages. A handle follows it.
const PagePrefix = "/dashboards/"

// Routes in metrics, logs and traces.
const (
	ticketRoute     = Prefix + "namespaces/{namespace}/clusters/{cluster}/dashboard:ticket"
	pastTicketRoute = Prefix + "namespaces/{namespace}/history/{kind}/{name}/dashboard:ticket"
	pageRoute       = PagePrefix + "{handle}/{path}"
)

// maxFiles is the maximum number of files of pages that are sent at once to browsers without credentials.
const maxFiles = 256

// serveTicket answers with the path of a dashboard's pages.
func (a *API) serveTicket(w http.ResponseWriter, r *http.Request, s shown) {
	route, issue := ticketRoute, func(ctx context.Context, authorization string) (string, string, time.Time, error) {
		return a.Pages.Issue(ctx, s.NamespacedName, authorization)
	}
	if s.kind != "" {
		route, issue = pastTicketRoute, func(ctx context.Context, authorization string) (string, string, time.Time, error) {
			k, err := dashboardproxy.KeyOf(s.kind, s.NamespacedName, r.URL.Query())
			if err != nil {
				return "", "", time.Time{}, err
			}
			return a.Pages.IssuePast(ctx, k, authorization)
		}
	}
	rest.SetRoute(w, route)
	a.gate.Enter(w, r, false, func(ctx context.Context, _ *flowcontrol.Visit) error {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			return rpcstatus.MethodNotAllowed("use POST")
		}
		if err := checkCluster(s.NamespacedName); err != nil {
			return err
		}
		handle, proof, expires, err := issue(ctx, r.Header.Get("Authorization"))
		if err != nil {
			return err
		}
		base := PagePrefix + handle + "/"
		setProof(w, r, base, proof, expires)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"path": base, "expireTime": expires.UTC().Format(time.RFC3339)})
		return nil
	})
}

// ServePages answers requests below PagePrefix. The proof replaces credentials, which are ignored: the caller is the one it was issued to, and is
// identified and authorized again for each request.
func (a *API) ServePages(w http.ResponseWriter, r *http.Request) {
	rest.SetRoute(w, pageRoute)
	handle, path, ok := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), PagePrefix), "/")
	if !ok {
		a.WriteError(w, rpcstatus.PathNotFound("there is nothing here; POST to "+ticketRoute+" returns the path of a dashboard"))
		return
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" { // before scripts of a page send the proof
		for name, value := range map[string]string{"Origin": "null", "Methods": "GET, HEAD", "Headers": dashboardproxy.ProofHeader + ", Content-Type"} {
			w.Header().Set("Access-Control-Allow-"+name, value)
		}
		w.Header().Set("Access-Control-Max-Age", "3600")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	page, err := a.Pages.Open(handle, proofOf(r), PagePrefix+handle+"/", "/"+path)
	if err != nil {
		a.WriteError(w, err)
		return
	}
	ctx, cancel := context.WithDeadline(r.Context(), page.Expires) // ends open requests
	defer cancel()
	r = r.WithContext(ctx)
	r.Header.Del("Cookie")
	r.Header.Del(dashboardproxy.ProofHeader)
	if r.Header.Del("Authorization"); page.Authorization != "" {
		r.Header.Set("Authorization", page.Authorization)
	}
	if page.Anyone {
		a.sendFile(w, r, page)
		return
	}
	a.passOn(w, r, dashboardRequest{pageRoute, page.Cluster, page.Path}, func(r *http.Request) error { return a.Pages.ServePage(w, r, page) })
}

// sendFile answers a request without a caller. Such requests share one limit.
func (a *API) sendFile(w http.ResponseWriter, r *http.Request, page dashboardproxy.Page) {
	select {
	case a.files <- struct{}{}:
		defer func() { <-a.files }()
	case <-r.Context().Done():
		return
	}
	if err := a.Pages.ServePage(w, r, page); err != nil {
		a.WriteError(w, err)
	}
}

const (
	// proofCookie is the beginning of the names of a page's cookies. A number follows it.
	proofCookie = "raygate-page-"
	// proofPart is the maximum size of the part of a proof in one cookie, in bytes: browsers keep up to 4096 with name and attributes.
	proofPart = 3500
	// maxProofCookies is as many as the longest token needs.
	maxProofCookies = 18
)

// setProof gives a browser the cookies with which it opens the pages below base. Browsers send them when a user opens a page there, also by
// a link, but not for requests of a page itself, which has an opaque origin.
func setProof(w http.ResponseWriter, r *http.Request, base, proof string, expires time.Time) {
	secure := r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
	for n := 0; proof != "" && n < maxProofCookies; n++ {
		part := proof[:min(len(proof), proofPart)]
		proof = proof[len(part):]
		http.SetCookie(w, &http.Cookie{
			Name: proofCookie + strconv.Itoa(n), Value: part, Path: base, Expires: expires, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure,
		})
	}
}

// proofOf returns the proof of a request; empty for none.
func proofOf(r *http.Request) string {
	if proof := r.Header.Get(dashboardproxy.ProofHeader); proof != "" {
		return proof
	}
	var text strings.Builder
	for n := range maxProofCookies {
		c, err := r.Cookie(proofCookie + strconv.Itoa(n))
		if err != nil {
			break
		}
		text.WriteString(c.Value)
	}
	return text.String()
}
