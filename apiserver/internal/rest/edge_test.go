package rest_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// tokens knows the token "good" and refuses all others.
func tokens() authn.Identifier {
	return authn.NewTokens(func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
		if authn.CallerFrom(ctx).Key() != authn.NewCaller(user.DefaultInfo{}, "good").Key() {
			return nil, apierrors.NewUnauthorized("unknown")
		}
		return &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "ada"}}}, nil
	}, nil)
}

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("read")
}

func TestBodiesAreReadOnlyForKnownCallers(t *testing.T) {
	h := newGatewayFor(t, flowcontrol.Limits{}, tokens())
	targets := append(routes(t), target{"PATCH", clusters}, target{"GET", "/apis/v2/nothing"}, target{"POST", "/nothing"},
		target{"POST", clusters + "?misspelt=1"}, target{"POST", "/apis/v2/namespaces//clusters"})
	for _, header := range []string{"", "Bearer bad", "Basic YTpi", "nonsense"} {
		for _, target := range targets {
			r := httptest.NewRequest(target.method, target.path, untouched{t})
			r.Header.Set("Content-Type", "image/png")
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if p := problemOf(t, w); p.Code != 401 || p.Reason != "UNAUTHENTICATED" || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s %s with %q: %d %s %v", target.method, target.path, header, p.Code, p.Reason, w.Header())
			}
		}
	}
	w := call(h, "POST", clusters, good, "Authorization", "Bearer good")
	if w.Code != 201 {
		t.Errorf("a known caller gets %d: %s", w.Code, w.Body)
	}
}

type target struct{ method, path string }

// routes are those of every method that the protos declare.
func routes(t *testing.T) []target {
	t.Helper()
	var all []target
	protoregistry.GlobalFiles.RangeFilesByPackage("raygate.v2", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				rule, _ := proto.GetExtension(methods.Get(j).Options(), annotations.E_Http).(*annotations.HttpRule)
				for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
					if method, path := flowcontrol.HTTPRule(r); method != "" {
						all = append(all, target{method, strings.NewReplacer("{namespace}", "default", "{name}", "demo", "{cluster}", "demo", "{submission_id}", "s").Replace(path)})
					}
				}
			}
		}
		return true
	})
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} { // what is passed on to dashboards is in no proto
		all = append(all, target{method, clusters + "/demo/dashboard/api/jobs/"})
	}
	if len(all) < 8 {
		t.Fatalf("the protos declare %v", all)
	}
	return all
}

// Hostile bodies to every route: none causes a server error.
func TestHostileBodiesToEveryRoute(t *testing.T) {
	if testing.Short() {
		t.Skip("sends a thousand long bodies")
	}
	h := newGateway(t, false)
	bodies := map[string]string{
		"deep": strings.Repeat(`{"spec":`, 10000), "wide": `{"spec":{"workerGroupSpecs":[` + strings.Repeat("{},", 30000) + `{}]}}`,
		"no text": "\xff\xfe", "null": "null", "keys": `{"a` + strings.Repeat(`":1,"a`, 10000) + `":1}`, "a bomb": "a: &a [1,1,1,1]\nb: &b [*a,*a,*a,*a]\n" + strings.Repeat("c: [*b,*b,*b,*b]\n", 1000),
	}
	for _, target := range routes(t) {
		for what, body := range bodies {
			for _, contentType := range []string{"application/json", "application/yaml", ""} {
				if w := call(h, target.method, target.path, body, "Content-Type", contentType); w.Code >= 500 {
					t.Errorf("%s as %q to %s %s: %d %s", what, contentType, target.method, target.path, w.Code, w.Body)
				}
			}
		}
	}
}

// A client that announces a long body and does not send it is answered all the same.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := rest.NewServer(newGatewayFor(t, flowcontrol.Limits{}, tokens()))
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // the server's own limit for a body is 30 s
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n{", clusters)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 401 || !resp.Close {
		t.Errorf("answer %d, closed: %t", resp.StatusCode, resp.Close)
	}
}

