package dashboardproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/reverseproxy"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/internal/testing/podaddress"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/dashboard"
)

// world is a cluster with a token, its dashboard, and an API server that leads to it.
type world struct {
	proxy     *Proxy
	front     *httptest.Server
	dashboard http.HandlerFunc
	cluster   *rayv1.RayCluster

	mu     sync.Mutex
	asked  []authz.Access
	denied string // verb
	seen   []*http.Request
	pod    *corev1.Pod // of the head, when the dashboard is reached directly
	// unproven says that requests for pages have no proof.
	unproven bool
	proofs   []string // paths of pages, and the proofs that came with them
	asks     []string // paths that the API server was asked for
}

var demo = types.NamespacedName{Namespace: "default", Name: "demo"}

func newWorld(t *testing.T, direct bool) *world {
	t.Helper()
	w := &world{cluster: raytest.RayCluster("default/demo")}
	w.cluster.Status.State, w.cluster.Status.Head.ServiceName = rayv1.ClusterStateReady, "demo-head-svc"
	w.cluster.Status.Head.PodName, w.cluster.UID = "demo-head", "uid"
	w.cluster.Spec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken}
	ray := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, r.Clone(context.Background()))
		w.mu.Unlock()
		w.dashboard(rw, r)
	})
	if direct {
		_, address := podaddress.Serve(t, ray)
		w.cluster.Spec.HeadGroupSpec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "dashboard", ContainerPort: int32(address.Port())}}
		w.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "demo-head", Labels: map[string]string{rayv1.LabelNodeType: "head"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "RayCluster", Name: "demo", UID: "uid", Controller: new(true)}},
		}, Status: corev1.PodStatus{PodIP: address.Addr().String()}}
	}
	kube := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asks = append(w.asks, r.URL.Path)
		pod := w.pod
		w.mu.Unlock()
		if r.URL.Path == "/api/v1/namespaces/default/pods/demo-head" && r.Header.Get("Authorization") == "Bearer gateway" && pod != nil {
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(pod)
			return
		}
		if r.Header.Get("Authorization") != "Bearer alice" {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/api/v1/namespaces/default/secrets/demo" {
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(corev1.Secret{Data: map[string][]byte{"auth_token": []byte("cluster-token")}})
			return
		}
		path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v1/namespaces/default/services/demo-head-svc:dashboard/proxy")
		if !ok {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		r.Header.Del("Authorization") // as the API server does
		r.URL.RawPath = path
		r.URL.Path, _ = url.PathUnescape(path)
		ray.ServeHTTP(rw, r)
	}))
	t.Cleanup(kube.Close)
	config := authn.CallerConfig(&rest.Config{Host: kube.URL, QPS: -1}, authn.Passthrough)
	core, err := store.NewClient(config, clientscheme.Scheme, corev1.SchemeGroupVersion, nil)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := store.NewClient(&rest.Config{Host: kube.URL, QPS: -1, BearerToken: "gateway"}, clientscheme.Scheme, corev1.SchemeGroupVersion, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.proxy, err = New(Options{Caller: config, Core: core, Pods: pods, Authorizer: w, Cluster: w.get, KubernetesProxy: !direct}); err != nil {
		t.Fatal(err)
	}
	alice := authn.NewCaller(user.DefaultInfo{Name: "alice"}, "alice")
	w.front = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if err := w.proxy.Serve(rw, r.WithContext(authn.WithCaller(r.Context(), alice)), demo, r.URL.EscapedPath()); err != nil {
			st, _ := rpcstatus.NewTable().Status(err, "")
			http.Error(rw, st.Code().String()+" "+st.Message(), http.StatusTeapot)
		}
	}))
	t.Cleanup(w.front.Close)
	return w
}

// Authorize implements authz.Authorizer.
func (w *world) Authorize(_ context.Context, a authz.Access) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, a)
	if a.Verb == w.denied && a.Subresource == "proxy" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: a.Resource}, a.Name, errors.New("no"))
	}
	return nil
}

// Get is the store of clusters.
func (w *world) get(_ context.Context, key types.NamespacedName) (*store.Item, error) {
	if key != demo {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "rayclusters"}, key.Name)
	}
	data, err := json.Marshal(w.cluster)
	if err != nil {
		return nil, err
	}
	return store.ParseItem(data)
}

func (w *world) do(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.front.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(data)
}

func both(t *testing.T, test func(*testing.T, *world)) {
	for name, direct := range map[string]bool{"direct": true, "Kubernetes' proxy": false} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t, direct)) })
	}
}

