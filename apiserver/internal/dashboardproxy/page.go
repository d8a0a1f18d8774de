package dashboardproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// pagePolicy allows scripts in an opaque origin: without allow-same-origin a page has no cookies, and its requests to this gateway are
// cross-site. Windows that it opens have the same limits.
const pagePolicy = "sandbox allow-scripts allow-forms allow-popups allow-downloads; frame-ancestors 'none'"

// ProofHeader has the proof in requests of a page's scripts.
const ProofHeader = "X-Raygate-Page"

// shim runs before the scripts of a page. It replaces APIs that fail in an opaque origin and without which Ray's pages stay blank: storage,
// which lasts as long as the page. It also adds the proof to requests of scripts below the path of the page, because the browser sends no
// cookie.
const shim = `<script>((proof,base)=>{
const make=()=>{const m=new Map();return{getItem:k=>m.get(String(k))??null,setItem:(k,v)=>{m.set(String(k),String(v))},removeItem:k=>{m.delete(String(k))},
clear:()=>{m.clear()},key:i=>[...m.keys()][i]??null,get length(){return m.size}}};
for(const name of["localStorage","sessionStorage"])Object.defineProperty(window,name,{value:make()});
Object.defineProperty(document,"cookie",{get:()=>"",set:()=>{}});
const own=u=>{try{const to=new URL(u,document.baseURI);return to.host===location.host&&to.pathname.startsWith(base)}catch{return false}};
const send=window.fetch;
window.fetch=async(what,how)=>{const r=new Request(what,how);if(own(r.url))r.headers.set("` + ProofHeader + `",proof);return send(r)};
const X=XMLHttpRequest.prototype,begin=X.open;
X.open=function(method,url,...more){begin.call(this,method,url,...(more.length?more:[true]));if(own(url))this.setRequestHeader("` + ProofHeader + `",proof)};
})(`

const doctype = "<!doctype html>"

// ServePage is Serve for a browser that shows the dashboard as its own page, of a cluster or of a past session. It only reads: users of the
// cluster control the scripts of the page, and its viewer has not requested their actions.
func (p *Pages) ServePage(w http.ResponseWriter, r *http.Request, page Page) error {
	if err := onlyReads(w, r); err != nil {
		return err
	}
	w.Header().Set("Access-Control-Allow-Origin", "null") // the page's own
	w.Header().Set("Referrer-Policy", "no-referrer")      // other sites learn no paths of this gateway
	if page.Past != nil {
		return p.Past.ServePage(w, r, page)
	}
	return p.serve(w, r, page.Cluster, page.Path, &page)
}

func onlyReads(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	w.Header().Set("Allow", "GET, HEAD")
	return rpcstatus.MethodNotAllowed("pages of dashboards only read; submit jobs by the API")
}

// IsFile reports whether a path is a static file of Ray's pages, which Ray serves without a token. A browser requests these files without a proof: a
// page with an opaque origin loads scripts, styles and pictures without cookies and headers.
func IsFile(path string) bool {
	return strings.HasPrefix(path, "/static/") || path == "/favicon.ico"
}

// preparePage removes the proof from the request of a page, and headers with which Ray refuses browsers.
func preparePage(h http.Header) {
	maps.DeleteFunc(h, func(name string, _ []string) bool { return name == "Origin" || strings.HasPrefix(name, "Sec-Fetch-") })
	if strings.Contains(h.Get("Accept"), "text/html") { // so that confine can read it
		for _, name := range []string{"Accept-Encoding", "If-None-Match", "If-Modified-Since", "Range"} {
			h.Del(name)
		}
	}
}

// confine restricts an answer to that of a page. Only answers to requests with a proof get scripts of the gateway.
func (p *Page) confine(resp *http.Response) error {
	h := resp.Header
	h.Set("Content-Security-Policy", pagePolicy)
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if p.Proof == "" || resp.StatusCode != http.StatusOK || media != "text/html" || h.Get("Content-Encoding") != "" || resp.Request.Method == http.MethodHead {
		return nil
	}
	begin := make([]byte, len(doctype))
	n, err := io.ReadFull(resp.Body, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading a page: %w", err)
	}
	added := p.withScript(begin[:n])
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(added), resp.Body), resp.Body}
	if resp.ContentLength >= 0 {
		resp.ContentLength += int64(len(added) - n)
	}
	h.Del("Content-Length")
	h.Del("Etag")
	h.Del("Last-Modified")
	return nil
}

// withScript returns the beginning of a page with the gateway's script.
func (p *Page) withScript(begin []byte) []byte {
	// Neither text needs other quoting: both are base64 in a path.
	script := shim + strconv.Quote(p.Proof) + "," + strconv.Quote(p.Base) + ")</script>"
	if bytes.EqualFold(begin, []byte(doctype)) { // before which a script would change how the page is laid out
		return []byte(doctype + script)
	}
	return []byte(script + string(begin))
}
