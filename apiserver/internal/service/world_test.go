package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"gocloud.dev/blob/memblob"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	kuberest "k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/packages"
	"github.com/raygate/raygate/apiserver/internal/profile"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rest"
	restv2 "github.com/raygate/raygate/apiserver/internal/rest/v2"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/history"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/test/raysim"
)

// world is a gateway behind which stand an API server of a few paths and a simulated Ray.
type world struct {
	ray         *raysim.Cluster
	http        *httptest.Server
	jobs        raygatev2.JobServiceClient
	services    raygatev2.ServeServiceClient
	cronJobs    raygatev2.CronJobServiceClient
	submissions raygatev2.SubmissionServiceClient
	history     raygatev2.HistoryServiceClient
	past        *history.Store
	pages       *dashboardproxy.Pages

	mu       sync.Mutex
	objects  map[string]any    // kind/name -> object
	secrets  map[string]string // name -> token
	pods     []corev1.Pod
	events   []corev1.Event
	kueue    map[string]any // path -> object
	podLog   http.HandlerFunc
	down     bool
	denied   map[string]bool // verb resource/subresource
	requests []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{objects: map[string]any{}, secrets: map[string]string{}, denied: map[string]bool{}, past: history.New(memblob.OpenBucket(nil), history.Limits{})}
	var err error
	if w.ray, err = raysim.New(raysim.Options{Dir: t.TempDir(), Poll: 5 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.ray.Close)
	kube := httptest.NewServer(http.HandlerFunc(w.kubernetes))
	t.Cleanup(kube.Close)
	config := authn.CallerConfig(&kuberest.Config{Host: kube.URL, QPS: -1}, authn.None)
	core, err := store.NewClient(config, clientscheme.Scheme, corev1.SchemeGroupVersion, nil)
	if err != nil {
		t.Fatal(err)
	}
	profiles := &profile.Reader{Core: core, Authorizer: w, Namespace: "platform"}
	options := func(kind resource.Kind) resource.Options {
		return resource.Options{
			In: func(string) (resource.Store, error) { return objects{w, kind.Checks.Kind}, nil }, Authorizer: w, Core: core,
			Warn: func(context.Context, string) {}, Profiles: profiles,
		}
	}
	proxy, err := dashboardproxy.New(dashboardproxy.Options{Caller: config, Core: core, Authorizer: w, Cluster: func(ctx context.Context, key types.NamespacedName) (*store.Item, error) {
		return objects{w, "RayCluster"}.Get(ctx, key, store.ReadOptions{})
	}, KubernetesProxy: true})
	if err != nil {
		t.Fatal(err)
	}
	table := rpcstatus.NewTable(service.StatusRows()...)
	chain := interceptor.Chain([]interceptor.Interceptor{interceptor.RequestID(), interceptor.Errors(table), interceptor.Warnings(), interceptor.Recovery()})
	entry, channel := flowcontrol.New(flowcontrol.Options{Identifier: authn.NewAnyone(), Table: table, MaxBody: 4 << 20}), interceptor.NewChannel(chain)
	server := grpc.NewServer(entry.ServerOptions()...)
	tokens := store.NewTokens(nil, nil)
	kept := packages.New(packages.Options{
		Bucket: history.NewBucket(memblob.OpenBucket(nil), 0), URL: &url.URL{Scheme: "https", Host: "gateway.example:8888"}, MaxSize: 1 << 20, NamespaceSize: 1 << 20, Keep: time.Hour,
		Jobs: func(context.Context, string) ([]*store.Item, error) { return nil, nil },
	})
	var resources service.Resources
	for _, s := range []grpc.ServiceRegistrar{channel, entry.Registrar(server, chain.Unary, chain.Stream)} {
		resources = service.Resources{History: w.past, Profiles: profiles, Packages: kept}
		for _, kind := range service.Kinds {
			resources.Kinds = append(resources.Kinds, resource.New(kind, options(kind)))
		}
		service.RegisterAll(s, resources, proxy, tokens)
	}
	conn := connect(t, server)
	w.jobs, w.cronJobs, w.submissions = raygatev2.NewJobServiceClient(conn), raygatev2.NewCronJobServiceClient(conn), raygatev2.NewSubmissionServiceClient(conn)
	w.services, w.history = raygatev2.NewServeServiceClient(conn), raygatev2.NewHistoryServiceClient(conn)
	w.pages = dashboardproxy.NewPages(proxy, nil)
	w.pages.Past = service.NewPast(resources, proxy, fstest.MapFS{"index.html": {Data: []byte("<!doctype html><p>")}, "static/a.js": {Data: []byte("1")}})
	api, err := restv2.New(restv2.Options{Conn: channel, Dashboards: proxy, Past: w.pages.Past, Pages: w.pages, Package: service.PutPackage(resources, proxy), FlowControl: entry})
	if err != nil {
		t.Fatal(err)
	}
	w.http = httptest.NewServer(rest.New(rest.Options{APIs: []rest.API{
		{Prefix: restv2.Prefix, Handler: api, WriteError: api.WriteError},
		{Prefix: restv2.PagePrefix, Handler: http.HandlerFunc(api.ServePages), WriteError: api.WriteError, AnyOrigin: true},
	}}))
	t.Cleanup(w.http.Close)
	rc := raytest.RayCluster("default/demo")
	rc.Status.State, rc.Status.Head.ServiceName, rc.Status.ObservedGeneration = rayv1.ClusterStateReady, "demo-head-svc", rc.Generation
	w.put("RayCluster", rc)
	return w
}

// connect serves server and returns a connection to it.
func connect(t *testing.T, server *grpc.Server) *grpc.ClientConn {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// put stores an object.
func (w *world) put(kind string, obj metav1.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[kind+"/"+obj.GetName()] = obj
}

// change does something to the world while others look at it.
func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// job stores a RayJob in a state of its life.
func (w *world) job(state rayv1.JobDeploymentStatus, ray rayv1.JobStatus, edits ...func(*rayv1.RayJob)) {
	j := &rayv1.RayJob{TypeMeta: metav1.TypeMeta{Kind: "RayJob"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train", UID: "u", ResourceVersion: "5", Generation: 1}}
	j.Spec.Entrypoint, j.Spec.RayClusterSpec = "x", &raytest.RayCluster("x/y").Spec
	j.Status = rayv1.RayJobStatus{JobDeploymentStatus: state, JobStatus: ray, JobId: "train-1", RayClusterName: "demo", ObservedGeneration: 1}
	for _, edit := range edits {
		edit(j)
	}
	w.put("RayJob", j)
}

// Authorize implements authz.Authorizer.
func (w *world) Authorize(_ context.Context, a authz.Access) error {
	what := a.Verb + " " + a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.denied[what] {
		return apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name, fmt.Errorf("you may not %s", what))
	}
	return nil
}

// kubernetes is the API server.
func (w *world) kubernetes(rw http.ResponseWriter, r *http.Request) {
	path, _ := strings.CutPrefix(r.URL.EscapedPath(), "/api/v1/namespaces/default/")
	w.mu.Lock()
	w.requests = append(w.requests, r.Method+" "+path)
	down, pods, events, podLog, token := w.down, w.pods, w.events, w.podLog, w.secrets[strings.TrimPrefix(path, "secrets/")]
	w.mu.Unlock()
	answer := func(code int, v any) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(code)
		_ = json.NewEncoder(rw).Encode(v)
	}
	refuse := func(err *apierrors.StatusError) { answer(int(err.ErrStatus.Code), err.ErrStatus) }
	switch {
	case strings.HasPrefix(path, "services/demo-head-svc:dashboard/proxy/"):
		if down {
			refuse(apierrors.NewServiceUnavailable("no endpoints available for service"))
			return
		}
		r.URL.RawPath = strings.TrimPrefix(path, "services/demo-head-svc:dashboard/proxy")
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/default/services/demo-head-svc:dashboard/proxy")
		w.ray.ServeHTTP(rw, r)
	case strings.HasPrefix(path, "secrets/") && token == "forbidden":
		refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, strings.TrimPrefix(path, "secrets/"), fmt.Errorf("no")))
	case strings.HasPrefix(path, "secrets/") && token != "":
		answer(200, corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: map[string][]byte{"auth_token": []byte(token)}})
	case w.kueue[path] == "forbidden":
		refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "workloads"}, "", fmt.Errorf("no")))
	case w.kueue[path] != nil:
		answer(200, w.kueue[path])
	case path == "pods":
		answer(200, corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: pods})
	case path == "events":
		answer(200, corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: events})
	case strings.HasSuffix(path, "/log") && podLog != nil:
		podLog(rw, r)
	default:
		refuse(apierrors.NewNotFound(schema.GroupResource{Resource: strings.Split(path, "/")[0]}, path))
	}
}