// Credentials of the caller stay with the gateway. Credentials of the cluster go to its dashboard and do not come back.
func TestHeaders(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		w.dashboard = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Set-Cookie", "ray-authentication-token=cluster-token")
			rw.Header().Set("Access-Control-Allow-Origin", "*")
			rw.Header().Set("Content-Security-Policy", "default-src *")
			rw.Header().Set("Content-Type", "text/html")
			rw.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(rw, "<html>")
		}
		resp, body := w.do(t, "POST", "/api/jobs/?a=b%2Fc", `{"x":1}`,
			"Authorization", "Bearer alice", "Cookie", "a=b", "Impersonate-User", "root", "X-Remote-User", "root", "X-Forwarded-For", "1.2.3.4", "X-Ray-Authorization", "Bearer mine",
			"Content-Type", "application/json", "Origin", "https://example.org")
		if resp.StatusCode != http.StatusAccepted || body != "<html>" || resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("Access-Control-Allow-Origin") != "" ||
			resp.Header.Get("Content-Security-Policy") != "sandbox" {
			t.Errorf("answer %d %v %q", resp.StatusCode, resp.Header, body)
		}
		got := w.seen[0]
		for name, want := range map[string]string{
			"Authorization": "", "Cookie": "", "Impersonate-User": "", "X-Remote-User": "", "X-Forwarded-For": "", "X-Ray-Authorization": "Bearer cluster-token",
			"Content-Type": "application/json", "Origin": "https://example.org",
		} {
			if got.Header.Get(name) != want {
				t.Errorf("the dashboard gets %s %q, want %q", name, got.Header.Get(name), want)
			}
		}
		if got.URL.Path != "/api/jobs/" || got.URL.RawQuery != "a=b%2Fc" || got.Method != "POST" {
			t.Errorf("the dashboard is asked for %s %s", got.Method, got.URL)
		}
	})
}

func TestOwnTokenWhereTheClusterHasNone(t *testing.T) {
	w := newWorld(t, true)
	w.cluster.Spec.AuthOptions.EnableK8sTokenAuth = new(true)
	w.dashboard = func(http.ResponseWriter, *http.Request) {}
	w.do(t, "GET", "/api/version", "", "X-Ray-Authorization", "Bearer mine")
	if got := w.seen[0].Header.Get("X-Ray-Authorization"); got != "Bearer mine" {
		t.Errorf("the dashboard gets %q", got)
	}
}

// Each method needs the verb that the Service proxy of Kubernetes would ask for, on the head Service, and the right to see the cluster.
func TestRights(t *testing.T) {
	for method, verb := range map[string]string{"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"} {
		w := newWorld(t, true)
		w.dashboard = func(http.ResponseWriter, *http.Request) {}
		if resp, body := w.do(t, method, "/api/x", ""); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", method, resp.StatusCode, body)
		}
		want := []authz.Access{
			{Verb: "get", Group: "ray.io", Resource: "rayclusters", Namespace: "default", Name: "demo"},
			{Verb: verb, Resource: "services", Subresource: "proxy", Namespace: "default", Name: "demo-head-svc"},
		}
		if fmt.Sprint(w.asked) != fmt.Sprint(want) {
			t.Errorf("%s asks for %v", method, w.asked)
		}
		w.denied = verb
		if resp, body := w.do(t, method, "/api/x", ""); resp.StatusCode != http.StatusTeapot || method != "HEAD" && !strings.Contains(body, "PermissionDenied") || len(w.seen) != 1 {
			t.Errorf("%s without the right: %d %s", method, resp.StatusCode, body)
		}
	}
}

func TestPathsStayInTheDashboard(t *testing.T) {
	w := newWorld(t, false)
	w.dashboard = func(rw http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(rw, r.URL.EscapedPath()) }
	for path, want := range map[string]string{
		"/": "/", "/api/jobs/": "/api/jobs/", "/api/jobs/a%20b/logs": "/api/jobs/a%20b/logs", "/api/jobs/a%2Fb": "", "/../secrets": "bad", "/a/%2e%2e/b": "bad", "/a/..%2fb": "bad", "/./a": "bad",
	} {
		r, err := http.NewRequestWithContext(authn.WithCaller(t.Context(), authn.NewCaller(user.DefaultInfo{Name: "alice"}, "alice")), "GET", "http://x", nil)
		if err != nil {
			t.Fatal(err)
		}
		rec := httptest.NewRecorder()
		err = w.proxy.Serve(rec, r, demo, path)
		var e *rpcstatus.Error
		switch {
		case want == "bad" && (!errors.As(err, &e) || e.Code != codes.InvalidArgument):
			t.Errorf("%s: %v", path, err)
		case want != "bad" && (err != nil || want != "" && rec.Body.String() != want):
			t.Errorf("%s: %v %q", path, err, rec.Body)
		}
	}
}

