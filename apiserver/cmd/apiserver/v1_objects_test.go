package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

func TestV1Templates(t *testing.T) {
	w := newV1World(t)
	good := func(name string) *kuberay.ComputeTemplate {
		return &kuberay.ComputeTemplate{Name: name, Namespace: w.namespace, Cpu: 4, Memory: 8}
	}
	sent, got := good("fresh"), &kuberay.ComputeTemplate{}
	w.want(t, 200, "POST", w.path("compute_templates"), sent, got)
	sent.MemoryUnit = "Gi"
	if diff := cmp.Diff(sent, got, protocmp.Transform()); diff != "" {
		t.Errorf("created (-sent +got):\n%s", diff)
	}
	w.want(t, 409, "POST", w.path("compute_templates"), sent, nil)
	for name, edit := range map[string]func(*kuberay.ComputeTemplate){
		"no name":         func(c *kuberay.ComputeTemplate) { c.Name = "" },
		"other namespace": func(c *kuberay.ComputeTemplate) { c.Namespace = "other" },
		"no cpu":          func(c *kuberay.ComputeTemplate) { c.Cpu = 0 },
		"no memory":       func(c *kuberay.ComputeTemplate) { c.Memory = 0 },
		"a bad unit":      func(c *kuberay.ComputeTemplate) { c.MemoryUnit = "bananas" },
	} {
		c := good("bad")
		edit(c)
		if code := w.call(t, "POST", w.path("compute_templates"), c, nil); code != 400 {
			t.Errorf("%s: want 400, got %d", name, code)
		}
	}
	all, some := &kuberay.ListAllComputeTemplatesResponse{}, &kuberay.ListComputeTemplatesResponse{}
	w.want(t, 200, "GET", "/apis/v1/compute_templates", nil, all)
	w.want(t, 200, "GET", w.path("compute_templates"), nil, some)
	var names []string
	for _, c := range some.GetComputeTemplates() {
		names = append(names, c.GetName())
	}
	if !slices.Equal(names, []string{"default-template", "fresh"}) || len(all.GetComputeTemplates()) < 2 {
		t.Errorf("listed %v, and %d of all namespaces", names, len(all.GetComputeTemplates()))
	}
	w.want(t, 200, "GET", w.path("compute_templates", "fresh"), nil, got)
	w.want(t, 404, "GET", w.path("compute_templates", "bogus"), nil, nil)
	w.want(t, 400, "GET", w.path("compute_templates", ""), nil, nil)
	w.want(t, 404, "GET", "/apis/v1/namespaces//compute_templates/fresh", nil, nil)

	// Another ConfigMap is no template: it is not found, and stays.
	if _, err := w.kube.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.want(t, 404, "GET", w.path("compute_templates", "config"), nil, nil)
	w.want(t, 404, "DELETE", w.path("compute_templates", "config"), nil, nil)
	if _, err := w.kube.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), "config", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	w.want(t, 200, "DELETE", w.path("compute_templates", "fresh"), nil, nil)
	w.want(t, 404, "DELETE", w.path("compute_templates", "fresh"), nil, nil)
	w.want(t, 400, "DELETE", w.path("compute_templates", ""), nil, nil)
	w.want(t, 404, "DELETE", "/apis/v1/namespaces//compute_templates/fresh", nil, nil)

	// A template that KubeRay's server wrote before there were units.
	if _, err := w.kube.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "old", Labels: map[string]string{"ray.io/config-type": "compute-template"}}, Data: map[string]string{"cpu": "2", "memory": "4"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster := w.cluster("with-old")
	cluster.ClusterSpec.HeadGroupSpec.ComputeTemplate = "old"
	w.want(t, 200, "POST", w.path("clusters"), cluster, &kuberay.Cluster{})
	if stored := shared.Env(t).Stored(t, "ray.io/rayclusters", w.namespace, "with-old"); !strings.Contains(fmt.Sprint(stored), "memory:4Gi") {
		t.Errorf("four bytes? %v", stored)
	}
}

