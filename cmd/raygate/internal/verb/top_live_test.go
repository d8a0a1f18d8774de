package verb

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// summary is what Ray answers for a head without GPUs, a worker with two, and a node that is dead.
const summary = `{"result": true, "msg": "Node summary fetched.", "data": {"summary": [
	{"cpu": 50.0, "cpus": [2, 2], "mem": [4294967296, 3221225472, 25.0, 1073741824], "gpus": [], "raylet": {"state": "ALIVE"}},
	{"cpu": 25.0, "cpus": [6, 6], "mem": [8589934592, 6442450944, 25.0, 2147483648], "gpus": [{"index": 0, "utilizationGpu": 80}, {"index": 1, "utilizationGpu": 20}, {"index": 2, "utilizationGpu": null}]},
	{"raylet": {"state": "DEAD"}}]}}`

func TestTopLive(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.String() != "/apis/v2/namespaces/team/clusters/demo/dashboard/nodes?view=summary" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte(summary))
	}))
	defer gateway.Close()
	var clusters []*raygatev2.RayCluster
	for name, state := range map[string]string{"demo": "ready", "mute": "ready", "asleep": "suspended"} {
		clusters = append(clusters, &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Namespace: "team", Name: name}, Status: &raygatev2.RayClusterStatus{State: state}})
	}
	demands, sum := demandsOf(clusters)
	s := &session{flags: &connect.Flags{Getenv: func(string) string { return "" }, URL: gateway.URL, Token: "secret"}}
	if err := addUse(context.Background(), s, demands); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printTop(&out, demands, sum, false); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		got[fields[0]] = strings.Join(fields[max(0, len(fields)-3):], " ")
	}
	want := map[string]string{"NAME": "USE MEMORY USE", "demo": "31% 50% 3Gi/12Gi", "mute": "- - -", "asleep": "- - -", "TOTAL": "0 0 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, out.String())
	}
	clusterTrees := topTree(demands, sum)["clusters"].([]any)
	for _, tree := range clusterTrees {
		one := tree.(map[string]any)
		if _, has := one["use"]; has != (one["name"] == "demo") {
			t.Errorf("%v", one)
		}
	}
}
