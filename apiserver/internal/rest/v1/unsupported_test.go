package v1

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// clusterStub does nothing.
type clusterStub struct {
	kuberay.UnimplementedClusterServiceServer
}

func (clusterStub) CreateCluster(context.Context, *kuberay.CreateClusterRequest) (*kuberay.Cluster, error) {
	return &kuberay.Cluster{}, nil
}

func (clusterStub) ListCluster(context.Context, *kuberay.ListClustersRequest) (*kuberay.ListClustersResponse, error) {
	return &kuberay.ListClustersResponse{}, nil
}

func (clusterStub) DeleteCluster(context.Context, *kuberay.DeleteClusterRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

// A dry run that is ignored writes, and a condition that is ignored deletes what it was to protect.
func TestWritesWithWhatIsNotHeeded(t *testing.T) {
	const clusters, demo, object = "/apis/v1/namespaces/ns/clusters", "/apis/v1/namespaces/ns/clusters/demo", `{"name":"demo"}`
	calls, table := 0, rpcstatus.NewTable()
	conn := interceptor.NewChannel(func(ctx context.Context, _ *interceptor.Call, next func(context.Context) error) error {
		calls++
		return next(ctx)
	})
	kuberay.RegisterClusterServiceServer(conn, clusterStub{})
	h := New(Options{Conn: conn, FlowControl: flowcontrol.New(flowcontrol.Options{Identifier: authn.NewAnyone(), Table: table})})
	for _, tc := range []struct {
		method, target, body, header string
		want                         int
	}{
		{"POST", clusters + "?dryRun=All", object, "", 400},
		{"POST", clusters + "?dry_run=All", object, "", 400},
		{"POST", clusters + "?validateOnly=true", object, "", 400},
		{"POST", clusters + "?VALIDATE_ONLY=true", object, "", 400},
		{"POST", clusters + "?dryRun=All%zz", object, "", 400},
		{"POST", clusters, object, "If-None-Match", 400},
		{"DELETE", demo + "?dryRun=All", "", "", 400},
		{"DELETE", demo + "?dryRun=All;x", "", "", 400},
		{"DELETE", demo + "?etag=1", "", "", 400},
		{"DELETE", demo, "", "If-Match", 400},
		{"DELETE", demo, "", "If-Unmodified-Since", 400},
		{"DELETE", demo, `{"dryRun":["All"]}`, "", 400},
		{"DELETE", demo, `{"preconditions":{"uid":"u"}}`, "", 400},
		{"POST", clusters, object + object, "", 400},
		{"POST", clusters, object + "]", "", 400},
		{"POST", clusters, object + "\n", "", 200},
		{"DELETE", demo, "{}", "", 200},
		{"DELETE", demo + "?trace=1", "", "", 200},
		{"POST", clusters + "?trace=1", object, "", 200},
		{"GET", clusters + "?dryRun=All", "", "If-None-Match", 200},
	} {
		calls = 0
		r := httptest.NewRequestWithContext(t.Context(), tc.method, tc.target, strings.NewReader(tc.body))
		if tc.header != "" {
			r.Header.Set(tc.header, `"1"`)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tc.want || (calls > 0) != (tc.want == http.StatusOK) {
			t.Errorf("%s %s %s %s: %d with %d calls, want %d: %s", tc.method, tc.target, tc.header, tc.body, w.Code, calls, tc.want, w.Body)
		}
	}
}