func TestLimitsAreAnsweredWithRetryAfter(t *testing.T) {
	h := newGatewayFor(t, flowcontrol.Limits{CallerRate: 0.01, CallerBurst: 1}, tokens())
	if w := call(h, "GET", clusters, "", "Authorization", "Bearer good"); w.Code != 200 {
		t.Fatalf("the first call gets %d", w.Code)
	}
	r := httptest.NewRequest("POST", clusters, untouched{t})
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if p := problemOf(t, w); p.Code != 429 || p.Reason != "RATE_LIMITED" || w.Header().Get("Retry-After") != "100" {
		t.Errorf("got %d %s, Retry-After %q", p.Code, p.Reason, w.Header().Get("Retry-After"))
	}
}

// An empty ?etag= switched If-Match off, and an old resumeToken of the URL won over what a browser has seen since.
func TestHeadersAndParametersThatDisagree(t *testing.T) {
	h := newGateway(t, false)
	for name, tc := range map[string]struct {
		method, target string
		headers        []string
		want           int
		wantReason     string
	}{
		"empty parameter":   {"DELETE", clusters + "/demo?etag=", []string{"If-Match", `"nonsense"`}, 400, "INVALID_ARGUMENT"},
		"another parameter": {"DELETE", clusters + "/demo?etag=1", []string{"If-Match", `"2"`}, 400, "INVALID_ARGUMENT"},
		"the same":          {"DELETE", clusters + "/demo?etag=1", []string{"If-Match", `"1"`}, 200, ""},
		"header only":       {"DELETE", clusters + "/demo", []string{"If-Match", `"1"`}, 200, ""},
		"on a read":         {"GET", clusters, []string{"If-Match", `"1"`}, 200, ""},
		"zipped body":       {"POST", clusters, []string{"Content-Encoding", "gzip"}, 415, "UNSUPPORTED_MEDIA_TYPE"},
	} {
		t.Run(name, func(t *testing.T) {
			w := call(h, tc.method, tc.target, "", tc.headers...)
			if w.Code != tc.want {
				t.Fatalf("answer %d, want %d: %s", w.Code, tc.want, w.Body)
			}
			if tc.wantReason != "" && problemOf(t, w).Reason != tc.wantReason {
				t.Errorf("reason %s, want %s", problemOf(t, w).Reason, tc.wantReason)
			}
		})
	}
	for _, query := range []string{"?resumeToken=old", "?resume_token=old", ""} {
		w := call(h, "GET", clusters+":watch"+query, "", "Last-Event-ID", "new")
		if !strings.Contains(w.Body.String(), `"resumeToken":"after new"`) {
			t.Errorf("%s: the watch does not resume after the last event: %s", query, w.Body)
		}
	}
}

func TestCrossOrigin(t *testing.T) {
	for _, local := range []bool{false, true} {
		h := newGateway(t, local)
		for origin, allowed := range map[string]bool{"https://app.example.org": true, "https://evil.example": false, "https://example.org.evil.example": false} {
			w := call(h, "OPTIONS", "http://localhost:8888"+clusters, "", "Origin", origin, "Access-Control-Request-Method", "PATCH", "Access-Control-Request-Headers", "authorization,if-match")
			if got := w.Header().Get("Access-Control-Allow-Origin"); (got == origin) != allowed {
				t.Errorf("preflight from %s is answered %q", origin, got)
			}
			w = call(h, "GET", "http://localhost:8888"+clusters, "", "Origin", origin)
			if got := w.Header().Get("Access-Control-Allow-Origin"); (got == origin) != allowed || allowed && (w.Code != 200 || !strings.Contains(w.Header().Get("Access-Control-Expose-Headers"), "Etag")) {
				t.Errorf("a call from %s is answered %d %v", origin, w.Code, w.Header())
			}
		}
	}
}

