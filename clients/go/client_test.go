package raygate

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// fake is a gateway that answers as a test says.
type fake struct {
	raygatev2.UnimplementedClusterServiceServer

	mu sync.Mutex
	// failures are returned first, one by call.
	failures []error
	creates  []*raygatev2.CreateClusterRequest
	deletes  int
	long     int // bytes of the one cluster of a list; 0 for the usual lists
	lists    []*raygatev2.ListClustersRequest
	watches  []*raygatev2.WatchClustersRequest
	streams  [][]*raygatev2.WatchClustersResponse // of one watch each, followed by an error of failures
	tokens   []string
	also     func(*grpc.Server) // registers more services; nil for none
}

func (f *fake) next(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens = append(f.tokens, strings.Join(metadata.ValueFromIncomingContext(ctx, "authorization"), ","))
	if len(f.failures) == 0 {
		return nil
	}
	err := f.failures[0]
	f.failures = f.failures[1:]
	return err
}

func (f *fake) CreateCluster(ctx context.Context, req *raygatev2.CreateClusterRequest) (*raygatev2.CreateClusterResponse, error) {
	f.creates = append(f.creates, req)
	if err := grpc.SetHeader(ctx, metadata.Pairs("warning", `299 - "the cluster is small"`)); err != nil {
		return nil, err
	}
	return &raygatev2.CreateClusterResponse{Cluster: req.GetCluster()}, f.next(ctx)
}

func (f *fake) DeleteCluster(ctx context.Context, _ *raygatev2.DeleteClusterRequest) (*raygatev2.DeleteClusterResponse, error) {
	f.deletes++
	return &raygatev2.DeleteClusterResponse{}, f.next(ctx)
}

func (f *fake) ListClusters(ctx context.Context, req *raygatev2.ListClustersRequest) (*raygatev2.ListClustersResponse, error) {
	f.lists = append(f.lists, req)
	names := map[string][]string{"": {"a", "b"}, "second": {"c"}, "third": {}}[req.GetPageToken()]
	if f.long > 0 {
		return &raygatev2.ListClustersResponse{Items: []*raygatev2.RayCluster{{Metadata: &raygatev2.ObjectMeta{Name: "long", Annotations: map[string]string{"a": strings.Repeat("x", f.long)}}}}}, nil
	}
	resp := &raygatev2.ListClustersResponse{NextPageToken: map[string]string{"": "second", "second": "third"}[req.GetPageToken()]}
	for _, name := range names {
		resp.Items = append(resp.Items, &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Name: name}})
	}
	return resp, f.next(ctx)
}

func (f *fake) WatchClusters(req *raygatev2.WatchClustersRequest, s grpc.ServerStreamingServer[raygatev2.WatchClustersResponse]) error {
	f.watches = append(f.watches, req)
	if len(f.streams) == 0 {
		return status.Error(codes.PermissionDenied, "no more")
	}
	messages := f.streams[0]
	f.streams = f.streams[1:]
	for _, m := range messages {
		if err := s.Send(m); err != nil {
			return err
		}
	}
	return f.next(s.Context())
}

// start serves and connects.
func (f *fake) start(t *testing.T, change func(*Config)) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	raygatev2.RegisterClusterServiceServer(s, f)
	if f.also != nil {
		f.also(s)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	c := Config{Address: l.Addr().String()}
	if change != nil {
		change(&c)
	}
	client, err := Dial(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func failure(code codes.Code, details ...protoadapt.MessageV1) error {
	st, err := status.New(code, "failed").WithDetails(details...)
	if err != nil {
		panic(err)
	}
	return st.Err()
}

func retryAfter(d time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(d)}
}

func smallCluster() *rayv1.RayCluster {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-head", Image: "rayproject/ray:2.56.0"}}}}
	return &rayv1.RayCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec:       rayv1.RayClusterSpec{RayVersion: "2.56.0", HeadGroupSpec: rayv1.HeadGroupSpec{Template: template}},
	}
}

