package rayservice

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// TestResized brings to a cluster what the service asks for anew, and nothing else.
func TestResized(t *testing.T) {
	type edit = func(*rayv1.RayClusterSpec)
	set := func(replicas, low, high int32) edit {
		return func(s *rayv1.RayClusterSpec) {
			g := &s.WorkerGroupSpecs[0]
			g.Replicas, g.MinReplicas, g.MaxReplicas = &replicas, &low, &high
		}
	}
	autoscaled := func(s *rayv1.RayClusterSpec) { s.EnableInTreeAutoscaling = new(true) }
	foreign := func(rc *rayv1.RayCluster) { delete(rc.Annotations, rayv1.AnnotationGroupSizes) }
	by := func(n int32) func(*rayv1.RayCluster) {
		return func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = &n }
	}
	cases := map[string]struct {
		base edit // of both
		live func(*rayv1.RayCluster)
		edit edit
		want []int32 // replicas and bounds of the first group; nil for no change at all
	}{
		"nothing":                                {set(3, 1, 5), nil, func(*rayv1.RayClusterSpec) {}, nil},
		"replicas":                               {set(3, 1, 5), nil, set(4, 1, 5), []int32{4, 1, 5}},
		"bounds":                                 {set(3, 1, 5), nil, set(3, 2, 9), []int32{3, 2, 9}},
		"what somebody changed there stays":      {set(3, 1, 5), by(4), set(3, 1, 9), []int32{4, 1, 9}},
		"what was changed there is no change":    {set(3, 1, 5), by(4), func(*rayv1.RayClusterSpec) {}, nil},
		"replicas of the autoscaler":             {func(s *rayv1.RayClusterSpec) { set(3, 1, 5)(s); autoscaled(s) }, by(5), set(1, 1, 5), []int32{5, 1, 5}},
		"replicas of the autoscaler, bounds":     {func(s *rayv1.RayClusterSpec) { set(3, 1, 5)(s); autoscaled(s) }, by(5), set(3, 1, 4), []int32{4, 1, 4}},
		"replicas of the autoscaler, too few":    {func(s *rayv1.RayClusterSpec) { set(3, 1, 5)(s); autoscaled(s) }, by(1), set(3, 2, 5), []int32{2, 2, 5}},
		"a cluster of KubeRay keeps what it has": {set(3, 1, 5), func(rc *rayv1.RayCluster) { foreign(rc); by(4)(rc) }, set(9, 1, 9), []int32{4, 1, 5}},
		"with the image": {set(3, 1, 5), nil, func(s *rayv1.RayClusterSpec) {
			set(4, 1, 5)(s)
			s.HeadGroupSpec.Template.Spec.Containers[0].Image = "b"
		}, []int32{4, 1, 5}},
		"the other group goes":     {set(3, 1, 5), nil, func(s *rayv1.RayClusterSpec) { set(4, 1, 5)(s); s.WorkerGroupSpecs = s.WorkerGroupSpecs[:1] }, []int32{4, 1, 5}},
		"the annotation is spoilt": {set(3, 1, 5), func(rc *rayv1.RayCluster) { rc.Annotations[rayv1.AnnotationGroupSizes] = "[" }, set(9, 1, 9), []int32{3, 1, 5}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: rayv1.RayServiceSpec{RayClusterSpec: *spec(tc.base)}}
			live := Cluster(rs, "demo-abcde", Options{Version: "v1"})
			if tc.live != nil {
				tc.live(live)
			}
			before := live.DeepCopy()
			tc.edit(&rs.Spec.RayClusterSpec)
			got := Resized(&rs.Spec.RayClusterSpec, live)
			if diff := cmp.Diff(before, live); diff != "" {
				t.Errorf("the live cluster was changed:\n%s", diff)
			}
			if tc.want == nil {
				if got != nil {
					t.Errorf("resized to %+v", got.Spec.WorkerGroupSpecs[0])
				}
				return
			}
			g := got.Spec.WorkerGroupSpecs[0]
			if diff := cmp.Diff(tc.want, []int32{*g.Replicas, *g.MinReplicas, *g.MaxReplicas}); diff != "" || len(got.Spec.WorkerGroupSpecs) != 2 {
				t.Errorf("replicas, bounds (-want +got):\n%s", diff)
			}
			if more := Resized(&rs.Spec.RayClusterSpec, got); more != nil {
				t.Error("resized again")
			}
		})
	}
}