func TestLongAnswersAreCompressed(t *testing.T) {
	h := newGateway(t, false)
	long := strings.Replace(good, `"name":"demo"`, `"name":"demo","annotations":{"a":"`+strings.Repeat("x", 200<<10)+`"}`, 1)
	for name, tc := range map[string]struct {
		body, accept string
		want         bool
	}{"long": {long, "gzip", true}, "short": {good, "gzip", false}, "not asked for": {long, "", false}} {
		w := call(h, "POST", clusters, tc.body, "Accept-Encoding", tc.accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; w.Code != 201 || got != tc.want {
			t.Fatalf("%s: answer %d, compressed %t", name, w.Code, got)
		}
		if tc.want {
			zipped, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(zipped); err != nil || !strings.Contains(string(text), `"name":"demo"`) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// slowReader is a connection that shows which deadlines stood when it was written to.
type slowReader struct {
	httptest.ResponseRecorder
	deadlines, longest int
}

func (s *slowReader) SetWriteDeadline(time.Time) error { s.deadlines++; return nil }
func (s *slowReader) Write(p []byte) (int, error) {
	s.longest = max(s.longest, len(p))
	return s.ResponseRecorder.Write(p)
}

// One deadline for a whole body cut off everybody who takes a long list slowly but steadily.
func TestEachPartOfABodyHasItsOwnTime(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	w := &slowReader{ResponseRecorder: *httptest.NewRecorder()}
	h := rest.New(rest.Options{APIs: []rest.API{{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n, err := io.WriteString(w, long); n != len(long) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	})}}})
	h.ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
	if w.Body.Len() != len(long) || w.longest > 64<<10 || w.deadlines < len(long)/(64<<10) {
		t.Errorf("%d bytes in parts of up to %d with %d deadlines", w.Body.Len(), w.longest, w.deadlines)
	}
}

func TestMetricsAreByRoute(t *testing.T) {
	h := newGateway(t, false)
	for _, target := range []string{clusters, "/apis/v2/namespaces/other/clusters", "/nothing/1", "/nothing/2", "/readyz"} {
		call(h, "GET", target, "")
	}
	call(h, "BREW", clusters, "")
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(h.(*rest.Server))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, m := range families[0].GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetValue())
		}
		got[strings.Join(labels, " ")] = m.GetHistogram().GetSampleCount()
	}
	want := map[string]uint64{
		"200 GET /apis/v2/namespaces/{namespace}/clusters": 2, "404 GET other": 2, "200 GET /readyz": 1, "405 other other": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests by code, method and route (-want +got):\n%s", diff)
	}
}

// blocking is a client that reads nothing until take allows it.
type blocking struct {
	*httptest.ResponseRecorder
	begun, take chan struct{}
}

func (b blocking) Write(p []byte) (int, error) {
	select {
	case b.begun <- struct{}{}:
	default:
	}
	<-b.take
	return b.ResponseRecorder.Write(p)
}

// The bytes of a page count until the client has them.
func TestRoomForPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		object := fmt.Sprintf(`{"metadata":{"name":"a","annotations":{"a":%q}}}`, strings.Repeat("x", 700<<10))
		item, err := store.ParseItem([]byte(object))
		if err != nil {
			t.Fatal(err)
		}
		h := build(t, full{page: &store.Page{Items: []*store.Item{item}}}, false, flowcontrol.Limits{CallerBytes: 1 << 20}, authn.NewAnyone())
		stalled := blocking{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(stalled, httptest.NewRequest(http.MethodGet, clusters+"?view=FULL", nil))
		}()
		<-stalled.begun
		if w := call(h, "GET", clusters+"?view=FULL", ""); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "TOO_MANY_BYTES") || w.Header().Get("Retry-After") == "" {
			t.Errorf("beside a page that is not taken: %d %.200s", w.Code, w.Body)
		}
		close(stalled.take)
		<-done
		for range 3 {
			if w := call(h, "GET", clusters+"?view=FULL", ""); w.Code != http.StatusOK || w.Body.Len() < len(object) {
				t.Errorf("after it: %d, %d bytes", w.Code, w.Body.Len())
			}
		}
	})
}
