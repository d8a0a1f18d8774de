package rayservice

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// children are all that is made for a RayService with two clusters.
func children(rs *rayv1.RayService) []any {
	o := Options{Version: "v1"}
	active := Cluster(rs, rs.Name+"-abcde", o)
	o.FromMinimum = true
	pending := Cluster(rs, rs.Name+"-fghij", o)
	return []any{
		active, pending.ObjectMeta, pending.Spec.WorkerGroupSpecs,
		service.ServiceHead(rs, active, service.Options{}), service.ServiceServe(rs, active), service.ClusterServe(active),
		Gateway(rs).Object, Route(rs, []Backend{{active.Name, service.ServePort(active), 70}, {pending.Name, service.ServePort(pending), 30}}).Object,
	}
}

func TestGolden(t *testing.T) { golden.Run(t, children) }

func FuzzChildren(f *testing.F) { golden.Fuzz(f, children) }

func spec(changes ...func(*rayv1.RayClusterSpec)) *rayv1.RayClusterSpec {
	s := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1), raytest.Workers("gpu", 1)).Spec
	for _, change := range changes {
		change(&s)
	}
	return &s
}

func TestCompare(t *testing.T) {
	group := func(s *rayv1.RayClusterSpec) {
		g := *s.WorkerGroupSpecs[0].DeepCopy()
		g.GroupName = "more"
		s.WorkerGroupSpecs = append(s.WorkerGroupSpecs, g)
	}
	image := func(s *rayv1.RayClusterSpec) { s.HeadGroupSpec.Template.Spec.Containers[0].Image = "other" }
	replicas := func(s *rayv1.RayClusterSpec) {
		s.Suspend = new(true)
		s.HeadGroupSpec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "k"}}
		g := &s.WorkerGroupSpecs[0]
		g.Replicas, g.MinReplicas, g.MaxReplicas, g.ScaleStrategy.WorkersToDelete = new(int32(9)), new(int32(2)), new(int32(10)), []string{"x"}
		g.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}}
	}
	fewer := func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs = s.WorkerGroupSpecs[:1] }
	order := func(s *rayv1.RayClusterSpec) {
		s.WorkerGroupSpecs[0], s.WorkerGroupSpecs[1] = s.WorkerGroupSpecs[1], s.WorkerGroupSpecs[0]
	}
	foreign := func(rc *rayv1.RayCluster) {
		rc.Annotations[rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete] = "1R0DJNF5HKCSHGGSBBBIHS45SHC9M2QI"
		rc.Annotations[rayv1.AnnotationKubeRayVersion] = "v1.7.0"
	}
	ours := func(*rayv1.RayCluster) {}
	cases := map[string]struct {
		edit   func(*rayv1.RayClusterSpec)
		stored func(*rayv1.RayCluster)
		want   Match
	}{
		"nothing":                         {func(*rayv1.RayClusterSpec) {}, ours, Same},
		"what needs no other cluster":     {replicas, ours, Same},
		"a group at the end":              {group, ours, Appended},
		"the image":                       {image, ours, Different},
		"the image and a group":           {func(s *rayv1.RayClusterSpec) { image(s); group(s) }, ours, Different},
		"a group less":                    {fewer, ours, Different},
		"another order":                   {order, ours, Different},
		"a hash of KubeRay":               {func(*rayv1.RayClusterSpec) {}, foreign, Same},
		"a hash of KubeRay, replicas":     {replicas, foreign, Same},
		"a hash of KubeRay, a group":      {group, foreign, Appended},
		"a hash of KubeRay, the image":    {image, foreign, Different},
		"a hash of KubeRay, a group less": {fewer, foreign, Different},
		"less than with another version": {
			func(s *rayv1.RayClusterSpec) {
				s.HeadGroupSpec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
			},
			func(rc *rayv1.RayCluster) { rc.Annotations[rayv1.AnnotationKubeRayVersion] = "v0" }, Different,
		},
		"no hash":                         {func(*rayv1.RayClusterSpec) {}, func(rc *rayv1.RayCluster) { rc.Annotations = nil }, Same},
		"no hash, a group":                {group, func(rc *rayv1.RayCluster) { rc.Annotations = nil }, Appended},
		"a number of groups that is none": {group, func(rc *rayv1.RayCluster) { rc.Annotations[rayv1.AnnotationNumWorkerGroups] = "x" }, Different},
		"what a webhook has added counts not": {func(*rayv1.RayClusterSpec) {}, func(rc *rayv1.RayCluster) {
			foreign(rc)
			rc.Spec.HeadGroupSpec.Template.Labels = map[string]string{"injected": "yes"}
		}, Same},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: rayv1.RayServiceSpec{RayClusterSpec: *spec()}}
			rc := Cluster(rs, "demo-abcde", Options{Version: "v1"})
			tc.stored(rc)
			if got := Compare(spec(tc.edit), rc, "v1"); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestSuperseded(t *testing.T) {
	cluster := func(env ...corev1.EnvVar) *rayv1.RayCluster {
		return &rayv1.RayCluster{Spec: *spec(func(s *rayv1.RayClusterSpec) { s.HeadGroupSpec.Template.Spec.Containers[0].Env = env })}
	}
	a, b := corev1.EnvVar{Name: "A", Value: "1"}, corev1.EnvVar{Name: "B", Value: "2"}
	for name, tc := range map[string]struct {
		rc, by *rayv1.RayCluster
		want   bool
	}{
		"a field is removed": {cluster(a, b), cluster(a), true},
		"a field is added":   {cluster(a), cluster(a, b), false},
		"another field":      {cluster(a), cluster(b), false},
		"the same fields":    {cluster(a, b), cluster(a, b), false},
	} {
		if got := Superseded(tc.rc, tc.by); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestUpdatedKeepsWhatOthersPutThere(t *testing.T) {
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Name: "demo", Labels: map[string]string{"team": "a"}}, Spec: rayv1.RayServiceSpec{RayClusterSpec: *spec()}}
	rs.Spec.RayClusterSpec.EnableInTreeAutoscaling = new(true)
	live := Cluster(rs, "demo-abcde", Options{Version: "v1"})
	live.Labels["foreign"], live.Annotations["foreign"] = "yes", "yes"
	live.Spec.Suspend = new(true)
	live.Spec.WorkerGroupSpecs[0].Replicas, live.Spec.WorkerGroupSpecs[0].ScaleStrategy.WorkersToDelete = new(int32(7)), []string{"x"}
	more := *rs.Spec.RayClusterSpec.WorkerGroupSpecs[0].DeepCopy()
	more.GroupName = "more"
	rs.Spec.RayClusterSpec.WorkerGroupSpecs = append(rs.Spec.RayClusterSpec.WorkerGroupSpecs, more)
	rs.Spec.RayClusterSpec.WorkerGroupSpecs[0].MaxReplicas = new(int32(20))
	before := live.DeepCopy()
	got := Updated(rs, live, Options{Version: "v2"})
	if diff := cmp.Diff(before, live); diff != "" {
		t.Errorf("the live cluster was changed:\n%s", diff)
	}
	g := got.Spec.WorkerGroupSpecs
	if len(g) != 3 || *g[0].Replicas != 7 || g[0].ScaleStrategy.WorkersToDelete[0] != "x" || *g[0].MaxReplicas != 20 || !*got.Spec.Suspend ||
		got.Labels["foreign"] == "" || got.Annotations["foreign"] == "" || got.Annotations[rayv1.AnnotationNumWorkerGroups] != "3" {
		t.Errorf("updated to %+v", got)
	}
	if m := Compare(&rs.Spec.RayClusterSpec, got, "v2"); m != Same {
		t.Errorf("after the update it is %s", m)
	}
}