// TestKeepGateway keeps listeners of users, as for TLS: KubeRay drops them.
func TestKeepGateway(t *testing.T) {
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo"}}
	tls := map[string]any{"name": "https", "protocol": "HTTPS", "port": int64(443)}
	ours := map[string]any{"name": "http", "protocol": "HTTP", "port": int64(8080), "allowedRoutes": map[string]any{"namespaces": map[string]any{"from": "All"}}}
	for name, tc := range map[string]struct {
		live []any
		want []string
	}{
		"another one":        {[]any{ours, tls}, []string{"http", "https"}},
		"another one before": {[]any{tls, ours}, []string{"https", "http"}},
		"ours is missing":    {[]any{tls}, []string{"http", "https"}},
		"none":               {nil, []string{"http"}},
		"nonsense":           {[]any{int64(7), ours}, []string{"", "http"}},
	} {
		t.Run(name, func(t *testing.T) {
			live, desired := Gateway(rs), Gateway(rs)
			live.Object["spec"].(map[string]any)["listeners"] = tc.live
			KeepGateway(desired, live, false)
			list, _ := desired.Object["spec"].(map[string]any)["listeners"].([]any)
			var names []string
			for _, l := range list {
				one, _ := l.(map[string]any)
				text, _ := one["name"].(string)
				names = append(names, text)
				if text == "http" && one["port"] != int64(80) {
					t.Errorf("our listener %v", one)
				}
				if text == "http" && tc.live != nil && len(tc.live) == 2 && one["allowedRoutes"] == nil {
					t.Errorf("what was added to our listener is gone: %v", one)
				}
			}
			if diff := cmp.Diff(tc.want, names); diff != "" {
				t.Errorf("listeners (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatTheGatewaySays is in words what its status has.
func TestWhatTheGatewaySays(t *testing.T) {
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo"}}
	g := Gateway(rs)
	if got := StateOfGateway(g).GatewayWhy; got != "" {
		t.Errorf("without a status: %q", got)
	}
	g.Object["status"] = map[string]any{
		"conditions": []any{
			map[string]any{"type": "Accepted", "status": "True"},
			map[string]any{"type": "Programmed", "status": "False", "reason": "AddressNotAssigned", "message": "no address"},
		},
		"addresses": []any{map[string]any{"value": "b.example.com"}, map[string]any{"value": "10.0.0.1"}},
	}
	if got, want := StateOfGateway(g).GatewayWhy, "Programmed is False (AddressNotAssigned) no address"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"10.0.0.1", "b.example.com"}, StateOfGateway(g).Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	route := Route(rs, []Backend{{"demo-a", 8000, 100}})
	route.SetGeneration(3)
	refuse := func(seen int64) {
		route.Object["status"] = map[string]any{"parents": []any{map[string]any{
			"parentRef": map[string]any{"name": "demo-gateway"}, "conditions": []any{
				map[string]any{"type": "ResolvedRefs", "status": "False", "reason": "BackendNotFound", "observedGeneration": seen},
			},
		}}}
	}
	for seen, want := range map[int64]string{3: "ResolvedRefs is False (BackendNotFound)", 2: ""} {
		refuse(seen)
		if got := StateOfRoute(route, "demo-gateway").RouteRefused; got != want {
			t.Errorf("refused at generation %d: %q, want %q", seen, got, want)
		}
	}
	broken := &unstructured.Unstructured{Object: map[string]any{"status": 7}}
	if StateOfGateway(broken).GatewayWhy+StateOfRoute(broken, "demo-gateway").RouteRefused != "" || StateOfGateway(broken).Addresses != nil {
		t.Error("a status that is none says something")
	}
}