func TestWebSocket(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		w.dashboard = func(rw http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(rw, r, nil)
			if err != nil {
				return
			}
			defer ws.CloseNow()
			_, text, err := ws.Read(r.Context())
			if err == nil {
				_ = ws.Write(r.Context(), websocket.MessageText, append([]byte("echo "), text...))
				_ = ws.Close(websocket.StatusNormalClosure, "done")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ws, _, err := websocket.Dial(ctx, w.front.URL+"/api/tail", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer ws.CloseNow()
		if err := ws.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, got, err := ws.Read(ctx); err != nil || string(got) != "echo hello" {
			t.Errorf("%q, %v", got, err)
		}
		if _, _, err := ws.Read(ctx); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("the end is %v", err)
		}
		if got := w.seen[0].Header.Get("X-Ray-Authorization"); got != "Bearer cluster-token" {
			t.Errorf("the dashboard gets the token %q", got)
		}
	})
}

// An answer is passed on as it comes, and ends with the process.
func TestStreamsAndStops(t *testing.T) {
	w := newWorld(t, true)
	stop := make(chan struct{})
	w.proxy.Stop = stop
	w.dashboard = func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "first\n")
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	resp, err := http.Get(w.front.URL + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first\n" {
		t.Fatalf("%q, %v", first, err)
	}
	close(stop)
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("an answer that broke off looks complete")
	}
}