func TestCreateIsTriedAgainWithOneRequestID(t *testing.T) {
	f := &fake{failures: []error{failure(codes.Unavailable), failure(codes.ResourceExhausted, retryAfter(time.Millisecond))}}
	var warnings []string
	client := f.start(t, func(c *Config) {
		c.Token = StaticToken("secret")
		c.OnWarning = func(text string) { warnings = append(warnings, text) }
	})
	rc := smallCluster()
	got, err := client.Clusters("team").Create(t.Context(), rc, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != rc.Name || got.Kind != "RayCluster" {
		t.Errorf("created %v", got)
	}
	if len(f.creates) != 3 {
		t.Fatalf("%d calls, want 3", len(f.creates))
	}
	id := f.creates[0].GetRequestId()
	if len(id) != 36 || f.creates[1].GetRequestId() != id || f.creates[2].GetRequestId() != id {
		t.Errorf("request ids %q, %q and %q", id, f.creates[1].GetRequestId(), f.creates[2].GetRequestId())
	}
	if diff := cmp.Diff([]string{"Bearer secret", "Bearer secret", "Bearer secret"}, f.tokens); diff != "" {
		t.Errorf("credentials (-want +got):\n%s", diff)
	}
	if len(warnings) == 0 || warnings[len(warnings)-1] != "the cluster is small" {
		t.Errorf("warnings %q", warnings)
	}
}

func TestWhatMayBeRepeated(t *testing.T) {
	tests := map[string]struct {
		failure error
		options DeleteOptions
		want    int
	}{
		"a deletion by name whose answer was lost": {failure(codes.Unavailable), DeleteOptions{}, 1},
		"a deletion by uid":                        {failure(codes.Unavailable), DeleteOptions{UID: "u"}, 2},
		"a call that was throttled":                {failure(codes.ResourceExhausted, retryAfter(time.Millisecond)), DeleteOptions{}, 2},
		"a quota":                                  {failure(codes.ResourceExhausted), DeleteOptions{UID: "u"}, 1},
		"a refusal":                                {failure(codes.PermissionDenied, retryAfter(time.Millisecond)), DeleteOptions{UID: "u"}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fake{failures: []error{tc.failure}}
			_, err := f.start(t, nil).Clusters("team").Delete(t.Context(), "demo", tc.options)
			if f.deletes != tc.want || (err == nil) != (tc.want == 2) {
				t.Errorf("%d calls, want %d; %v", f.deletes, tc.want, err)
			}
		})
	}
}