func (w *v1World) job(name string) *kuberay.RayJob {
	return &kuberay.RayJob{
		Name: name, Namespace: w.namespace, User: "r2d2", Version: "2.46.0", Entrypoint: "python /home/ray/samples/sample_code.py", Metadata: map[string]string{},
		RuntimeEnv: "pip:\n  - requests==2.26.0\n", ShutdownAfterJobFinishes: true, TtlSecondsAfterFinished: 60, ClusterSpec: w.spec(), ActiveDeadlineSeconds: 120,
	}
}

func TestV1Jobs(t *testing.T) {
	w := newV1World(t)
	for name, tc := range map[string]struct {
		edit func(*kuberay.RayJob) *kuberay.RayJob
		want int
	}{
		"inline": {func(j *kuberay.RayJob) *kuberay.RayJob { return j }, 200},
		"selector": {func(j *kuberay.RayJob) *kuberay.RayJob {
			j.ClusterSpec, j.ClusterSelector, j.ShutdownAfterJobFinishes, j.TtlSecondsAfterFinished = nil, map[string]string{"ray.io/cluster": "demo"}, false, 0
			j.JobSubmitter = &kuberay.RayJobSubmitter{Image: "rayproject/ray:2.46.0-py310"}
			return j
		}, 200},
		"gpus":         {func(j *kuberay.RayJob) *kuberay.RayJob { j.EntrypointNumCpus, j.EntrypointNumGpus = 0.5, 1; return j }, 200},
		"nil":          {func(*kuberay.RayJob) *kuberay.RayJob { return nil }, 400},
		"no-namespace": {func(j *kuberay.RayJob) *kuberay.RayJob { j.Namespace = ""; return j }, 400},
		"no-name":      {func(j *kuberay.RayJob) *kuberay.RayJob { j.Name = ""; return j }, 400},
		"no-user":      {func(j *kuberay.RayJob) *kuberay.RayJob { j.User = ""; return j }, 400},
		"no-spec":      {func(j *kuberay.RayJob) *kuberay.RayJob { j.ClusterSpec = nil; return j }, 400},
		"nothing":      {func(j *kuberay.RayJob) *kuberay.RayJob { j.ClusterSpec, j.Entrypoint = nil, ""; return j }, 400},
		"selector-and-half-a-spec": {func(j *kuberay.RayJob) *kuberay.RayJob {
			j.ClusterSpec, j.ClusterSelector = &kuberay.ClusterSpec{}, map[string]string{"ray.io/cluster": "demo"}
			return j
		}, 400},
		"bad-submitter": {func(j *kuberay.RayJob) *kuberay.RayJob {
			j.JobSubmitter = &kuberay.RayJobSubmitter{Cpu: "much"}
			return j
		}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			sent, got := tc.edit(w.job(name)), &kuberay.RayJob{}
			w.want(t, tc.want, "POST", w.path("jobs"), sent, got)
			if tc.want != 200 {
				return
			}
			w.want(t, 409, "POST", w.path("jobs"), sent, nil)
			for _, from := range []string{"create", "get"} {
				if got.GetCreatedAt() == nil {
					t.Error("no creation time")
				}
				got.CreatedAt, got.ClusterSpec = nil, withoutEmpty(got.GetClusterSpec())
				if sent.GetClusterSpec() == nil {
					got.Version = sent.GetVersion() // is not kept
				}
				if diff := cmp.Diff(sent, got, protocmp.Transform()); diff != "" {
					t.Errorf("job from %s (-sent +got):\n%s", from, diff)
				}
				w.want(t, 200, "GET", w.path("jobs", name), nil, got)
			}
		})
	}
	w.want(t, 404, "POST", "/apis/v1/namespaces//jobs", w.job("x"), nil)
	for _, method := range []string{"GET", "DELETE"} {
		w.want(t, 404, method, w.path("jobs", "bogus"), nil, nil)
		w.want(t, 400, method, w.path("jobs", ""), nil, nil)
		w.want(t, 404, method, "/apis/v1/namespaces//jobs/inline", nil, nil)
	}
	w.want(t, 200, "DELETE", w.path("jobs", "inline"), nil, nil)
}

