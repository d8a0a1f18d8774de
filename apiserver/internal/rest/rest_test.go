package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	kuberest "k8s.io/client-go/rest"
	fakerest "k8s.io/client-go/rest/fake"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/profile"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rest"
	restv2 "github.com/raygate/raygate/apiserver/internal/rest/v2"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// stub is a store that keeps nothing: what is created exists at once and nothing else does, but for an object with the name there. As the API
// server does, it refuses fields outside of its schema when asked to, but knows one that the gateway does not: spec.newer.
type stub struct{ resource.Store }

func stored(obj map[string]any, strict bool) (*store.Item, error) {
	spec, _ := obj["spec"].(map[string]any)
	if _, known := spec["newer"]; strict && !known {
		return nil, apierrors.NewBadRequest(`strict decoding error: unknown field "x"`)
	}
	if meta, ok := obj["metadata"].(map[string]any); ok {
		meta["resourceVersion"] = "7"
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return store.ParseItem(data)
}

func (stub) Create(_ context.Context, obj *store.Object, o store.CreateOptions) (*store.Item, error) {
	return stored(obj.Object, o.Strict)
}

func (stub) Get(_ context.Context, key types.NamespacedName, _ store.ReadOptions) (*store.Item, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: "ray.io", Resource: "rayclusters"}, key.Name)
}

func (stub) List(context.Context, store.ListOptions) (*store.Page, error) {
	return &store.Page{Version: "9"}, nil
}

func (stub) Version(types.NamespacedName, string) *store.Item { return nil }

func (stub) Read(_ context.Context, key types.NamespacedName) (*store.Item, error) {
	item, err := store.ParseItem([]byte(strings.Replace(good, `"name":"demo"`, `"name":"demo","namespace":"default","resourceVersion":"7"`, 1)))
	return item, err
}

func (stub) Replace(_ context.Context, obj *store.Object, _ *store.Item, o store.WriteOptions) (*store.Item, error) {
	return stored(obj.Object, o.Strict)
}

func (s stub) Patch(ctx context.Context, key types.NamespacedName, _ map[string]any, o store.PatchOptions) (*store.Item, error) {
	if o.Strict {
		return stored(map[string]any{}, true)
	}
	return s.Read(ctx, key)
}

func (stub) Delete(context.Context, types.NamespacedName, store.DeleteOptions) (types.UID, error) {
	return "uid", nil
}

func (stub) Age() time.Duration { return 0 }

func (stub) Watch(_ context.Context, o store.WatchOptions, send func(store.Event) error) error {
	if o.ResumeToken != "" {
		return send(store.Event{Type: store.Synced, Token: "after " + o.ResumeToken})
	}
	item, err := store.ParseItem([]byte(`{"metadata":{"name":"demo"}}`))
	if err != nil {
		return err
	}
	if err := send(store.Event{Type: store.Added, Item: item, Token: "t1"}); err != nil {
		return err
	}
	if err := send(store.Event{Type: store.Synced, Token: "t2"}); err != nil {
		return err
	}
	return store.ErrSlowWatcher
}

// newGateway returns the REST server over the real service and interceptors, and the stub.
func newGateway(tb testing.TB, local bool) http.Handler {
	tb.Helper()
	return build(tb, stub{}, local, flowcontrol.Limits{}, authn.NewAnyone())
}

func newGatewayFor(tb testing.TB, limits flowcontrol.Limits, who authn.Identifier) http.Handler {
	tb.Helper()
	return build(tb, stub{}, false, limits, who)
}

