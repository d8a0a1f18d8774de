package kube

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// world is a Handler in front of something that plays the API server.
type world struct {
	front *httptest.Server
	kube  http.HandlerFunc

	mu       sync.Mutex
	seen     []*http.Request
	recorded []string
}

func alice(r *http.Request) authn.Identity {
	if r.Header.Get("Authorization") == "" {
		return authn.Identity{Err: authn.ErrNoCredentials}
	}
	return authn.Identity{Caller: authn.NewCaller(user.DefaultInfo{Name: "alice"}, "alice-token")}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{kube: func(rw http.ResponseWriter, r *http.Request) { _, _ = io.Copy(rw, r.Body) }}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, r.Clone(context.Background()))
		w.mu.Unlock()
		w.kube(rw, r)
	}))
	t.Cleanup(server.Close)
	host, err := url.Parse(server.URL + "/prefix")
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(authn.CallerConfig(&rest.Config{Host: server.URL}, authn.Passthrough))
	if err != nil {
		t.Fatal(err)
	}
	table := rpcstatus.NewTable(rpcstatus.Row{Err: authn.ErrNoCredentials, Code: 16, Reason: "UNAUTHENTICATED"})
	w.front = httptest.NewServer(New(Options{
		Transport: transport, Host: host, FlowControl: flowcontrol.New(flowcontrol.Options{Identifier: alice, Table: table}), Stop: t.Context().Done(),
		Record: func(resource string, key types.NamespacedName, answer []byte) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.recorded = append(w.recorded, fmt.Sprintf("%s %s %s", resource, key, answer))
			return nil
		},
		IsRayService: func(_ context.Context, _, name string) (bool, error) { return name == "demo-head-svc", nil },
		Expand: func(_ context.Context, _ string, tree map[string]any) (bool, error) {
			if tree["computeTemplate"] == "missing" {
				return false, &rpcstatus.Error{Code: 9, Reason: "COMPUTE_TEMPLATE_NOT_FOUND", Message: "no template"}
			}
			_, named := tree["computeTemplate"]
			delete(tree, "computeTemplate")
			return named, nil
		},
	}))
	t.Cleanup(w.front.Close)
	return w
}

// do sends a request as a client would, with headers that must not get past.
func (w *world) do(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.front.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer mine")
	r.Header.Set("Impersonate-User", "admin")
	r.Header.Set("X-Remote-User", "admin")
	r.Header.Set("Cookie", "a=b")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
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

func (w *world) last(t *testing.T) *http.Request {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		t.Fatal("nothing has been asked")
	}
	return w.seen[len(w.seen)-1]
}

func TestWhatIsPassedOn(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct{ method, path, want string }{
		{"GET", "/apis/ray.io/v1/rayclusters?limit=5&labelSelector=a%3Db", "/prefix/apis/ray.io/v1/rayclusters?limit=5&labelSelector=a%3Db"},
		{"PATCH", "/apis/ray.io/v1/namespaces/ns/rayjobs/a/status?dryRun=All", "/prefix/apis/ray.io/v1/namespaces/ns/rayjobs/a/status?dryRun=All"},
		{"DELETE", "/apis/ray.io/v1/namespaces/ns/rayclusters", "/prefix/apis/ray.io/v1/namespaces/ns/rayclusters"},
		{"GET", "/apis/events.k8s.io/v1/namespaces/ns/events?fieldSelector=regarding.name%3Da&limit=1", "/prefix/apis/events.k8s.io/v1/namespaces/ns/events?fieldSelector=regarding.name%3Da%2Cregarding.apiVersion%3Dray.io%2Fv1&limit=1"},
		{"GET", "/apis/events.k8s.io/v1/namespaces/ns/events", "/prefix/apis/events.k8s.io/v1/namespaces/ns/events?fieldSelector=regarding.apiVersion%3Dray.io%2Fv1"},
		{"POST", "/api/v1/namespaces/ns/services/demo-head-svc:8265/proxy/api/jobs/", "/prefix/api/v1/namespaces/ns/services/demo-head-svc:8265/proxy/api/jobs/"},
		{"GET", "/api/v1/namespaces/ns/services/http:demo-head-svc:8265/proxy", "/prefix/api/v1/namespaces/ns/services/http:demo-head-svc:8265/proxy"},
		{"GET", "/api/v1/namespaces/ns/services/demo-head-svc/proxy/a%2Fb//c?x=1", "/prefix/api/v1/namespaces/ns/services/demo-head-svc/proxy/a%2Fb//c?x=1"},
	} {
		resp, body := w.do(t, tc.method, tc.path, "hello", "Content-Type", "application/merge-patch+json")
		got := w.last(t)
		if resp.StatusCode != 200 || got.Method != tc.method || got.URL.RequestURI() != tc.want || body != "hello" {
			t.Errorf("%s %s: %d, %s %s, body %q", tc.method, tc.path, resp.StatusCode, got.Method, got.URL.RequestURI(), body)
		}
		if got.Header.Get("Authorization") != "Bearer alice-token" || got.Header.Get("Impersonate-User")+got.Header.Get("X-Remote-User")+got.Header.Get("Cookie") != "" {
			t.Errorf("%s %s: headers %v", tc.method, tc.path, got.Header)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]int{
		"/apis/ray.io/v1/../../../api/v1/secrets":                        404,
		"/api/v1/namespaces/ns/secrets":                                  404,
		"/api/v1/namespaces/ns/services/demo-head-svc":                   404,
		"/api/v1/namespaces/ns/services/demo-head-svc/proxy/../../x":     404,
		"/api/v1/namespaces/ns/services/other/proxy/":                    404,
		"/api/v1/namespaces/ns/services/a:b:c:d/proxy/":                  400,
		"/api/v1/namespaces/ns/services/Not_A_Name/proxy/":               400,
		"/apis/events.k8s.io/v1/namespaces/ns/events/one":                404,
		"/apis/events.k8s.io/v1/events":                                  404,
		"/apis/ray.io/v1/namespaces/ns/%2e%2e/%2e%2e/%2e%2e/api/v1/pods": 404,
	} {
		resp, body := w.do(t, "GET", path, "")
		var st metav1.Status
		if err := json.Unmarshal([]byte(body), &st); err != nil || resp.StatusCode != want || int(st.Code) != want || st.Message == "" || st.Kind != "Status" {
			t.Errorf("%s: want %d, got %d %s", path, want, resp.StatusCode, body)
		}
	}
	if resp, _ := w.do(t, "DELETE", "/apis/events.k8s.io/v1/namespaces/ns/events", ""); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET" {
		t.Errorf("events can be deleted: %d with %v", resp.StatusCode, resp.Header)
	}
	if resp, _ := w.do(t, "POST", "/apis/ray.io/v1/namespaces/ns/rayclusters", strings.Repeat("x", 3<<20+1)); resp.StatusCode != 413 {
		t.Errorf("a long body: %d", resp.StatusCode)
	}
	resp, err := http.Get(w.front.URL + "/apis/ray.io/v1/rayclusters")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 401 {
		t.Errorf("without credentials: %d", resp.StatusCode)
	}
	if len(w.seen) > 0 {
		t.Errorf("the API server was asked for %s", w.seen[0].URL)
	}
}