// objects is a store of one kind.
type objects struct {
	*world
	kind string
}

// Get implements resource.Store.
func (o objects) Get(_ context.Context, key types.NamespacedName, _ store.ReadOptions) (*store.Item, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	obj, ok := o.objects[o.kind+"/"+key.Name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: "ray.io", Resource: strings.ToLower(o.kind) + "s"}, key.Name)
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return store.ParseItem(data)
}

// Create implements resource.Store.
func (o objects) Create(_ context.Context, obj *store.Object, c store.CreateOptions) (*store.Item, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects[o.kind+"/"+obj.GetName()] != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Group: "ray.io", Resource: "rayjobs"}, obj.GetName())
	}
	if !c.DryRun {
		o.objects[o.kind+"/"+obj.GetName()] = obj.Object
	}
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	return store.ParseItem(data)
}

// List implements resource.Store.
func (o objects) List(ctx context.Context, l store.ListOptions) (*store.Page, error) {
	page := &store.Page{}
	if item, err := o.Get(ctx, types.NamespacedName{Name: "train"}, store.ReadOptions{}); err == nil && l.Selector.Matches(labels.Set(item.Labels)) {
		page.Items = append(page.Items, item)
	}
	return page, nil
}

// The rest of resource.Store is not called.
func (o objects) Watch(context.Context, store.WatchOptions, func(store.Event) error) error {
	panic("")
}
func (o objects) Read(ctx context.Context, key types.NamespacedName) (*store.Item, error) {
	return o.Get(ctx, key, store.ReadOptions{})
}
func (o objects) Version(types.NamespacedName, string) *store.Item { return nil }
func (o objects) Replace(context.Context, *store.Object, *store.Item, store.WriteOptions) (*store.Item, error) {
	panic("")
}
func (o objects) Patch(context.Context, types.NamespacedName, map[string]any, store.PatchOptions) (*store.Item, error) {
	panic("")
}
func (o objects) Delete(context.Context, types.NamespacedName, store.DeleteOptions) (types.UID, error) {
	panic("")
}
func (o objects) Age() time.Duration { return 0 }

