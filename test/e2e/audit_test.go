package e2e

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/raygate/raygate/test/controlplane"
)

// right is a verb on a resource that a program has.
type right struct{ program, group, resource, verb string }

func (r right) String() string {
	return fmt.Sprintf("%s: %s %s", r.program, r.verb, strings.TrimPrefix(r.group+"/"+r.resource, "/"))
}

// audit stands between the programs and the API server and keeps which right each case uses, and what is denied.
type audit struct {
	mu     sync.Mutex
	used   map[right]map[string]bool
	denied []string
	// starting is true while an API server starts: until it knows the roles it denies everything.
	starting bool
	// cases are the tests by the namespaces that they made.
	cases map[string]string
}

func newAudit() *audit {
	return &audit{used: map[right]map[string]bool{}, cases: map[string]string{}}
}

// atStart is the case of what a program does for all namespaces, mostly when it starts.
const atStart = "start"

var requestInfo = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// kubeconfig returns the path of one by which a program reaches the API server as its ServiceAccount, and is watched.
func (a *audit) kubeconfig(env *controlplane.Env, folder, program, direct string) (path string, stop func(), err error) {
	config, err := clientcmd.LoadFromFile(direct)
	if err != nil {
		return "", nil, err
	}
	target, err := url.Parse(env.Config.Host)
	if err != nil {
		return "", nil, err
	}
	past := clientrest.AnonymousClientConfig(env.Config)
	past.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrade for port-forwards
	transport, err := clientrest.TransportFor(past)
	if err != nil {
		return "", nil, err
	}
	token := "Bearer " + config.AuthInfos["u"].Token
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1,
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as a lost connection
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusForbidden && r.Request.Header.Get("Authorization") == token {
				return a.refused(program, r)
			}
			return nil
		},
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == token { // what the gateway does for callers is their right
			a.note(program, r)
		}
		proxy.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS() // a token is sent by TLS only
	config.Clusters["c"].Server, config.Clusters["c"].CertificateAuthority = server.URL, ""
	config.Clusters["c"].CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	path = filepath.Join(folder, program+".kubeconfig")
	return path, server.CloseClientConnections, clientcmd.WriteToFile(*config, path)
}

func (a *audit) note(program string, r *http.Request) {
	info, err := requestInfo.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest {
		return
	}
	u := right{program, info.APIGroup, info.Resource, info.Verb}
	if info.Subresource != "" {
		u.resource += "/" + info.Subresource
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	name := atStart
	if info.Namespace != "" {
		if name = a.cases[info.Namespace]; name == "" {
			name = "other"
		}
	}
	if a.used[u] == nil {
		a.used[u] = map[string]bool{}
	}
	a.used[u][name] = true
}

// refused separates what RBAC denies from what quotas, webhooks and terminating namespaces deny.
func (a *audit) refused(program string, r *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return err
	}
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	if text := string(body); strings.Contains(text, "system:serviceaccount:") && strings.Contains(text, " cannot ") {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.starting {
			return nil
		}
		a.denied = append(a.denied, fmt.Sprintf("%s: %s %s: %s", program, r.Request.Method, r.Request.URL.Path, text))
	}
	return nil
}

// restart calls a function that restarts the API server.
func (a *audit) restart(do func() error) error {
	set := func(starting bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.starting = starting
	}
	set(true)
	defer set(false)
	return do()
}

// begin says that a namespace belongs to a test.
func (a *audit) begin(namespace, test string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cases[namespace], _, _ = strings.Cut(test, "/")
}

// usedBy are the cases that use a right, sorted.
func (a *audit) usedBy(r right) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.used[r]))
}
