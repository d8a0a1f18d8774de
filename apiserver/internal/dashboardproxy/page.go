package dashboardproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// pagePolicy lets scripts run, in an origin that is nobody's: without allow-same-origin a page has no cookies, and what it asks of this gateway comes
// from another site. Windows that it opens are as confined.
const pagePolicy = "sandbox allow-scripts allow-forms allow-popups allow-downloads; frame-ancestors 'none'"

// storage stands in for what throws in an origin that is nobody's, and without which the pages of Ray stay blank: it lasts as long as the page.
const storage = `<script>(()=>{
const make=()=>{const m=new Map();return{getItem:k=>m.get(String(k))??null,setItem:(k,v)=>{m.set(String(k),String(v))},removeItem:k=>{m.delete(String(k))},
clear:()=>{m.clear()},key:i=>[...m.keys()][i]??null,get length(){return m.size}}};
for(const name of["localStorage","sessionStorage"])Object.defineProperty(window,name,{value:make()});
Object.defineProperty(document,"cookie",{get:()=>"",set:()=>{}});
})()</script>`

const doctype = "<!doctype html>"

// ServePage is Serve for a browser that shows the dashboard as a page of its own: it only reads, since what runs on the page is what users of the
// cluster have put there, and nobody who looks at it has asked for what it does.
func (p *Proxy) ServePage(w http.ResponseWriter, r *http.Request, key types.NamespacedName, path string) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return rpcstatus.MethodNotAllowed("pages of dashboards only read; submit jobs by the API")
	}
	w.Header().Set("Access-Control-Allow-Origin", "null") // the page's own
	w.Header().Set("Referrer-Policy", "no-referrer")      // the address has the ticket
	return p.serve(w, r, key, path, true)
}

// settlePage takes from the request of a page what says where it stands, which is its ticket, and what Ray refuses of browsers.
func settlePage(h http.Header) {
	for name := range h {
		if name == "Origin" || name == "Referer" || strings.HasPrefix(name, "Sec-Fetch-") {
			delete(h, name)
		}
	}
	if strings.Contains(h.Get("Accept"), "text/html") { // so that confine can read it
		for _, name := range []string{"Accept-Encoding", "If-None-Match", "If-Modified-Since", "Range"} {
			h.Del(name)
		}
	}
}

// confine makes an answer that of a page.
func confine(resp *http.Response) error {
	h := resp.Header
	h.Set("Content-Security-Policy", pagePolicy)
	h.Del("Referrer-Policy") // ServePage and the server have said how it is
	h.Del("Cache-Control")
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || media != "text/html" || h.Get("Content-Encoding") != "" || resp.Request.Method == http.MethodHead {
		return nil
	}
	begin := make([]byte, len(doctype))
	n, err := io.ReadFull(resp.Body, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading a page: %w", err)
	}
	begin = begin[:n]
	added := []byte(storage + string(begin))
	if bytes.EqualFold(begin, []byte(doctype)) { // before which a script would change how the page is laid out
		added = []byte(doctype + storage)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(added), resp.Body), resp.Body}
	if resp.ContentLength >= 0 {
		resp.ContentLength += int64(len(storage))
	}
	h.Del("Content-Length")
	h.Del("Etag")
	h.Del("Last-Modified")
	return nil
}

// MayOpenPages says why the context's caller gets no page of a cluster's dashboard.
func (p *Proxy) MayOpenPages(ctx context.Context, key types.NamespacedName) error {
	if err := p.mayKnow(ctx, key); err != nil {
		return err
	}
	_, err := p.Open(ctx, key, "get")
	return err
}
