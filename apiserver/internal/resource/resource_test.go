package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/validation"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func clusters(o Options) *Resource {
	checks, _ := validation.ForKind("RayCluster")
	return New(Kind{Kind: store.Kind{Resource: "rayclusters"}, Checks: checks, Message: &raygatev2.RayCluster{}, Groups: "spec.workerGroupSpecs", Basic: []string{"rayVersion", "workerGroupSpecs.groupName"}}, o)
}

func only(s Store) func(string) (Store, error) {
	return func(string) (Store, error) { return s, nil }
}

func treeOf(t testing.TB, text string) map[string]any {
	t.Helper()
	tree, err := manifest.ParseTree([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestParseMask(t *testing.T) {
	r := clusters(Options{})
	for text, want := range map[string]string{
		"spec":                                "spec",
		"spec.suspend":                        "spec|suspend",
		"spec.ray_version":                    "spec|rayVersion",
		"spec.workerGroupSpecs":               "spec|workerGroupSpecs",
		"spec.head_group_spec.template":       "spec|headGroupSpec|template",
		"spec.headGroupSpec.template.spec":    "spec|headGroupSpec|template|spec",
		"metadata.labels":                     "metadata|labels",
		"metadata.labels.team":                "metadata|labels|team",
		`metadata.labels["a.b/c"]`:            "metadata|labels|a.b/c",
		"metadata.annotations.`x.y/z`":        "metadata|annotations|x.y/z",
		"metadata.owner_references":           "metadata|ownerReferences",
		"spec.authOptions.enableK8sTokenAuth": "spec|authOptions|enableK8sTokenAuth",

		"":                               "!",
		"status":                         "!cannot be changed",
		"status.state":                   "!cannot be changed",
		"metadata":                       "!cannot be changed",
		"metadata.name":                  "!cannot be changed",
		"spec.colour":                    "!colour is no field",
		"spec..suspend":                  "!empty part",
		"spec.":                          "!empty part",
		"spec.workerGroupSpecs.replicas": "!is a list",
		"spec.workerGroupSpecs[0]":       "!is a list",
	} {
		paths, err := r.parseMask(nil, []string{text})
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.Join(paths[0].parts, "|")
		}
		if problem, bad := strings.CutPrefix(want, "!"); bad != (err != nil) || bad && !strings.Contains(got, problem) || !bad && got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	in := &input{typed: r.Checks.New(), tree: map[string]any{}}
	in.typed.SetResourceVersion("7")
	all, err := r.parseMask(in, []string{"*"})
	if err != nil || len(all) != 1+len(changeable) {
		t.Errorf("* is %v, %v", all, err)
	}
}

func TestMergeAndMove(t *testing.T) {
	const before = `{"spec":{"a":1,"b":{"c":2,"d":3},"l":[1,2]},"metadata":{"labels":{"x":"y"}}}`
	for name, tc := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"merge":          {func(m map[string]any) { merge(m, treeOf(t, `{"spec":{"a":null,"b":{"c":5},"l":[9]}}`)) }, `{"spec":{"b":{"c":5,"d":3},"l":[9]},"metadata":{"labels":{"x":"y"}}}`},
		"merge of nulls": {func(m map[string]any) { merge(m, treeOf(t, `{"spec":{"n":{"x":null,"y":1},"l":[{"z":null}]}}`)) }, `{"spec":{"a":1,"b":{"c":2,"d":3},"l":[{}],"n":{"y":1}},"metadata":{"labels":{"x":"y"}}}`},
		"move": {func(m map[string]any) {
			maskPath{parts: []string{"spec", "b"}, fields: 2}.move(m, treeOf(t, `{"spec":{"b":{"c":7}}}`))
		}, `{"spec":{"a":1,"b":{"c":7},"l":[1,2]},"metadata":{"labels":{"x":"y"}}}`},
		"move of nothing": {func(m map[string]any) {
			maskPath{parts: []string{"spec", "b", "c"}, fields: 2}.move(m, treeOf(t, `{}`))
		}, `{"spec":{"a":1,"b":{"d":3},"l":[1,2]},"metadata":{"labels":{"x":"y"}}}`},
		"move into new": {func(m map[string]any) {
			maskPath{parts: []string{"metadata", "annotations", "k"}, fields: 2}.move(m, treeOf(t, `{"metadata":{"annotations":{"k":"v"}}}`))
		}, `{"spec":{"a":1,"b":{"c":2,"d":3},"l":[1,2]},"metadata":{"labels":{"x":"y"},"annotations":{"k":"v"}}}`},
		"move from null": {func(m map[string]any) {
			maskPath{parts: []string{"spec", "a"}, fields: 2}.move(m, treeOf(t, `{"spec":null}`))
		}, `{"spec":{"b":{"c":2,"d":3},"l":[1,2]},"metadata":{"labels":{"x":"y"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := treeOf(t, before)
			tc.change(got)
			if diff := cmp.Diff(treeOf(t, tc.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzDifference: the patch between two objects makes one of the other.
func FuzzDifference(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1},"c":[1]}`), []byte(`{"a":{"d":1.5},"c":[2],"e":{}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		before, errA := manifest.ParseTree(a)
		after, errB := manifest.ParseTree(b)
		if errA != nil || errB != nil || before == nil || after == nil {
			return
		}
		manifest.DropNulls(before)
		manifest.DropNulls(after)
		got := runtime.DeepCopyJSON(before)
		merge(got, difference(before, after))
		if !reflect.DeepEqual(after, got) {
			t.Errorf("%s to %s gives %v", a, b, got)
		}
	})
}

// FuzzMask: no mask breaks the parser or what follows.
func FuzzMask(f *testing.F) {
	r := clusters(Options{})
	f.Add("spec.`a`[b].c", []byte(`{"spec":{"a":1}}`))
	f.Fuzz(func(_ *testing.T, mask string, body []byte) {
		paths, err := r.parseMask(&input{typed: r.Checks.New(), tree: map[string]any{}}, []string{mask})
		tree, errTree := manifest.ParseTree(body)
		if err != nil || errTree != nil {
			return
		}
		for _, path := range paths {
			path.move(map[string]any{"spec": map[string]any{"suspend": true}}, tree)
		}
	})
}

// A replacement by a gRPC client keeps the fields that its message lacks. The status and the version are the stored ones, and so are the
// finalizers unless the client gives a version.
func TestReplaceKeepsWhatAMessageHasNot(t *testing.T) {
	stored := treeOf(t, `{"kind":"RayCluster","newTop":1,"metadata":{"name":"a","resourceVersion":"7","finalizers":["f"],"labels":{"l":"m"}},
		"spec":{"suspend":true,"newFlag":false,"headGroupSpec":{"newer":{"x":1},"template":{"a":1}},"workerGroupSpecs":[{"groupName":"a","new":1},{"groupName":"b","new":2}]},"status":{"newStatus":1}}`)
	r := clusters(Options{})
	in := &input{partial: true, typed: r.Checks.New(), tree: treeOf(t, `{"kind":"RayCluster","metadata":{"name":"a"},"spec":{"headGroupSpec":{"template":{}},"workerGroupSpecs":[{"groupName":"c"},{"groupName":"b"}]}}`)}
	r.replace(stored, in)
	want := treeOf(t, `{"kind":"RayCluster","newTop":1,"metadata":{"name":"a","resourceVersion":"7","finalizers":["f"]},
		"spec":{"newFlag":false,"headGroupSpec":{"newer":{"x":1},"template":{}},"workerGroupSpecs":[{"groupName":"c"},{"groupName":"b","new":2}]},"status":{"newStatus":1}}`)
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The JSON form of protobuf writes 64-bit integers as text. Those of an object are the API server's.
func TestCanonicalProtobufJSONIsTaken(t *testing.T) {
	m := &raygatev2.RayCluster{Kind: "RayCluster", Metadata: &raygatev2.ObjectMeta{Name: "a", Generation: 3}, Status: &raygatev2.RayClusterStatus{ObservedGeneration: 1<<53 + 1}}
	data, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"9007199254740993"`) || !strings.Contains(string(data), `"3"`) {
		t.Fatalf("protojson has changed: %s", data)
	}
	ctx := encoding.WithExchange(t.Context(), &encoding.Exchange{Tree: treeOf(t, string(data))})
	in, err := clusters(Options{}).read(ctx, &raygatev2.UpdateClusterRequest{Cluster: &raygatev2.RayCluster{}}, "default", "a")
	if err != nil || len(in.form) > 0 || in.typed.GetName() != "a" {
		t.Errorf("got %v, %v", in, err)
	}
}

// beating is a store whose watch does nothing but heartbeats.
type beating struct {
	Store
	beats int
}

func (b beating) Watch(_ context.Context, o store.WatchOptions, send func(store.Event) error) error {
	for range b.beats {
		if err := o.OnHeartbeat(); err != nil {
			return err
		}
		if err := send(store.Event{Type: store.Heartbeat, Age: 1500 * time.Millisecond}); err != nil {
			return err
		}
	}
	return errors.New("the end")
}

type authorizer func() error

func (a authorizer) Authorize(context.Context, authz.Access) error { return a() }

// A watch continues while the API server cannot review access, and ends once access is revoked.
func TestWatchOutlivesTheAPIServer(t *testing.T) {
	away := &apierrors.StatusError{}
	away.ErrStatus.Code, away.ErrStatus.Reason = 503, "ServiceUnavailable"
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "rayclusters"}, "", errors.New("no"))
	asked := 0
	r := clusters(Options{In: only(beating{beats: 10}), Authorizer: authorizer(func() error {
		switch asked++; {
		case asked == 1:
			return nil
		case asked < 8:
			return away
		}
		return forbidden
	})})
	var messages []*raygatev2.WatchClustersResponse
	err := r.Watch(t.Context(), &raygatev2.WatchClustersRequest{}, &raygatev2.WatchClustersResponse{}, func(m any) error {
		messages = append(messages, m.(*raygatev2.WatchClustersResponse))
		return nil
	})
	if !apierrors.IsForbidden(err) || len(messages) != 6 {
		t.Fatalf("the watch ended after %d heartbeats with %v, want 6 and forbidden", len(messages), err)
	}
	if messages[0].GetType() != "HEARTBEAT" || messages[0].GetStaleSeconds() != 2 {
		t.Errorf("heartbeat is %v, want one that is 2 seconds stale", messages[0])
	}
}

// An error that is no verdict on the caller's access does not end a watch. Credentials that have become unusable do.
func TestWatchEndsByVerdictsOnly(t *testing.T) {
	for err, ends := range map[error]bool{
		apierrors.NewUnauthorized("expired"): true, authn.ErrNoCredentials: true, authn.ErrNoIdentity: true, authn.ErrOwnCredentials: true,
		apierrors.NewServiceUnavailable("away"): false, context.DeadlineExceeded: false,
	} {
		if got := refusal(fmt.Errorf("asking: %w", err)) != nil; got != ends {
			t.Errorf("%v ends a watch: %t, want %t", err, got, ends)
		}
	}
}

// many is a store of a page of full objects.
type many struct {
	Store
	page *store.Page
}

func (m many) List(context.Context, store.ListOptions) (*store.Page, error) { return m.page, nil }
func (many) Age() time.Duration                                             { return 0 }

// A cached object is encoded once per version and view, not once per client.
func TestListEncodesOnce(t *testing.T) {
	page := &store.Page{}
	for n := range 50 {
		item, err := store.ParseItem(fmt.Appendf(nil, `{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"c%d","resourceVersion":"%d"},"spec":{"rayVersion":"2.52.0","workerGroupSpecs":[{"groupName":"a","template":{"spec":{"containers":[{"name":"w"}]}}}]}}`, n, n+1))
		if err != nil {
			t.Fatal(err)
		}
		page.Items = append(page.Items, item)
	}
	views := encoding.NewCache(0)
	r := clusters(Options{In: only(many{page: page}), Authorizer: authz.AllowAll{}, Views: views})
	for _, view := range []string{"FULL", "BASIC"} {
		list := func() *raygatev2.ListClustersResponse {
			resp := &raygatev2.ListClustersResponse{}
			if err := r.List(t.Context(), &raygatev2.ListClustersRequest{View: view}, resp); err != nil {
				t.Fatal(err)
			}
			return resp
		}
		first := list()
		size := views.Size()
		allocations := testing.AllocsPerRun(5, func() { list() })
		if perItem := allocations / 50; perItem > 2 || views.Size() != size {
			t.Errorf("%s: %.1f allocations per object that was encoded before", view, perItem)
		}
		wire, err := proto.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		got := &raygatev2.ListClustersResponse{}
		if err := proto.Unmarshal(wire, got); err != nil {
			t.Fatal(err)
		}
		group := got.GetItems()[49].GetSpec().GetWorkerGroupSpecs()[0]
		if len(got.GetItems()) != 50 || got.GetItems()[49].GetMetadata().GetName() != "c49" || (group.GetTemplate() != nil) != (view == "FULL") {
			t.Errorf("%s: the client reads %d objects, the last %v", view, len(got.GetItems()), group)
		}
	}
}

func TestBasicView(t *testing.T) {
	large := strings.Repeat("x", maxBasicAnnotation+1)
	data, err := json.Marshal(map[string]any{
		"kind": "RayCluster", "metadata": map[string]any{"name": "a", "annotations": map[string]any{"large": large, "small": "s"}},
		"spec":   map[string]any{"rayVersion": "2", "headGroupSpec": map[string]any{}, "workerGroupSpecs": []any{map[string]any{"groupName": "g", "template": map[string]any{}}}},
		"status": map[string]any{"state": "ready", "unknown": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	item, err := store.ParseItem(data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := clusters(Options{}).basicTree(item)
	if err != nil {
		t.Fatal(err)
	}
	want := treeOf(t, `{"kind":"RayCluster","metadata":{"name":"a","annotations":{"small":"s"}},"spec":{"rayVersion":"2","workerGroupSpecs":[{"groupName":"g"}]},"status":{"state":"ready","unknown":1}}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sizing is a store that keeps how long objects are said to be.
type sizing struct {
	many
	size *int
}

func (s sizing) List(_ context.Context, o store.ListOptions) (*store.Page, error) {
	*s.size = o.Size(s.page.Items[0])
	return s.page, nil
}

// A page ends by the bytes of what is sent, and earlier where more is made of it in memory.
func TestPagesGoByWhatIsSent(t *testing.T) {
	item, err := store.ParseItem(fmt.Appendf(nil, `{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"c","resourceVersion":"1"},"spec":{"rayVersion":"2.52.0","headGroupSpec":{"template":{"metadata":{"annotations":{"a":%q}}}}}}`, strings.Repeat("x", 10000)))
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	r := clusters(Options{In: only(sizing{many{page: &store.Page{Items: []*store.Item{item}}}, &size}), Authorizer: authz.AllowAll{}, Views: encoding.NewCache(0)})
	of := func(view string, rest *encoding.Exchange) int {
		ctx := t.Context()
		if rest != nil {
			ctx = encoding.WithExchange(ctx, rest)
		}
		if err := r.List(ctx, &raygatev2.ListClustersRequest{View: view}, &raygatev2.ListClustersResponse{}); err != nil {
			t.Fatal(err)
		}
		return size
	}
	json := of("FULL", &encoding.Exchange{})
	if json != len(item.JSON()) || of("BASIC", &encoding.Exchange{}) > 1000 || of("BASIC", nil) > 1000 || of("FULL", nil) < 10000 || of("FULL", nil) > json {
		t.Errorf("a full object has %d bytes, a basic one %d", json, of("BASIC", nil))
	}
	if got := of("FULL", &encoding.Exchange{Text: true}); got != textTimes*json {
		t.Errorf("in YAML an object of %d bytes counts %d", json, got)
	}
}
