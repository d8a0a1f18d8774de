package resource

import (
	"context"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// changing is a store in which one object changes.
type changing struct {
	Store
	event store.Event
}

func (c changing) Watch(_ context.Context, _ store.WatchOptions, send func(store.Event) error) error {
	return send(c.event)
}

// A change is encoded once per view, and all watchers get the same bytes.
func TestWatchersShareTheBytesOfAChange(t *testing.T) {
	item, err := store.ParseItem([]byte(`{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"c","resourceVersion":"7"},"spec":{"rayVersion":"2.52.0","headGroupSpec":{"template":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := clusters(Options{In: func(string) (Store, error) {
		return changing{event: store.Event{Type: store.Modified, Item: item, Token: "w1.7"}}, nil
	}, Authorizer: authz.AllowAll{}, Views: encoding.NewCache(0)})
	for _, view := range []string{"FULL", "BASIC"} {
		watch := func() (got *mem.BufferSlice) {
			err := r.Watch(t.Context(), &raygatev2.WatchClustersRequest{View: view}, &raygatev2.WatchClustersResponse{}, func(m any) error { got = m.(*mem.BufferSlice); return nil })
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		first, second := watch(), watch()
		if first.Len() == 0 || first != second {
			t.Errorf("%s: two watchers got bytes of their own", view)
		}
		event := &raygatev2.WatchClustersResponse{}
		if err := proto.Unmarshal(first.Materialize(), event); err != nil {
			t.Fatal(err)
		}
		if event.GetType() != "MODIFIED" || event.GetResumeToken() != "w1.7" || event.GetCluster().GetMetadata().GetName() != "c" || (event.GetCluster().GetSpec().GetHeadGroupSpec() != nil) != (view == "FULL") {
			t.Errorf("%s: the watcher reads %v", view, event)
		}
	}
}