func TestRetryHintIsFollowed(t *testing.T) {
	f := &fake{failures: []error{failure(codes.Unavailable, retryAfter(time.Hour))}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	_, err := f.start(t, nil).Clusters("team").Create(ctx, smallCluster(), CreateOptions{})
	if p := ProblemOf(err); p.Code != codes.Unavailable || p.RetryAfter != time.Hour || len(f.creates) != 1 {
		t.Errorf("%+v after %d calls", p, len(f.creates))
	}
	if time.Since(began) > 30*time.Second {
		t.Error("waited for what could not come in time")
	}
}

// A gateway may answer with more than gRPC takes by default.
func TestListOfALongPage(t *testing.T) {
	f := &fake{long: 20 << 20}
	for rc, err := range f.start(t, nil).Clusters("").List(t.Context(), ListOptions{}) {
		if err != nil || rc.Name != "long" {
			t.Errorf("got %v", err)
		}
	}
}

func TestListFollowsPages(t *testing.T) {
	f := &fake{}
	clusters := f.start(t, nil).Clusters("")
	var names []string
	for rc, err := range clusters.List(t.Context(), ListOptions{LabelSelector: "team=a", Basic: true}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, rc.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if len(f.lists) != 3 || f.lists[2].GetLabelSelector() != "team=a" || f.lists[2].GetView() != "BASIC" {
		t.Errorf("lists %v", f.lists)
	}
	f.lists = nil
	for range clusters.List(t.Context(), ListOptions{}) {
		break
	}
	if len(f.lists) != 1 {
		t.Errorf("%d pages were asked for, 1 was needed", len(f.lists))
	}
	f.failures = []error{failure(codes.PermissionDenied)}
	for rc, err := range clusters.List(t.Context(), ListOptions{}) {
		if rc != nil || ProblemOf(err).Code != codes.PermissionDenied {
			t.Errorf("%v, %v", rc, err)
		}
	}
}

func TestWatchGoesOnBehindTheLastEvent(t *testing.T) {
	added := func(name, token string) *raygatev2.WatchClustersResponse {
		return &raygatev2.WatchClustersResponse{Type: Added, ResumeToken: token, Cluster: &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Name: name}}}
	}
	f := &fake{
		streams: [][]*raygatev2.WatchClustersResponse{{added("a", "1"), {Type: Heartbeat, ResumeToken: "2", StaleSeconds: 7}}, {added("b", "3")}, {}, {added("c", "4")}},
		failures: []error{
			failure(codes.Unavailable), nil, // an end without an error
			failure(codes.InvalidArgument, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "resume_token"}}}),
			failure(codes.PermissionDenied),
		},
	}
	var got []string
	var last error
	reconnects := 0
	for e, err := range f.start(t, nil).Clusters("").Watch(t.Context(), WatchOptions{OnReconnect: func(error) { reconnects++ }}) {
		if last = err; err != nil {
			continue
		}
		text := e.Type + "/" + e.Token
		if e.Object != nil {
			text += "/" + e.Object.Name
		}
		if e.Stale > 0 {
			text += "/" + e.Stale.String()
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"ADDED/1/a", "HEARTBEAT/2/7s", "ADDED/3/b", "RESET/", "ADDED/4/c"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if ProblemOf(last).Code != codes.PermissionDenied || reconnects != 3 {
		t.Errorf("%d reconnects, then %v", reconnects, last)
	}
	var tokens []string
	for _, w := range f.watches {
		tokens = append(tokens, w.GetResumeToken())
	}
	if diff := cmp.Diff([]string{"", "2", "3", ""}, tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestWatchEndsWithItsContextAndItsLoop(t *testing.T) {
	f := &fake{streams: [][]*raygatev2.WatchClustersResponse{{{Type: Synced, ResumeToken: "1"}}, {{Type: Synced, ResumeToken: "1"}}}}
	clusters := f.start(t, nil).Clusters("")
	for e, err := range clusters.Watch(t.Context(), WatchOptions{}) {
		if e.Type != Synced || err != nil {
			t.Errorf("%v, %v", e, err)
		}
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	var last error
	for _, err := range clusters.Watch(ctx, WatchOptions{}) {
		last = err
		cancel()
	}
	if last == nil {
		t.Error("the end of the context is no error")
	}
	cancel()
}

func TestVerbThatAKindDoesNotHave(t *testing.T) {
	client := (&fake{}).start(t, nil)
	if _, err := client.CronJobs("team").Scale(t.Context(), "demo", ScaleOptions{}); err == nil || !strings.Contains(err.Error(), "scale of a RayCronJob") {
		t.Errorf("scaling a cron job: %v", err)
	}
	if !ClusterKind.Can("Scale") || CronJobKind.Can("Scale") {
		t.Error("the kinds do not know what they can")
	}
}

func TestProblemOf(t *testing.T) {
	err := failure(codes.InvalidArgument,
		&errdetails.ErrorInfo{Domain: "raygate.io", Reason: "INVALID_SPEC"},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "spec.a", Description: "d", Reason: "RC-001"}}},
		&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{Description: "p"}}},
		retryAfter(time.Second), &errdetails.RequestInfo{RequestId: "r"})
	want := &Problem{
		Code: codes.InvalidArgument, Reason: "INVALID_SPEC", Message: "failed", Violations: []Violation{{"spec.a", "d", "RC-001"}}, Preconditions: []string{"p"},
		RetryAfter: time.Second, RequestID: "r",
	}
	if diff := cmp.Diff(want, ProblemOf(err)); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	if got := ProblemOf(context.DeadlineExceeded); got.Code != codes.DeadlineExceeded {
		t.Errorf("of a context: %+v", got)
	}
}

func TestParseAddress(t *testing.T) {
	type parsed struct {
		Host      string
		Plaintext bool
	}
	tests := map[string]parsed{
		"gw":                   {"gw:8887", false},
		"gw:1":                 {"gw:1", false},
		"http://gw":            {"gw:8887", true},
		"https://gw:443/":      {"gw:443", false},
		"127.0.0.1":            {"127.0.0.1:8887", true},
		"localhost:9":          {"localhost:9", true},
		"[::1]:9":              {"[::1]:9", true},
		"::1":                  {"[::1]:8887", true},
		"[fd00::1]":            {"[fd00::1]:8887", false},
		"https://127.0.0.1:80": {"127.0.0.1:80", false},
	}
	for address, want := range tests {
		host, plaintext, err := parseAddress(address, defaultPort)
		if diff := cmp.Diff(want, parsed{host, plaintext}); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", address, err, diff)
		}
	}
	for _, address := range []string{"", "ftp://gw", "https://", "gw/path", "http://user@gw", "a b", "a:b:c", ":8887"} {
		if host, _, err := parseAddress(address, defaultPort); err == nil {
			t.Errorf("%q is taken for %q", address, host)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("https://gw:8887")
	f.Fuzz(func(t *testing.T, address string) {
		host, _, err := parseAddress(address, defaultPort)
		if err == nil {
			if _, _, err := net.SplitHostPort(host); err != nil {
				t.Errorf("%q became %q", address, host)
			}
		}
	})
}

func TestTokensStayOffTheOpenWire(t *testing.T) {
	c := Config{Address: "http://gateway.example.com", Token: StaticToken("secret")}
	if _, err := Dial(c); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a token in the clear: %v", err)
	}
	c.AllowPlaintextToken = true
	client, err := Dial(c)
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
}