func TestBodiesAreBounded(t *testing.T) {
	w := newWorld(t, true)
	w.dashboard = func(rw http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	r, err := http.NewRequestWithContext(t.Context(), "PUT", w.front.URL+"/api/packages/gcs/x.zip", io.LimitReader(zeros{}, reverseproxy.MaxBody+1))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode == 200 {
			t.Error("a body beyond the limit was passed on")
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestUnreachable(t *testing.T) {
	w := newWorld(t, true)
	w.cluster.Spec.HeadGroupSpec.Template.Spec.Containers[0].Ports[0].ContainerPort = 1
	if _, body := w.do(t, "GET", "/", ""); !strings.Contains(body, "Unavailable") || strings.Contains(body, w.pod.Status.PodIP) {
		t.Errorf("answer %q", body)
	}
}

// A tenant decides what the head Service is, what DNS answers and, with more rights, what the status says. The dashboard is asked all the same at the
// address of a Pod that the cluster controls, or not at all.
func TestOnlyPodsOfTheCluster(t *testing.T) {
	w := newWorld(t, true)
	w.dashboard = func(http.ResponseWriter, *http.Request) {}
	w.cluster.Spec.HeadGroupSpec.HeadService = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "evil.example"}}
	if resp, body := w.do(t, "GET", "/", ""); resp.StatusCode != http.StatusOK || len(w.seen) != 1 {
		t.Fatalf("a cluster whose head Service is of type ExternalName: %d %s", resp.StatusCode, body)
	}
	if host := w.seen[0].Host; !strings.HasPrefix(host, "demo-head-svc.default.svc:") {
		t.Errorf("the dashboard is asked as %s", host)
	}
	good := *w.pod
	for name, edit := range map[string]func(){
		"no Pod in the status":         func() { w.cluster.Status.Head.PodName = "" },
		"no name of a Pod":             func() { w.cluster.Status.Head.PodName = "../secrets/demo" },
		"a Pod that is gone":           func() { w.pod = nil },
		"a Pod of another":             func() { w.pod.OwnerReferences = nil },
		"a Pod of an earlier cluster":  func() { w.cluster.UID = "again" },
		"a Pod that has ended":         func() { w.pod.Status.Phase = corev1.PodSucceeded },
		"a Pod on loopback":            func() { w.pod.Status.PodIP = "127.0.0.1" },
		"a Pod at the metadata server": func() { w.pod.Status.PodIP = "169.254.169.254" },
	} {
		pod := good
		w.pod, w.cluster.Status.Head.PodName, w.cluster.UID = &pod, "demo-head", "uid"
		w.proxy.known = cache.NewLRUExpireCache(1)
		edit()
		if resp, body := w.do(t, "GET", "/latest/meta-data", ""); resp.StatusCode != http.StatusTeapot || len(w.seen) != 1 {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

// A page asks for many files at once; Kubernetes is not asked for each of them.
func TestKubernetesIsAskedOncePerPage(t *testing.T) {
	w := newWorld(t, true)
	w.dashboard = func(http.ResponseWriter, *http.Request) {}
	for range 5 {
		w.do(t, "GET", "/static/x.js", "")
	}
	if len(w.seen) != 5 || len(w.asks) != 2 {
		t.Errorf("%d requests to the dashboard with %q", len(w.seen), w.asks)
	}
	bob := authn.WithCaller(t.Context(), authn.NewCaller(user.DefaultInfo{Name: "bob"}, "bob"))
	if _, err := w.proxy.Open(bob, demo, "get"); err == nil {
		t.Error("somebody else gets the token of the cluster, which they may not read")
	}
}

// TestSecretOf are vectors of KubeRay's naming.
func TestSecretOf(t *testing.T) {
	for name, want := range map[string]string{
		"demo": "demo", strings.Repeat("a", 53): strings.Repeat("a", 50), "abc-" + strings.Repeat("b", 49): "r" + strings.Repeat("b", 49), "abc7" + strings.Repeat("b", 49): "r" + strings.Repeat("b", 49),
	} {
		rc := raytest.RayCluster("default/" + name)
		if got := secretOf(rc); got != "" {
			t.Errorf("without authentication: %q", got)
		}
		rc.Spec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken}
		if got := secretOf(rc); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		rc.Spec.AuthOptions.SecretName = new("own")
		if got := secretOf(rc); got != "own" {
			t.Errorf("with a Secret of the user's: %q", got)
		}
	}
}

func TestStatusTable(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		err  error
		want codes.Code
	}{
		"none":                {},
		"not found":           {err: &dashboard.Error{Kind: dashboard.ErrNotFound}, want: codes.NotFound},
		"duplicate":           {err: &dashboard.Error{Kind: dashboard.ErrDuplicate}, want: codes.AlreadyExists},
		"invalid":             {err: &dashboard.Error{Kind: dashboard.ErrInvalid}, want: codes.InvalidArgument},
		"too large":           {err: &dashboard.Error{Kind: dashboard.ErrTooLarge}, want: codes.ResourceExhausted},
		"malformed":           {err: &dashboard.Error{Kind: dashboard.ErrMalformed}, want: codes.Unavailable},
		"unavailable":         {err: &dashboard.Error{Kind: dashboard.ErrUnavailable, Cause: errors.New("10.1.2.3")}, want: codes.Unavailable},
		"401 of Ray":          {err: &dashboard.Error{Kind: dashboard.ErrUnauthenticated, Code: 401}, want: codes.FailedPrecondition},
		"403 of Ray":          {err: &dashboard.Error{Kind: dashboard.ErrForbidden, Code: 403}, want: codes.FailedPrecondition},
		"401 of Kubernetes":   {err: &dashboard.Error{Kind: dashboard.ErrUnauthenticated, Code: 401, Proxy: true}, want: codes.Unauthenticated},
		"403 of Kubernetes":   {err: &dashboard.Error{Kind: dashboard.ErrForbidden, Code: 403, Proxy: true}, want: codes.PermissionDenied},
		"the gateway's own":   {err: &dashboard.Error{Kind: dashboard.ErrUnavailable, Cause: authn.ErrOwnCredentials}, want: codes.Unavailable},
		"the call has ended":  {ctx: ended, err: &dashboard.Error{Kind: dashboard.ErrUnavailable}, want: codes.Canceled},
		"what is known":       {err: errors.Join(&dashboard.Error{Kind: dashboard.ErrUnavailable}, &rpcstatus.Error{Code: codes.Aborted}), want: codes.Aborted},
		"of a two hour delay": {err: &dashboard.Error{Kind: dashboard.ErrUnavailable, Cause: context.DeadlineExceeded}, want: codes.Unavailable},
	} {
		if tc.ctx == nil {
			tc.ctx = t.Context()
		}
		err := Status(tc.ctx, "demo", tc.err)
		table := rpcstatus.NewTable(rpcstatus.Row{Err: authn.ErrOwnCredentials, Code: codes.Unavailable})
		st, masked := table.Status(err, "")
		if st.Code() != tc.want || masked || strings.Contains(st.Message(), "10.1.2.3") {
			t.Errorf("%s: %v", name, st)
		}
	}
}

func TestMethodsThatAreNotPassedOn(t *testing.T) {
	w := httptest.NewRecorder()
	err := (&Proxy{}).Serve(w, httptest.NewRequest("OPTIONS", "/", nil), types.NamespacedName{Namespace: "ns", Name: "demo"}, "/")
	if got := w.Header().Get("Allow"); err == nil || got != "DELETE, GET, HEAD, PATCH, POST, PUT" {
		t.Errorf("error %v, Allow %q", err, got)
	}
}
