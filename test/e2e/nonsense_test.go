package e2e

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Nonsense is refused with a clear client error, and the gateway lives on.
func TestNonsenseOverREST(t *testing.T) {
	ns := namespace(t)
	good := string(asJSON(t, manifest("demo", ns, 1)))
	tests := map[string]struct {
		body        string
		contentType string
		wantCode    int
		wantField   string // of one violation, when not empty
	}{
		"empty body":            {"", "application/json", 400, ""},
		"null":                  {"null", "application/json", 400, ""},
		"a list":                {"[]", "application/json", 400, ""},
		"half a document":       {good[:len(good)/2], "application/json", 400, ""},
		"two documents":         {good + good, "application/json", 400, ""},
		"wrong type":            {strings.Replace(good, `"replicas":1`, `"replicas":"one"`, 1), "application/json", 400, "spec.workerGroupSpecs[0].replicas"},
		"too large a number":    {strings.Replace(good, `"replicas":1`, `"replicas":3000000000`, 1), "application/json", 400, "spec.workerGroupSpecs[0].replicas"},
		"unknown field":         {strings.Replace(good, `"replicas":1`, `"replicaz":1`, 1), "application/json", 400, "spec.workerGroupSpecs[0].replicaz"},
		"wrong case":            {strings.Replace(good, `"rayVersion"`, `"RayVersion"`, 1), "application/json", 400, "spec.RayVersion"},
		"unknown field of Pod":  {strings.Replace(good, `"image"`, `"imgae"`, 1), "application/json", 400, ""},
		"duplicate key":         {strings.Replace(good, `"replicas":1`, `"replicas":1,"replicas":2`, 1), "application/json", 400, "spec.workerGroupSpecs[0].replicas"},
		"duplicate key in YAML": {string(manifest("demo", ns, 1)) + "spec: {}\n", "application/yaml", 400, ""},
		"invalid UTF-8":         {strings.Replace(good, "e2e", "\xff\xfe", 1), "application/json", 400, ""},
		"deep nesting":          {strings.Repeat(`{"spec":`, 100_000), "application/json", 400, ""},
		"deep lists":            {strings.Repeat(`[`, 100_000), "application/yaml", 400, ""},
		"10 MiB":                {strings.Repeat("x", 10<<20), "application/json", 413, ""},
		"unknown content type":  {good, "image/png", 415, ""},
		"other kind":            {strings.Replace(good, `"RayCluster"`, `"RayJob"`, 1), "application/json", 400, "kind"},
		"other namespace":       {strings.Replace(good, ns, "elsewhere", 1), "application/json", 400, "metadata.namespace"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rest(t, "POST", clustersOf(ns), tc.contentType, []byte(tc.body)).want(t, tc.wantCode)
			if !bytes.Contains(r.body, []byte(`"message"`)) {
				t.Errorf("no message in %s", r.body)
			}
			if tc.wantField == "" {
				return
			}
			for _, v := range r.violations(t) {
				if v.Field == tc.wantField {
					return
				}
			}
			t.Errorf("no violation at %s in %s", tc.wantField, r.body)
		})
	}
	rest(t, "POST", clustersOf(ns), "application/json", []byte(good)).want(t, 201)
	rest(t, "PATCH", "/apis/v2/nowhere", "", nil).want(t, 404)
	if r := rest(t, "PATCH", clustersOf(ns), "", nil).want(t, 405); r.header.Get("Allow") == "" {
		t.Error("405 without Allow")
	}
	if !product.gateway.Running() {
		t.Fatal("the gateway ended")
	}
}

func TestNilMessagesOverGRPC(t *testing.T) {
	ns := namespace(t)
	for name, cluster := range map[string]*raygatev2.RayCluster{
		"no cluster":     nil,
		"empty cluster":  {},
		"empty spec":     {Metadata: &raygatev2.ObjectMeta{Name: "demo"}, Spec: &raygatev2.RayClusterSpec{}},
		"no template":    {Metadata: &raygatev2.ObjectMeta{Name: "demo"}, Spec: &raygatev2.RayClusterSpec{HeadGroupSpec: &raygatev2.HeadGroupSpec{}}},
		"an empty group": {Metadata: &raygatev2.ObjectMeta{Name: "demo"}, Spec: &raygatev2.RayClusterSpec{WorkerGroupSpecs: []*raygatev2.WorkerGroupSpec{{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := product.clusters.CreateCluster(t.Context(), &raygatev2.CreateClusterRequest{Namespace: ns, Cluster: cluster})
			if status.Code(err) != codes.InvalidArgument || len(status.Convert(err).Details()) == 0 {
				t.Errorf("got %v, want InvalidArgument with details", err)
			}
		})
	}
	if !product.gateway.Running() {
		t.Fatal("the gateway ended")
	}
}