// Kubernetes drops the part of a query that it cannot read, and deletes a whole collection where a name is empty.
func TestWritesThatKubernetesWouldMisread(t *testing.T) {
	w := newWorld(t)
	const clusters = "/apis/ray.io/v1/namespaces/ns/rayclusters"
	for _, tc := range []struct {
		method, path, header string
		want                 int
	}{
		{"POST", clusters + "?dryRun=All%zz", "", 400},
		{"DELETE", clusters + "/demo?dryRun=All;x", "", 400},
		{"POST", clusters + "?dryrun=All", "", 400},
		{"PATCH", clusters + "/demo?validateOnly=true", "", 400},
		{"DELETE", clusters + "/demo", "If-Match", 400},
		{"DELETE", clusters + "/", "", 400},
		{"DELETE", clusters + "/demo?dryRun=All&propagationPolicy=Orphan", "", 200},
		{"DELETE", clusters + "?resourceVersion=1", "", 200},
		{"PATCH", clusters + "/demo?dryRun=All&fieldManager=me&force=true", "", 200},
		{"GET", clusters + "/?validateOnly=true", "If-None-Match", 200},
		{"POST", "/api/v1/namespaces/ns/services/demo-head-svc:8265/proxy/api/jobs/?dryrun=All", "If-Match", 200},
	} {
		w.seen = nil
		var headers []string
		if tc.header != "" {
			headers = []string{tc.header, `"1"`}
		}
		if resp, body := w.do(t, tc.method, tc.path, "", headers...); resp.StatusCode != tc.want || (len(w.seen) > 0) != (tc.want == 200) {
			t.Errorf("%s %s %s: %d with %d requests passed on, want %d: %s", tc.method, tc.path, tc.header, resp.StatusCode, len(w.seen), tc.want, body)
		}
	}
}