const base = "/apis/v2/namespaces/default/"

// send sends a request by REST, to a path below base or one with a slash, and returns the status, the header and all of the body; err says that the body broke off.
func (w *world) send(t *testing.T, method, path, body string, headers ...string) (int, http.Header, string, error) {
	t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = base + path
	}
	r, err := http.NewRequestWithContext(t.Context(), method, w.http.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(data), err
}

// query is what a log is asked for with.
type query struct {
	Source    string
	Follow    bool
	TailLines *int32
	Offset    int64
	Attempt   int32
	UID       string
	File      string
	Node      string
}

// readLog reads a whole log, by gRPC or REST; next is the last offset, which only gRPC returns.
type readLog func(t *testing.T, w *world, q query) (text string, next int64, err error)

func byGRPC(t *testing.T, w *world, q query) (text string, next int64, err error) {
	stream, err := w.jobs.GetJobLogs(t.Context(), &raygatev2.GetJobLogsRequest{
		Namespace: "default", Name: "train", Source: q.Source, Follow: q.Follow, TailLines: q.TailLines, Offset: q.Offset,
		Attempt: q.Attempt, Uid: q.UID, File: q.File, Node: q.Node,
	})
	var all strings.Builder
	for err == nil {
		var part *raygatev2.GetJobLogsResponse
		if part, err = stream.Recv(); err == nil {
			all.Write(part.GetData())
			next = part.GetNextOffset()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all.String(), next, err
}

func byREST(t *testing.T, w *world, q query) (text string, next int64, err error) {
	query := url.Values{
		"follow": {fmt.Sprint(q.Follow)}, "source": {q.Source}, "offset": {fmt.Sprint(q.Offset)}, "attempt": {fmt.Sprint(q.Attempt)}, "uid": {q.UID},
		"file": {q.File}, "node": {q.Node},
	}
	if q.TailLines != nil {
		query.Set("tailLines", fmt.Sprint(*q.TailLines))
	}
	code, header, body, err := w.send(t, "GET", "jobs/train/logs?"+query.Encode(), "")
	if code != 200 {
		var st struct {
			Code    codes.Code
			Message string
		}
		var raw struct{ Code uint32 }
		_ = json.Unmarshal([]byte(body), &st)
		_ = json.Unmarshal([]byte(body), &raw)
		return "", 0, status.Error(codes.Code(raw.Code), st.Message)
	}
	if got := header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("a log has the content type %q", got)
	}
	return body, 0, err
}

func wantCode(t *testing.T, what string, err error, want codes.Code, texts ...string) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
	for _, text := range texts {
		if !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%s: %v does not say %q", what, err, text)
		}
	}
}
