package load

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// proxy stands between the gateway and the API server. Requests without a token are the gateway's own and are sent on as an administrator.
type proxy struct {
	kubeconfig string
	// fault is asked about each request; when it answers true it has dealt with the request. Nil means that there is none.
	fault atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]

	mu      sync.Mutex
	watches map[string]map[*http.Request]chan struct{} // those that are open, by resource, with what ends them
}

func (c *control) proxy(t *testing.T) *proxy {
	t.Helper()
	target, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := rest.TransportFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := rest.TransportFor(rest.AnonymousClientConfig(c.Config))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{watches: map[string]map[*http.Request]chan struct{}{}}
	to := func(transport http.RoundTripper) *httputil.ReverseProxy {
		return &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1,
			ErrorLog:     log.New(io.Discard, "", 0),
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as a lost connection
		}
	}
	asAdmin, asCaller := to(admin), to(caller)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := p.fault.Load(); fault != nil && (*fault)(w, r) {
			return
		}
		if isWatch(r) {
			end := p.begin(r)
			defer p.end(r)
			done := make(chan struct{})
			defer close(done)
			control := http.NewResponseController(w)
			go func() {
				select {
				case <-end:
					_ = control.SetWriteDeadline(time.Unix(1, 0))
				case <-done:
				}
			}()
		}
		if r.Header.Get("Authorization") != "" {
			asCaller.ServeHTTP(w, r)
			return
		}
		asAdmin.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(func() { p.cutWatches(); server.CloseClientConnections(); server.Close() })
	p.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","current-context":"p","clusters":[{"name":"p","cluster":{"server":"` + server.URL + `"}}],"contexts":[{"name":"p","context":{"cluster":"p","user":"p"}}],"users":[{"name":"p","user":{}}]}`
	if err := os.WriteFile(p.kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func isWatch(r *http.Request) bool {
	return r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1"
}

func (p *proxy) begin(r *http.Request) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	resource := path.Base(r.URL.Path)
	if p.watches[resource] == nil {
		p.watches[resource] = map[*http.Request]chan struct{}{}
	}
	end := make(chan struct{})
	p.watches[resource][r] = end
	return end
}

func (p *proxy) end(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watches[path.Base(r.URL.Path)], r)
}

// openWatches counts the watches that the gateway has open, by resource.
func (p *proxy) openWatches() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := map[string]int{}
	for resource, all := range p.watches {
		if len(all) > 0 {
			open[resource] = len(all)
		}
	}
	return open
}

// cutWatches ends the open watches in the middle.
func (p *proxy) cutWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, all := range p.watches {
		for r, end := range all {
			close(end)
			delete(all, r)
		}
	}
}

// inject makes fault answer requests until the function it returns is called.
func (p *proxy) inject(fault func(http.ResponseWriter, *http.Request) bool) (heal func()) {
	p.fault.Store(&fault)
	return func() { p.fault.Store(nil) }
}

// refuse answers with a Status, as the API server does.
func refuse(w http.ResponseWriter, code int, reason, retryAfter string) bool {
	w.Header().Set("Content-Type", "application/json")
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(code)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","reason":"`+reason+`","code":`+strconv.Itoa(code)+`}`)
	return true
}
