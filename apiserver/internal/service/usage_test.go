package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/raygate/raygate/pkg/history"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// use stores the record of a deleted RayCluster that used some CPU seconds in a month.
func (w *world) use(t *testing.T, namespace, name, queue, owner, month string, seconds float64) {
	t.Helper()
	r := &history.Record{Summary: history.Summary{
		Key:   history.Key{Kind: "RayCluster", Namespace: namespace, Name: name, UID: "uid-" + name, Created: time.Unix(1, 0).UTC()},
		Ended: time.Unix(60, 0).UTC(), Queue: queue, Owner: owner, Usage: history.Months{month: {CPU: seconds, Memory: 2 * seconds}},
	}}
	if _, err := w.past.Put(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
}

func TestGetUsage(t *testing.T) {
	w := newWorld(t)
	w.use(t, "default", "a", "q", "jane@example.org", "2020-01", 1.5)
	w.use(t, "default", "b", "q", "joe", "2020-01", 2)
	w.use(t, "default", "c", "", "joe", time.Now().UTC().Format(history.MonthLayout), 4)
	w.use(t, "other", "d", "q", "joe", "2020-01", 1000)
	sum := func(queue, owner string, n int32, seconds float64) *raygatev2.Usage {
		return &raygatev2.Usage{Queue: queue, Owner: owner, Clusters: n, CpuSeconds: seconds, MemoryGibSeconds: 2 * seconds}
	}
	type request = raygatev2.GetUsageRequest
	for name, tc := range map[string]struct {
		req    *request
		denied string
		want   []*raygatev2.Usage
		code   codes.Code
		says   []string
	}{
		"by queue and owner": {req: &request{Month: "2020-01", GroupBy: "queue, owner"}, want: []*raygatev2.Usage{
			sum("q", "jane@example.org", 1, 1.5), sum("q", "joe", 1, 2),
		}},
		"by queue":           {req: &request{Month: "2020-01", GroupBy: "queue"}, want: []*raygatev2.Usage{sum("q", "", 2, 3.5)}},
		"of this month":      {req: &request{}, want: []*raygatev2.Usage{sum("", "", 1, 4)}},
		"of an unused month": {req: &request{Month: "2020-02"}},
		"no right":           {req: &request{}, denied: "list rayclusters", code: codes.PermissionDenied, says: []string{"list rayclusters"}},
		"the right to get":   {req: &request{}, denied: "get rayclusters", want: []*raygatev2.Usage{sum("", "", 1, 4)}},
		"a bad month":        {req: &request{Month: "../2026-11"}, code: codes.InvalidArgument, says: []string{"month", "2026-11"}},
		"a bad group":        {req: &request{GroupBy: "queue,team"}, code: codes.InvalidArgument, says: []string{"group_by", "team", "owner"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.change(func() { w.denied = map[string]bool{tc.denied: true} })
			tc.req.Namespace = "default"
			got, err := w.history.GetUsage(t.Context(), tc.req)
			wantCode(t, "usage", err, tc.code, tc.says...)
			if diff := cmp.Diff(tc.want, got.GetItems(), protocmp.Transform()); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
	w.change(func() { w.denied = nil })
	if code, _, body, err := w.send(t, "GET", "usage?month=2020-01&groupBy=owner,queue", ""); code != 200 || err != nil ||
		!strings.Contains(body, `{"clusters":1,"cpuSeconds":1.5,"memoryGibSeconds":3,"owner":"jane@example.org","queue":"q"}`) {
		t.Errorf("by REST: %d %s, %v", code, body, err)
	}
	_ = w.past.Close()
	_, err := w.history.GetUsage(t.Context(), &request{Namespace: "default"})
	wantCode(t, "usage of a store that is away", err, codes.Unavailable)
}