func (w *v1World) service(name string) *kuberay.RayService {
	return &kuberay.RayService{
		Name: name, Namespace: w.namespace, User: "user", Version: "2.46.0",
		ServiceUnhealthySecondThreshold: 10, DeploymentUnhealthySecondThreshold: 20, //nolint:staticcheck // clients still send them
		ServeConfig_V2: "applications:\n  - name: fruit_app\n    import_path: fruit.deployment_graph\n    route_prefix: /fruit\n  - name: math_app\n    import_path: conditional_dag.serve_dag\n    route_prefix: /calc\n",
		ClusterSpec:    w.spec(),
	}
}

func TestV1Services(t *testing.T) {
	w := newV1World(t)
	for name, tc := range map[string]struct {
		edit func(*kuberay.RayService) *kuberay.RayService
		want int
	}{
		"good":            {func(s *kuberay.RayService) *kuberay.RayService { return s }, 200},
		"nil":             {func(*kuberay.RayService) *kuberay.RayService { return nil }, 400},
		"other-namespace": {func(s *kuberay.RayService) *kuberay.RayService { s.Namespace = "other"; return s }, 400},
		"no-name":         {func(s *kuberay.RayService) *kuberay.RayService { s.Name = ""; return s }, 400},
		"no-user":         {func(s *kuberay.RayService) *kuberay.RayService { s.User = ""; return s }, 400},
		"no-spec":         {func(s *kuberay.RayService) *kuberay.RayService { s.ClusterSpec = nil; return s }, 400},
		"no-config":       {func(s *kuberay.RayService) *kuberay.RayService { s.ServeConfig_V2 = ""; return s }, 400},
	} {
		t.Run(name, func(t *testing.T) {
			sent, got := tc.edit(w.service(name)), &kuberay.RayService{}
			w.want(t, tc.want, "POST", w.path("services"), sent, got)
			if tc.want != 200 {
				w.want(t, 400, "PUT", w.path("services", "good"), sent, nil)
				return
			}
			w.want(t, 409, "POST", w.path("services"), sent, nil)
			for _, from := range []string{"create", "get"} {
				got.CreatedAt, got.RayServiceStatus, got.ClusterSpec = nil, nil, withoutEmpty(got.GetClusterSpec())
				if diff := cmp.Diff(sent, got, protocmp.Transform()); diff != "" {
					t.Errorf("service from %s (-sent +got):\n%s", from, diff)
				}
				w.want(t, 200, "GET", w.path("services", name), nil, got)
			}
		})
	}
	t.Run("update", func(t *testing.T) { testV1Update(t, w) })
	w.want(t, 404, "POST", "/apis/v1/namespaces//services", w.service("x"), nil)
	w.want(t, 404, "PUT", w.path("services", "bogus"), w.service("bogus"), nil)
	w.want(t, 400, "PUT", w.path("services", ""), w.service("good"), nil)
	for _, method := range []string{"GET", "DELETE"} {
		w.want(t, 404, method, w.path("services", "bogus"), nil, nil)
		w.want(t, 400, method, w.path("services", ""), nil, nil)
		w.want(t, 404, method, "/apis/v1/namespaces//services/good", nil, nil)
	}
	w.want(t, 200, "DELETE", w.path("services", "good"), nil, nil)
}