func build(tb testing.TB, s resource.Store, local bool, limits flowcontrol.Limits, who authn.Identifier) http.Handler {
	tb.Helper()
	table := rpcstatus.NewTable(service.StatusRows()...)
	options := func(s resource.Store) resource.Options {
		return resource.Options{In: func(string) (resource.Store, error) { return s, nil }, Authorizer: authz.AllowAll{}, Warn: interceptor.AddWarning}
	}
	conn := interceptor.NewChannel(interceptor.Chain([]interceptor.Interceptor{
		interceptor.RequestID(), interceptor.Errors(table), interceptor.Warnings(), interceptor.Recovery(),
	}))
	dashboards, err := dashboardproxy.New(dashboardproxy.Options{Caller: &kuberest.Config{}, Authorizer: authz.AllowAll{}, Cluster: func(ctx context.Context, key types.NamespacedName) (*store.Item, error) {
		return s.Get(ctx, key, store.ReadOptions{})
	}})
	if err != nil {
		tb.Fatal(err)
	}
	none := &fakerest.RESTClient{NegotiatedSerializer: clientgoscheme.Codecs.WithoutConversion(), Client: fakerest.CreateHTTPClient(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody}, nil
	})}
	resources := service.Resources{Profiles: &profile.Reader{Core: none, Authorizer: authz.AllowAll{}}}
	for i, kind := range service.Kinds {
		of := options(stub{})
		if i == 0 {
			of = options(s)
		}
		resources.Kinds = append(resources.Kinds, resource.New(kind, of))
	}
	service.RegisterAll(conn, resources, dashboards, store.NewTokens(nil, nil))
	api, err := restv2.New(restv2.Options{
		Conn: conn, Dashboards: dashboards, Package: service.PutPackage(resources, dashboards),
		FlowControl: flowcontrol.New(flowcontrol.Options{Identifier: who, Table: table, Limits: limits}),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rest.New(rest.Options{
		APIs: []rest.API{
			{Prefix: restv2.Prefix, Handler: api, WriteError: api.WriteError},
			{Prefix: restv2.PagePrefix, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }), WriteError: api.WriteError, AnyOrigin: true},
		},
		OpenAPI: []byte(`{}`), Origins: []string{"https://*.example.org"},
		Checks: []rest.Check{{Name: "cache", Run: func() (string, error) { return "last contact 3s ago", nil }}}, Local: local,
	})
}

const (
	clusters = "/apis/v2/namespaces/default/clusters"
	good     = `{"metadata":{"name":"demo"},"spec":{"rayVersion":"2.46.0","headGroupSpec":{"rayStartParams":{},"template":{"spec":{"containers":[{"name":"ray-head","image":"rayproject/ray:2.46.0"}]}}}}}`
	goodYAML = "metadata: {name: demo}\nspec:\n  rayVersion: 2.46.0\n  headGroupSpec:\n    rayStartParams: {}\n    template: {spec: {containers: [{name: ray-head, image: 'rayproject/ray:2.46.0'}]}}\n"
)