func TestRouting(t *testing.T) {
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo"}}
	route := Route(rs, []Backend{{"demo-a", 8000, 100}, {"demo-b", 8000, 0}})
	if diff := cmp.Diff(map[string]int32{"demo-a": 100, "demo-b": 0}, StateOfRoute(route, "demo-gateway").Weights); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	set := func(gateway, accepted, resolved string, seen int64) *unstructured.Unstructured {
		r := route.DeepCopy()
		r.SetGeneration(3)
		r.Object["status"] = map[string]any{"parents": []any{map[string]any{
			"parentRef": map[string]any{"name": gateway}, "conditions": []any{
				map[string]any{"type": "Accepted", "status": accepted, "observedGeneration": seen},
				map[string]any{"type": "ResolvedRefs", "status": resolved, "observedGeneration": seen},
			},
		}}}
		return r
	}
	for name, tc := range map[string]struct {
		route *unstructured.Unstructured
		want  bool
	}{
		"nobody":             {route, false},
		"accepted":           {set("demo-gateway", "True", "True", 3), true},
		"accepted before":    {set("demo-gateway", "True", "True", 2), false},
		"no version":         {set("demo-gateway", "True", "True", 0), true},
		"unresolved":         {set("demo-gateway", "True", "False", 3), false},
		"of another Gateway": {set("other", "True", "True", 3), false},
		"no status as it is": {&unstructured.Unstructured{Object: map[string]any{"status": 7}}, false},
	} {
		if got := StateOfRoute(tc.route, "demo-gateway").RouteReady; got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
	g := Gateway(rs)
	if StateOfGateway(g).GatewayReady {
		t.Error("a Gateway without a status is ready")
	}
	g.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Accepted", "status": "True"}, map[string]any{"type": "Programmed", "status": "True"}}}
	if !StateOfGateway(g).GatewayReady {
		t.Error("the Gateway is not ready")
	}
}

// TestKeepRoute keeps what users add: KubeRay drops it.
func TestKeepRoute(t *testing.T) {
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo"}}
	live := Route(rs, []Backend{{"demo-a", 8000, 100}})
	rules, _, _ := unstructured.NestedSlice(live.Object, "spec", "rules")
	rules[0].(map[string]any)["timeouts"] = map[string]any{"request": "30s"}
	if err := unstructured.SetNestedSlice(live.Object, append(rules, map[string]any{"name": "mine"}), "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	desired := Route(rs, []Backend{{"demo-a", 8000, 60}, {"demo-b", 8000, 40}})
	KeepRoute(desired, live)
	rules, _, _ = unstructured.NestedSlice(desired.Object, "spec", "rules")
	if first := rules[0].(map[string]any); len(rules) != 2 || first["timeouts"] == nil || len(first["backendRefs"].([]any)) != 2 {
		t.Errorf("rules %v", rules)
	}
}

// TestRouteSettles: what the API server fills in is no difference, and a weight that somebody changed to or from 0 is one.
func TestRouteSettles(t *testing.T) {
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo"}}
	backends := []Backend{{"demo-a", 8000, 100}, {"demo-b", 8000, 0}}
	live := Route(rs, backends)
	rules, _, _ := unstructured.NestedSlice(live.Object, "spec", "rules")
	rule := rules[0].(map[string]any)
	rule["timeouts"] = map[string]any{"request": "30s"}
	for _, b := range rule["backendRefs"].([]any) {
		b.(map[string]any)["group"], b.(map[string]any)["kind"] = "", "Service"
	}
	if err := unstructured.SetNestedSlice(live.Object, rules, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	rulesOf := func() []any {
		desired := Route(rs, backends)
		KeepRoute(desired, live)
		got, _, _ := unstructured.NestedSlice(desired.Object, "spec", "rules")
		return got
	}
	if diff := cmp.Diff(rules, rulesOf()); diff != "" {
		t.Errorf("rules (-live +wanted):\n%s", diff)
	}
	rule["backendRefs"].([]any)[1].(map[string]any)["weight"] = int64(5)
	if err := unstructured.SetNestedSlice(live.Object, rules, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	if cmp.Diff(rules, rulesOf()) == "" {
		t.Error("another weight is no difference")
	}
}