// testV1Update has kubectl change a service in what V1 cannot say, and then V1 in what it can.
func testV1Update(t *testing.T, w *v1World) {
	patch := `{"metadata":{"labels":{"team":"a"},"annotations":{"note":"b"}},"spec":{"upgradeStrategy":{"type":"None"},"rayClusterConfig":{"workerGroupSpecs":[` +
		`{"groupName":"small-wg","replicas":1,"minReplicas":0,"maxReplicas":5,"numOfHosts":1,"resources":{"CPU":"77"},"rayStartParams":{"metrics-export-port":"8080"},"template":{"spec":{"priorityClassName":"high","containers":[{"name":"ray-worker","image":"other:1"},{"name":"sidecar","image":"sidecar:1"}]}}}]}}}`
	uri := "/apis/ray.io/v1/namespaces/" + w.namespace + "/rayservices/good"
	if err := w.kube.CoreV1().RESTClient().Patch(types.MergePatchType).RequestURI(uri).Body([]byte(patch)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	service := &kuberay.RayService{}
	await.True(t, "V1 sees the change", func() bool {
		service.Reset()
		return w.call(t, "GET", w.path("services", "good"), nil, service) == 200 && service.GetClusterSpec().GetWorkerGroupSpec()[0].GetMinReplicas() == 0
	})
	if g := service.GetClusterSpec().GetWorkerGroupSpec()[0]; g.GetImage() != "other:1" || g.GetComputeTemplate() != "" {
		t.Errorf("the group is shown as %v", g)
	}
	service.ClusterSpec.WorkerGroupSpec[0].ComputeTemplate = "default-template"
	service.ClusterSpec.WorkerGroupSpec[0].Replicas = 2
	service.ClusterSpec.HeadGroupSpec.Image = "rayproject/ray:2.46.0-new"
	got := &kuberay.RayService{}
	w.want(t, 200, "PUT", w.path("services", "any-name"), service, got) // the name in the body counts
	if got.GetClusterSpec().GetHeadGroupSpec().GetImage() != "rayproject/ray:2.46.0-new" || got.GetClusterSpec().GetWorkerGroupSpec()[0].GetReplicas() != 2 {
		t.Errorf("updated: %v", got)
	}
	stored := shared.Env(t).Stored(t, "ray.io/rayservices", w.namespace, "good")
	text := fmt.Sprint(stored)
	for _, kept := range []string{"team:a", "note:b", "upgradeStrategy:map[type:None]", "minReplicas:0", "resources:map[CPU:77]", "priorityClassName:high", "sidecar:1", "creation-timestamp", "update-timestamp", "other:1", "ray:2.46.0-new"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is gone from %s", kept, text)
		}
	}
}

// TestV1Pages reads lists page by page.
func TestV1Pages(t *testing.T) {
	w := newV1World(t)
	worlds := []*v1World{w, w.in(t, w.namespace+"-b"), w.in(t, w.namespace+"-c")}
	for _, in := range worlds {
		for i := range 2 {
			name := fmt.Sprintf("%s-%d", strings.ReplaceAll(in.namespace, "testv1pages", "p"), i)
			in.want(t, 200, "POST", in.path("clusters"), in.cluster(name), &kuberay.Cluster{})
			in.want(t, 200, "POST", in.path("jobs"), in.job(name), &kuberay.RayJob{})
			in.want(t, 200, "POST", in.path("services"), in.service(name), &kuberay.RayService{})
		}
	}
	for kind, of := range map[string]struct {
		limit, token string
		reply        func() proto.Message
		page         func(proto.Message) ([]string, string)
	}{
		"clusters": {"limit", "continue", func() proto.Message { return &kuberay.ListAllClustersResponse{} }, func(m proto.Message) ([]string, string) {
			return namesOf(m.(*kuberay.ListAllClustersResponse).GetClusters()), m.(*kuberay.ListAllClustersResponse).GetContinue()
		}},
		"jobs": {"limit", "continue", func() proto.Message { return &kuberay.ListAllRayJobsResponse{} }, func(m proto.Message) ([]string, string) {
			return namesOf(m.(*kuberay.ListAllRayJobsResponse).GetJobs()), m.(*kuberay.ListAllRayJobsResponse).GetContinue()
		}},
		"services": {"pageSize", "pageToken", func() proto.Message { return &kuberay.ListAllRayServicesResponse{} }, func(m proto.Message) ([]string, string) {
			return namesOf(m.(*kuberay.ListAllRayServicesResponse).GetServices()), m.(*kuberay.ListAllRayServicesResponse).GetNextPageToken()
		}},
	} {
		t.Run(kind, func(t *testing.T) {
			list := func(path string, limit int, token string) ([]string, string) {
				reply := of.reply()
				w.want(t, 200, "GET", fmt.Sprintf("%s?%s=%s&%s=%d", path, of.token, token, of.limit, limit), nil, reply)
				return of.page(reply)
			}
			for path, want := range map[string]int{"/apis/v1/" + kind: 6, w.path(kind): 2} {
				all, token := list(path, 0, "")
				ours := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !strings.HasPrefix(name, "p-") }) // other tests leave objects, too
				if len(ours) != want || token != "" || path != "/apis/v1/"+kind && len(all) != want {
					t.Errorf("%s: want %d, got %v and token %q", path, want, all, token)
				}
				for _, limit := range []int{len(all), len(all) + 1, 1 << 20} {
					if page, token := list(path, limit, ""); !slices.Equal(page, all) || token != "" {
						t.Errorf("%s with limit %d: %v and token %q", path, limit, page, token)
					}
				}
				for _, limit := range []int{1, 4} {
					var seen []string
					token := ""
					for {
						page, next := list(path, limit, token)
						seen = append(seen, page...)
						if token = next; token == "" {
							break
						}
						if len(page) != limit {
							t.Errorf("%s with limit %d: a page of %d before the last", path, limit, len(page))
						}
					}
					if !slices.Equal(seen, all) {
						t.Errorf("%s with limit %d: %v, want %v", path, limit, seen, all)
					}
				}
			}
			for _, bad := range []string{"?" + of.limit + "=-1", "?" + of.limit + "=abc", "?" + of.token + "=nonsense"} {
				w.want(t, 400, "GET", w.path(kind)+bad, nil, nil)
			}
			w.want(t, 200, "GET", w.path(kind)+"?whatever=1&"+map[string]string{"limit": "limit", "pageSize": "page_size"}[of.limit]+"=1", nil, of.reply())
		})
	}
}