func TestTemplates(t *testing.T) {
	w := newWorld(t)
	const path = "/apis/ray.io/v1/namespaces/ns/rayclusters"
	for name, tc := range map[string]struct {
		method, path, contentType, body, want string
		code                                  int
	}{
		"none is named":        {"POST", path, "application/yaml", "a: 1 # as it is", "a: 1 # as it is", 200},
		"JSON":                 {"POST", path, "application/json", `{"computeTemplate":"x","a":1}`, `{"a":1}`, 200},
		"YAML becomes JSON":    {"PUT", path + "/one", "application/yaml", "computeTemplate: x\na: 1\n", `{"a":1}`, 200},
		"a patch is no object": {"PATCH", path + "/one", "application/merge-patch+json", `{"computeTemplate":"x"}`, `{"computeTemplate":"x"}`, 200},
		"another resource":     {"POST", "/apis/ray.io/v1/namespaces/ns/raycronjobs", "application/json", `{"computeTemplate":"x"}`, `{"computeTemplate":"x"}`, 200},
		"not to be read":       {"POST", path, "application/json", `{`, `{`, 200},
		"there is none":        {"POST", path, "application/json", `{"computeTemplate":"missing"}`, `no template`, 422},
	} {
		resp, body := w.do(t, tc.method, tc.path, tc.body, "Content-Type", tc.contentType)
		if resp.StatusCode != tc.code || !strings.Contains(body, tc.want) || tc.code == 200 && body != tc.want {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

// TestWatchIsSentOnAtOnce has an answer that does not end.
func TestWatchIsSentOnAtOnce(t *testing.T) {
	w := newWorld(t)
	more := make(chan string)
	w.kube = func(rw http.ResponseWriter, r *http.Request) {
		for {
			select {
			case line := <-more:
				_, _ = fmt.Fprintln(rw, line)
				_ = http.NewResponseController(rw).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", w.front.URL+"/apis/ray.io/v1/rayclusters?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer mine")
	go func() { more <- "first" }()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"first", "second", "third"} {
		if want != "first" {
			more <- want
		}
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("want %s, got %q: %v", want, lines.Text(), lines.Err())
		}
	}
}

// TestErrorsArriveWhole has an error with a long body, which KubeRay's server cut short.
func TestErrorsArriveWhole(t *testing.T) {
	w, text := newWorld(t), strings.Repeat("why ", 1<<18)
	w.kube = func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(rw, text)
	}
	for _, method := range []string{"GET", "PUT"} {
		if resp, body := w.do(t, method, "/apis/ray.io/v1/namespaces/ns/rayclusters/a", "{}"); resp.StatusCode != 409 || body != text {
			t.Errorf("%s: %d with %d of %d bytes", method, resp.StatusCode, len(body), len(text))
		}
	}
}

// TestOnlyReadsAreRepeated has an API server that is not there for a moment, or for long.
func TestOnlyReadsAreRepeated(t *testing.T) {
	for _, tc := range []struct {
		method string
		code   int
		fails  int // so many times
		want   int
		times  int
	}{
		{"GET", 503, 2, 200, 3}, {"GET", 503, 100, 503, 4}, {"GET", 404, 2, 404, 1}, {"POST", 503, 2, 503, 1}, {"DELETE", 503, 2, 503, 1}, {"PUT", 429, 2, 429, 1},
	} {
		w := newWorld(t)
		count := 0
		w.kube = func(rw http.ResponseWriter, _ *http.Request) {
			if count++; count <= tc.fails {
				rw.WriteHeader(tc.code)
			}
		}
		resp, _ := w.do(t, tc.method, "/apis/ray.io/v1/namespaces/ns/rayclusters", "")
		if resp.StatusCode != tc.want || count != tc.times {
			t.Errorf("%s after %d: %d after %d requests, want %d after %d", tc.method, tc.code, resp.StatusCode, count, tc.want, tc.times)
		}
	}
	// A client that has gone is not asked for.
	ctx, cancel := context.WithCancel(t.Context())
	count := 0
	_, err := retrying{roundTripper(func(*http.Request) (*http.Response, error) {
		count++
		cancel()
		return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
	})}.RoundTrip(httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	if count != 1 || err != nil {
		t.Errorf("%d requests for a client that has gone, %v", count, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestWritesAreRecorded has writes whose effect later reads of the gateway must see, and others.
func TestWritesAreRecorded(t *testing.T) {
	const collection = "/apis/ray.io/v1/namespaces/ns/rayclusters"
	for name, tc := range map[string]struct {
		method, path, body string
		code               int
		want               []string
	}{
		"create":                  {"POST", collection, `{"a":1}`, 201, []string{`rayclusters ns/ {"a":1}`}},
		"patch":                   {"PATCH", collection + "/demo", `{"a":2}`, 200, []string{`rayclusters ns/demo {"a":2}`}},
		"status":                  {"PUT", collection + "/demo/status", `{"a":3}`, 200, []string{`rayclusters ns/demo {"a":3}`}},
		"delete":                  {"DELETE", collection + "/demo", `{}`, 200, []string{`rayclusters ns/demo {}`}},
		"delete of a collection":  {"DELETE", collection, `{}`, 200, nil},
		"refusal":                 {"POST", collection, `{"a":4}`, 409, nil},
		"dry run":                 {"POST", collection + "?dryRun=All", `{"a":5}`, 201, nil},
		"read":                    {"GET", collection + "/demo", "", 200, nil},
		"write through a Service": {"POST", "/api/v1/namespaces/ns/services/demo-head-svc:dashboard/proxy/api", `{"a":6}`, 200, nil},
	} {
		w := newWorld(t)
		w.kube = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(tc.code)
			_, _ = io.Copy(rw, r.Body)
		}
		resp, body := w.do(t, tc.method, tc.path, tc.body, "Content-Type", "application/json")
		if resp.StatusCode != tc.code || body != tc.body {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
		w.mu.Lock()
		recorded := w.recorded
		w.mu.Unlock()
		if diff := cmp.Diff(tc.want, recorded); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