// call sends a request as curl would and returns the answer.
func call(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// problem is the part of an error that tests look at.
type problem struct {
	Code    int
	Reason  string
	Fields  []string
	Message string
}

func problemOf(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	var st struct {
		Code    int
		Message string
		Details []struct {
			Type            string `json:"@type"`
			Reason          string
			FieldViolations []struct{ Field string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &st); err != nil {
		t.Fatalf("answer %d is no JSON: %v\n%s", w.Code, err, w.Body)
	}
	p := problem{Code: w.Code, Message: st.Message}
	for _, d := range st.Details {
		switch d.Type {
		case "type.googleapis.com/google.rpc.ErrorInfo":
			p.Reason = d.Reason
		case "type.googleapis.com/google.rpc.BadRequest":
			for _, v := range d.FieldViolations {
				p.Fields = append(p.Fields, v.Field)
			}
		}
	}
	if st.Code == 0 || st.Message == "" || p.Reason == "" {
		t.Errorf("incomplete error: %s", w.Body)
	}
	return p
}

func TestNonsenseGetsAClearAnswer(t *testing.T) {
	h := newGateway(t, false)
	js := []string{"Content-Type", "application/json"}
	type want struct {
		Code   int
		Reason string
		Fields []string
	}
	for name, tc := range map[string]struct {
		method, target, body string
		headers              []string
		want                 want
	}{
		"empty body":         {"POST", clusters, "", js, want{400, "MALFORMED_BODY", []string{""}}},
		"blank body":         {"POST", clusters, " \n ", js, want{400, "MALFORMED_BODY", []string{""}}},
		"not JSON":           {"POST", clusters, "{", js, want{400, "MALFORMED_BODY", []string{""}}},
		"wrong shape":        {"POST", clusters, "[]", js, want{400, "MALFORMED_BODY", []string{""}}},
		"unknown field":      {"POST", clusters, `{"spec":{"workers":1},"x":2}`, js, want{400, "MALFORMED_BODY", []string{"spec.workers", "x"}}},
		"wrong case":         {"POST", clusters, `{"Spec":{}}`, js, want{400, "MALFORMED_BODY", []string{"Spec"}}},
		"wrong type":         {"POST", clusters, `{"spec":{"suspend":"yes"}}`, js, want{400, "MALFORMED_BODY", []string{"spec.suspend", "metadata.name"}}},
		"duplicate key":      {"POST", clusters, `{"kind":"RayCluster","kind":"RayJob"}`, js, want{400, "MALFORMED_BODY", []string{"kind", "metadata.name", "spec"}}},
		"invalid UTF-8":      {"POST", clusters, "{\"kind\":\"\xff\"}", js, want{Code: 400, Reason: "MALFORMED_BODY"}},
		"deep nesting":       {"POST", clusters, strings.Repeat(`{"spec":`, 100000), js, want{Code: 400, Reason: "MALFORMED_BODY"}},
		"YAML bomb":          {"POST", clusters, "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g]\n", []string{"Content-Type", "application/yaml"}, want{Code: 400, Reason: "MALFORMED_BODY"}},
		"10 MiB":             {"POST", clusters, strings.Repeat("x", 10<<20), js, want{413, "TOO_LARGE", nil}},
		"image":              {"POST", clusters, "x", []string{"Content-Type", "image/png"}, want{415, "UNSUPPORTED_MEDIA_TYPE", nil}},
		"latin1":             {"POST", clusters, "{}", []string{"Content-Type", "application/json; charset=latin1"}, want{415, "UNSUPPORTED_MEDIA_TYPE", nil}},
		"null":               {"POST", clusters, "null", js, want{Code: 400}},
		"another kind":       {"POST", clusters, strings.Replace(good, "{", `{"apiVersion":"v1","kind":"Pod",`, 1), js, want{400, "INVALID_SPEC", []string{"kind", "apiVersion"}}},
		"another namespace":  {"POST", clusters, strings.Replace(good, `"name"`, `"namespace":"other","name"`, 1), js, want{400, "INVALID_SPEC", []string{"metadata.namespace"}}},
		"bad namespace":      {"POST", "/apis/v2/namespaces/A_B/clusters", good, js, want{400, "INVALID_ARGUMENT", []string{"namespace"}}},
		"bad request id":     {"POST", clusters + "?requestId=1", good, js, want{400, "INVALID_ARGUMENT", []string{"request_id"}}},
		"misspelt parameter": {"POST", clusters + "?validate_onli=true", good, js, want{400, "INVALID_ARGUMENT", []string{"validate_onli"}}},
		"parameter type":     {"GET", clusters + "?pageSize=many", "", nil, want{400, "INVALID_ARGUMENT", []string{"pageSize"}}},
		"parameter no bool":  {"DELETE", clusters + "/demo?validateOnly=maybe", "", nil, want{400, "INVALID_ARGUMENT", []string{"validateOnly"}}},
		"three parameters":   {"GET", clusters + "?pageSize=x&view=FULL&view=FULL&color=red", "", nil, want{400, "INVALID_ARGUMENT", []string{"color", "pageSize", "view"}}},
		"hexadecimal":        {"GET", clusters + "?pageSize=0x10", "", nil, want{400, "INVALID_ARGUMENT", []string{"pageSize"}}},
		"both names":         {"POST", clusters + "?validateOnly=true&validate_only=false", good, js, want{400, "INVALID_ARGUMENT", []string{"validate_only"}}},
		"no duration":        {"GET", clusters + "/demo:wait?for=ready&timeout=soon&x=1", "", nil, want{400, "INVALID_ARGUMENT", []string{"timeout", "x"}}},
		"part of the path":   {"GET", clusters + "?namespace=other", "", nil, want{400, "INVALID_ARGUMENT", []string{"namespace"}}},
		"seen no version":    {"GET", clusters + "/demo", "", []string{"X-Min-Resource-Version", "new"}, want{400, "INVALID_ARGUMENT", []string{"x-min-resource-version"}}},
		"negative page":      {"GET", clusters + "?pageSize=-1", "", nil, want{400, "INVALID_ARGUMENT", []string{"page_size"}}},
		"bad selector":       {"GET", clusters + "?labelSelector=%21%21", "", nil, want{400, "INVALID_ARGUMENT", []string{"label_selector"}}},
		"long selector":      {"GET", clusters + "?labelSelector=" + strings.Repeat("a,", 3<<10), "", nil, want{400, "INVALID_ARGUMENT", []string{"label_selector"}}},
		"costly filter":      {"GET", clusters + "?filter=" + strings.Repeat("status.conditions.type%3Da%20", 31), "", nil, want{400, "INVALID_ARGUMENT", []string{"filter"}}},
		"bad filter":         {"GET", clusters + "?filter=state", "", nil, want{400, "INVALID_ARGUMENT", []string{"filter"}}},
		"bad order":          {"GET", clusters + "?orderBy=color", "", nil, want{400, "INVALID_ARGUMENT", []string{"order_by"}}},
		"bad view":           {"GET", clusters + "?view=ALL", "", nil, want{400, "INVALID_ARGUMENT", []string{"view"}}},
		"bad watch":          {"GET", clusters + ":watch?view=ALL", "", nil, want{400, "INVALID_ARGUMENT", []string{"view"}}},
		"bad propagation":    {"DELETE", clusters + "/demo?propagation=x", "", nil, want{400, "INVALID_ARGUMENT", []string{"propagation"}}},
		"missing":            {"GET", clusters + "/demo", "", nil, want{404, "NOT_FOUND", nil}},
		"unknown path":       {"GET", "/apis/v9/x", "", nil, want{404, "PATH_NOT_FOUND", nil}},
		"wrong method":       {"PATCH", clusters, "{}", js, want{405, "METHOD_NOT_ALLOWED", nil}},
		"tunnelled method":   {"POST", clusters + "/demo", "x=1", []string{"Content-Type", "application/x-www-form-urlencoded", "X-HTTP-Method-Override", "DELETE"}, want{405, "METHOD_NOT_ALLOWED", nil}},
		"broken escape":      {"GET", clusters + "?filter=%zz", "", nil, want{400, "INVALID_ARGUMENT", nil}},
		"broken and pretty":  {"POST", clusters + "?pretty&validateOnly=true;x", good, js, want{400, "INVALID_ARGUMENT", nil}},
		"broken and resumed": {"GET", clusters + ":watch?skipInitial=%zz", "", []string{"Last-Event-ID", "w1.7"}, want{400, "INVALID_ARGUMENT", nil}},
		"empty If-Match":     {"DELETE", clusters + "/demo", "", []string{"If-Match", `""`}, want{400, "INVALID_ARGUMENT", []string{"etag"}}},
		"blank If-Match":     {"POST", clusters + "/demo:suspend", "", []string{"If-Match", ""}, want{400, "INVALID_ARGUMENT", []string{"etag"}}},
		"delete of a body":   {"DELETE", clusters + "/demo", `{"validateOnly":true}`, js, want{400, "MALFORMED_BODY", []string{""}}},
		"verb with a body":   {"POST", clusters + "/demo:suspend", "etag: 7", nil, want{400, "MALFORMED_BODY", []string{""}}},
		"etag of another":    {"PUT", clusters + "/demo", strings.Replace(good, `"name"`, `"resourceVersion":"1","name"`, 1), []string{"If-Match", `"2"`}, want{400, "INVALID_ARGUMENT", []string{"etag"}}},
		"etag of nothing":    {"PUT", clusters + "/demo", good, []string{"If-Match", `"x"`}, want{400, "INVALID_ARGUMENT", []string{"etag"}}},
		"etag beyond ASCII":  {"PUT", clusters + "/demo", good, []string{"If-Match", "\"é\""}, want{400, "INVALID_ARGUMENT", []string{"etag"}}},
		"no version":         {"PUT", clusters + "/demo", strings.Replace(good, `"name"`, `"resourceVersion":"x","name"`, 1), js, want{400, "INVALID_ARGUMENT", []string{"metadata.resourceVersion"}}},
		"too large version":  {"DELETE", clusters + "/demo?etag=99999999999999999999", "", nil, want{400, "INVALID_ARGUMENT", []string{"etag"}}},
		"no namespace":       {"GET", "/apis/v2/namespaces//clusters", "", nil, want{400, "INVALID_ARGUMENT", []string{"namespace"}}},
		"watch no namespace": {"GET", "/apis/v2/namespaces//clusters:watch", "", nil, want{400, "INVALID_ARGUMENT", []string{"namespace"}}},
		"long name":          {"GET", clusters + "/" + strings.Repeat("a", 5000), "", nil, want{400, "INVALID_ARGUMENT", []string{"name"}}},
		"HEAD of a watch":    {"HEAD", clusters + ":watch", "", nil, want{405, "METHOD_NOT_ALLOWED", nil}},
		"name of another":    {"PUT", clusters + "/other", good, js, want{400, "INVALID_SPEC", []string{"metadata.name"}}},
		"bad mask":           {"PATCH", clusters + "/demo?updateMask=spec.colour,status", `{"spec":{}}`, js, want{400, "INVALID_ARGUMENT", []string{"update_mask", "update_mask"}}},
		"patch of a field":   {"PATCH", clusters + "/demo", `{"spec":{"suspendd":true}}`, js, want{400, "MALFORMED_BODY", []string{"spec.suspendd"}}},
		"scale of a version": {"POST", clusters + "/demo:scale", `{"replicas":1}`, []string{"If-Match", `"9"`}, want{409, "CONFLICT", nil}},
		"apply of a version": {"POST", clusters + "/demo:apply?etag=8", `{"spec":{}}`, []string{"If-Match", `"9"`}, want{400, "INVALID_ARGUMENT", []string{"etag"}}},
		"group not there":    {"POST", clusters + "/demo:scale", `{"replicas":1}`, js, want{400, "WRONG_STATE", nil}},
		"nothing to scale":   {"POST", clusters + "/demo:scale", `{}`, js, want{400, "INVALID_ARGUMENT", []string{"replicas"}}},
		"unknown verb":       {"POST", clusters + "/demo:fly", "", nil, want{404, "PATH_NOT_FOUND", nil}},
		"verb of others":     {"POST", "/apis/v2/namespaces/default/jobs/demo:scale", `{}`, js, want{404, "PATH_NOT_FOUND", nil}},
		"wait for what":      {"GET", clusters + "/demo:wait?for=lunch", "", nil, want{400, "INVALID_ARGUMENT", []string{"for"}}},
		"wait too long":      {"GET", clusters + "/demo:wait?for=ready&timeout=3600s", "", nil, want{400, "INVALID_ARGUMENT", []string{"timeout"}}},
		"wait for nothing":   {"GET", clusters + "/demo:wait?for=ready", "", nil, want{404, "NOT_FOUND", nil}},
		"cluster as a job":   {"POST", "/apis/v2/namespaces/default/jobs", good, js, want{Code: 400, Reason: "MALFORMED_BODY"}},
		"form and content":   {"POST", clusters, strings.Replace(strings.Replace(good, `"image"`, `"imag":1,"image"`, 1), `"rayVersion"`, `"rayVersoin":"2","workerGroupSpecs":[{"groupName":"a","minReplicas":-1,"template":{"spec":{"containers":[{"name":"w","image":"i"}]}}}],"rayVersion"`, 1), js, want{400, "MALFORMED_BODY", []string{"spec.headGroupSpec.template.spec.containers[0].imag", "spec.rayVersoin", "spec.workerGroupSpecs[0].minReplicas"}}},
		"rules and the form": {"POST", clusters, `{"metadata":{"name":"demo"},"spec":{"workerGroupSpecs":[{"groupName":"a","replicas":-1}]}}`, js, want{Code: 400, Reason: "INVALID_SPEC"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := call(h, tc.method, tc.target, tc.body, tc.headers...)
			p := problemOf(t, w)
			got := want{p.Code, p.Reason, p.Fields}
			if tc.want.Reason == "" {
				got.Reason = ""
			}
			if tc.want.Fields == nil {
				got.Fields = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s\n%s", diff, w.Body)
			}
			if w.Code == http.StatusMethodNotAllowed && w.Header().Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if strings.Contains(p.Message, "strconv") || len(p.Message) > 1000 {
				t.Errorf("message %q is about Go or too long", p.Message)
			}
			if w.Header().Get("X-Request-Id") == "" {
				t.Error("no request id")
			}
		})
	}
}

func TestGoodRequests(t *testing.T) {
	h := newGateway(t, false)
	for name, tc := range map[string]struct {
		method, target, body string
		headers              []string
		wantCode             int
		wantType, wantBody   string
		wantETag             string
	}{
		"create JSON":           {"POST", clusters, good, []string{"Content-Type", "application/json"}, 201, "application/json", `"name":"demo"`, `"7"`},
		"create as curl -d":     {"POST", clusters, good, []string{"Content-Type", "application/x-www-form-urlencoded"}, 201, "application/json", `"name":"demo"`, `"7"`},
		"create YAML by curl":   {"POST", clusters, goodYAML, []string{"Content-Type", "application/x-www-form-urlencoded"}, 201, "application/json", `"name":"demo"`, `"7"`},
		"create without type":   {"POST", clusters, goodYAML, nil, 201, "application/json", `"name":"demo"`, `"7"`},
		"YAML in, YAML out":     {"POST", clusters, goodYAML, []string{"Content-Type", "text/yaml", "Accept", "application/yaml"}, 201, "application/yaml", "name: demo", `"7"`},
		"pretty":                {"POST", clusters + "?pretty", good, nil, 201, "application/json", "\n  \"metadata\"", `"7"`},
		"replace with If-Match": {"PUT", clusters + "/demo", good, []string{"If-Match", `W/"7"`}, 200, "application/json", `"name":"demo"`, `"7"`},
		"newer than we are":     {"POST", clusters, strings.Replace(good, `"spec":{`, `"spec":{"newer":{"a":1},`, 1), nil, 201, "application/json", `"newer":{"a":1}`, `"7"`},
		"newer, by YAML":        {"PUT", clusters + "/demo?allowOverwrite=true", strings.Replace(goodYAML, "spec:", "spec:\n  newer: {a: 1}", 1), []string{"Content-Type", "application/yaml", "Accept", "application/yaml"}, 200, "application/yaml", "newer:\n    a: 1", `"7"`},
		"update":                {"PATCH", clusters + "/demo", `{"spec":{"suspend":true}}`, nil, 200, "application/json", `"name":"demo"`, `"7"`},
		"update by mask":        {"PATCH", clusters + "/demo?updateMask=spec.suspend,metadata.labels", `{"spec":{"suspend":true}}`, nil, 200, "application/json", `"name":"demo"`, `"7"`},
		"suspend":               {"POST", clusters + "/demo:suspend?validateOnly=true", "", nil, 200, "application/json", `"name":"demo"`, `"7"`},
		"suspend with a body":   {"POST", clusters + "/demo:suspend", "{}", nil, 200, "application/json", `"name":"demo"`, `"7"`},
		"YAML by its weight":    {"GET", clusters, "", []string{"Accept", "application/json;q=0.5, application/yaml"}, 200, "application/yaml", "kind: RayClusterList", ""},
		"YAML refused":          {"GET", clusters, "", []string{"Accept", "application/yaml;q=0, application/json"}, 200, "application/json", `"kind":"RayClusterList"`, ""},
		"odd text as YAML":      {"POST", clusters, strings.Replace(good, `"name"`, "\"annotations\":{\"a\":\"x\x7f\u0085\ufffey\"},\"name\"", 1), []string{"Accept", "application/yaml"}, 201, "application/yaml", `a: "x\x7F\N\uFFFEy"`, `"7"`},
		"list":                  {"GET", clusters, "", []string{"Accept", "text/html, */*;q=0.1"}, 200, "application/json", `"kind":"RayClusterList"`, ""},
		"delete":                {"DELETE", clusters + "/demo", "", nil, 200, "application/json", `{"uid":"uid"}`, ""},
		"live":                  {"GET", "/livez", "", nil, 200, "text/plain; charset=utf-8", "ok", ""},
		"ready":                 {"GET", "/readyz?verbose", "", nil, 200, "text/plain; charset=utf-8", "ok\n", ""},
		"docs":                  {"GET", "/docs", "", nil, 200, "text/html; charset=utf-8", "raygate API", ""},
		"openapi":               {"GET", "/openapi/v3.json", "", nil, 200, "application/json", "{}", ""},
		"watch":                 {"GET", clusters + ":watch", "", nil, 200, "application/x-ndjson", "{\"type\":\"SYNCED\",\"resumeToken\":\"t2\"}\n{\"error\":{\"code\":8,", ""},
		"watch as SSE":          {"GET", "/apis/v2/clusters:watch", "", []string{"Accept", "text/event-stream"}, 200, "text/event-stream", "id: t2\nevent: SYNCED\ndata: {\"type\":\"SYNCED\"", ""},
		"watch of jobs as SSE":  {"GET", "/apis/v2/namespaces/default/jobs:watch", "", []string{"Accept", "text/event-stream"}, 200, "text/event-stream", "id: t1\nevent: ADDED\ndata: {\"type\":\"ADDED\",\"resumeToken\":\"t1\",\"job\":{\"metadata\":{\"name\":\"demo\"}}}\n\nid: t2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := call(h, tc.method, tc.target, tc.body, tc.headers...)
			if w.Code != tc.wantCode || w.Header().Get("Content-Type") != tc.wantType || w.Header().Get("ETag") != tc.wantETag {
				t.Errorf("answer %d %q ETag %q, want %d %q %q\n%s", w.Code, w.Header().Get("Content-Type"), w.Header().Get("ETag"), tc.wantCode, tc.wantType, tc.wantETag, w.Body)
			}
			if !strings.Contains(w.Body.String(), tc.wantBody) {
				t.Errorf("body has no %q:\n%s", tc.wantBody, w.Body)
			}
		})
	}
}

func TestLocalGatewayRefusesOtherSites(t *testing.T) {
	h := newGateway(t, true)
	for name, tc := range map[string]struct {
		host, origin, site string
		want               int
	}{
		"curl":                {"localhost:8888", "", "", 200},
		"loopback address":    {"127.0.0.1:8888", "", "", 200},
		"IPv6":                {"[::1]:8888", "", "", 200},
		"own page":            {"localhost:8888", "http://localhost:8888", "same-origin", 200},
		"another site":        {"localhost:8888", "https://evil.example", "cross-site", 403},
		"a form without CORS": {"localhost:8888", "", "cross-site", 403},
		"another port":        {"localhost:8888", "http://localhost:3000", "same-site", 403},
		"sandboxed page":      {"localhost:8888", "null", "", 403},
		"DNS rebinding":       {"evil.example:8888", "http://evil.example:8888", "same-origin", 403},
		// Requests of a dashboard page below its ticket, and the links to it, have an opaque origin.
		"page of a dashboard": {"localhost:8888/dashboards/x/a", "null", "cross-site", 418},
		"its DNS rebinding":   {"evil.example:8888/dashboards/x/a", "null", "cross-site", 403},
	} {
		t.Run(name, func(t *testing.T) {
			target := "http://" + tc.host
			if !strings.Contains(tc.host, "/") {
				target += clusters
			}
			r := httptest.NewRequest("GET", target, nil)
			for k, v := range map[string]string{"Origin": tc.origin, "Sec-Fetch-Site": tc.site} {
				if v != "" {
					r.Header.Set(k, v)
				}
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tc.want {
				t.Errorf("answer %d, want %d", w.Code, tc.want)
			}
		})
	}
}

// FuzzREST: no body, type or query makes the server fail.
func FuzzREST(f *testing.F) {
	h := newGateway(f, false)
	for _, body := range []string{good, goodYAML, `{"spec":null}`, `{"spec":{"workerGroupSpecs":[null]}}`, "a: &a [*a]", "\xff", "{\"metadata\":{\"labels\":{\"a\":null}}}"} {
		for _, contentType := range []string{"application/json", "application/yaml", ""} {
			f.Add(body, contentType, "validateOnly=true", uint8(0))
		}
	}
	f.Add(good, "", "updateMask=spec.suspend,metadata.labels[a.b]", uint8(4))
	f.Add(good, "", "fieldManager=x&force=true", uint8(5))
	f.Add(`{"replicas":1,"workerGroup":"a"}`, "", "", uint8(6))
	f.Add("", "", "for=condition=A=B&timeout=1s", uint8(7))
	f.Add("", "", "filter=%28&pageToken=AAAA&labelSelector=a&orderBy=x&view=FULL", uint8(2))
	f.Fuzz(func(t *testing.T, body, contentType, query string, which uint8) {
		targets := []struct{ method, path string }{{"POST", clusters}, {"PUT", clusters + "/demo"}, {"GET", clusters}, {"DELETE", clusters + "/demo"}, {"PATCH", clusters + "/demo"}, {"POST", clusters + "/demo:apply"}, {"POST", clusters + "/demo:scale"}, {"GET", clusters + "/demo:wait"}, {"POST", "/apis/v2/namespaces/default/jobs"}}
		target := targets[int(which)%len(targets)]
		r := httptest.NewRequest(target.method, target.path, io.NopCloser(bytes.NewReader([]byte(body))))
		r.URL.RawQuery = query
		r.Header["Content-Type"] = []string{contentType}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("answer %d to %s", w.Code, fmt.Sprintf("%q %q %q:\n%s", body, contentType, query, w.Body))
		}
	})
}

// HTTP demands HEAD wherever there is GET; monitors and caches use it.
func TestHeadIsGetWithoutABody(t *testing.T) {
	server := httptest.NewServer(newGateway(t, false))
	defer server.Close()
	resp, err := http.Head(server.URL + clusters)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) != 0 {
		t.Errorf("body %q, error %v; want none", body, err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "application/json" {
		t.Errorf("answer %d %q, want 200 application/json", resp.StatusCode, got)
	}
}

// modified is a stub in which one object changes.
type modified struct {
	stub
	item *store.Item
}

func (m modified) Watch(_ context.Context, _ store.WatchOptions, send func(store.Event) error) error {
	return send(store.Event{Type: store.Modified, Item: m.item, Token: "t9"})
}

// A change is the same to all watchers, the first who has it encoded and those who get that.
func TestChangesByREST(t *testing.T) {
	item, err := store.ParseItem([]byte(`{"metadata":{"name":"demo"},"spec":{"rayVersion":"2","headGroupSpec":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	h := build(t, modified{item: item}, false, flowcontrol.Limits{}, authn.NewAnyone())
	for view, object := range map[string]string{"FULL": `{"metadata":{"name":"demo"},"spec":{"rayVersion":"2","headGroupSpec":{}}}`, "BASIC": `{"metadata":{"name":"demo"},"spec":{"rayVersion":"2"}}`} {
		line := `{"type":"MODIFIED","resumeToken":"t9","cluster":` + object + "}\n"
		for accept, want := range map[string]string{"application/json": line, "text/event-stream": "id: t9\nevent: MODIFIED\ndata: " + line + "\n"} {
			for range 2 {
				if got := call(h, "GET", clusters+":watch?view="+view, "", "Accept", accept).Body.String(); got != want {
					t.Errorf("%s as %s: %q, want %q", view, accept, got, want)
				}
			}
		}
	}
}