func namesOf[M interface{ GetName() string }](all []M) []string {
	var names []string
	for _, m := range all {
		names = append(names, m.GetName())
	}
	return names
}

// TestV1ListAsksNothing counts the requests to Kubernetes that a list makes: none, however many clusters there are.
func TestV1ListAsksNothing(t *testing.T) {
	var asked atomic.Int64
	w := newV1World(t, func(o *Options) {
		o.restConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) { asked.Add(1); return next.RoundTrip(r) })
		})
	})
	for i := range 30 {
		w.want(t, 200, "POST", w.path("clusters"), w.cluster(fmt.Sprintf("c-%d", i)), &kuberay.Cluster{})
	}
	list := &kuberay.ListClustersResponse{}
	w.want(t, 200, "GET", w.path("clusters"), nil, list) // waits until the cache has the last one
	before := asked.Load()
	start := time.Now()
	w.want(t, 200, "GET", w.path("clusters"), nil, list)
	t.Logf("a list of %d took %s, with its decoding", len(list.GetClusters()), time.Since(start))
	if n := asked.Load() - before; n > 0 || len(list.GetClusters()) != 30 {
		t.Errorf("a list of %d clusters made %d requests", len(list.GetClusters()), n)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestWritesByKubernetesPathsAreRead has a client that writes at the Kubernetes paths and at once reads by v2.
func TestWritesByKubernetesPathsAreRead(t *testing.T) {
	w := newV1World(t)
	collection, v2 := "/apis/ray.io/v1/namespaces/"+w.namespace+"/rayclusters", "/apis/v2/namespaces/"+w.namespace+"/clusters"
	spec := `"spec":{"headGroupSpec":{"rayStartParams":{},"template":{"spec":{"containers":[{"name":"ray-head","image":"rayproject/ray:2.46.0"}]}}}}`
	for n := range 20 {
		name := fmt.Sprintf("demo-%d", n)
		created := fmt.Sprintf(`{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":%q},%s}`, name, spec)
		if code, body, _ := w.send(t, "POST", collection, created); code != 201 {
			t.Fatalf("create: %d %s", code, body)
		}
		if code, body, _ := w.send(t, "GET", v2+"/"+name, ""); code != 200 {
			t.Errorf("get after create: %d %s", code, body)
		}
		if code, body, _ := w.send(t, "DELETE", collection+"/"+name, ""); code != 200 {
			t.Fatalf("delete: %d %s", code, body)
		}
		if code, body, _ := w.send(t, "GET", v2+"/"+name, ""); code != 404 {
			t.Errorf("get after delete: %d %s", code, body)
		}
	}
}
