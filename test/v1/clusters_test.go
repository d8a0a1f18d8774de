package v1

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// provisioned waits until the operator has made all Pods of a cluster.
func (w *world) provisioned(name string) {
	w.Helper()
	eventually(w.T, name+" is provisioned", func() error {
		rc := &rayv1.RayCluster{}
		if err := product.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, rc); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned) {
			return fmt.Errorf("conditions %v", rc.Status.Conditions)
		}
		return nil
	})
}

// gone waits until Kubernetes has an object no more.
func (w *world) gone(name string, o client.Object) {
	w.Helper()
	eventually(w.T, name+" is gone", func() error {
		err := product.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

func TestClusters(t *testing.T) {
	good := map[string]func(*world, *kuberay.Cluster){
		"no volumes, one worker group": func(*world, *kuberay.Cluster) {},
		"ConfigMap volume with items on head and workers": func(w *world, c *kuberay.Cluster) {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "code", Namespace: w.namespace}, Data: map[string]string{"a.py": "1", "b.py": "2"}}
			if err := product.kube.Create(w.Context(), cm); err != nil {
				w.Fatal(err)
			}
			volumes := []*kuberay.Volume{{MountPath: "/home/ray/samples", VolumeType: kuberay.Volume_CONFIGMAP, Name: "code-sample", Source: "code", Items: map[string]string{"a.py": "a.py", "b.py": "b.py"}}}
			c.ClusterSpec.HeadGroupSpec.Volumes, c.ClusterSpec.WorkerGroupSpec[0].Volumes = volumes, volumes
		},
		"no workers": func(_ *world, c *kuberay.Cluster) { c.ClusterSpec.WorkerGroupSpec = nil },
		"headServiceAnnotations, no version, image given": func(_ *world, c *kuberay.Cluster) {
			c.ClusterSpec.HeadServiceAnnotations, c.Version = map[string]string{"foo": "bar"}, ""
		},
	}
	for name, edit := range good {
		t.Run("create/"+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sent, got := w.cluster("demo"), &kuberay.Cluster{}
			edit(w, sent)
			w.ok("POST", w.path("clusters"), sent, got)
			wantSame(t, sent.GetClusterSpec(), got.GetClusterSpec())
			w.ok("GET", w.path("clusters", "demo"), nil, got)
			wantSame(t, sent, got, "created_at", "annotations", "events", "cluster_state", "service_endpoint")
			w.provisioned("demo")
			eventually(t, "V1 shows that it is ready", func() error {
				got.Reset()
				w.ok("GET", w.path("clusters", "demo"), nil, got)
				if got.GetClusterState() != "ready" || got.GetServiceEndpoint()["dashboard"] == "" || len(got.GetEvents()) == 0 {
					return fmt.Errorf("state %q, endpoints %v, %d events", got.GetClusterState(), got.GetServiceEndpoint(), len(got.GetEvents()))
				}
				return nil
			})
			wantSame(t, sent.GetClusterSpec(), got.GetClusterSpec())
			w.ok("DELETE", w.path("clusters", "demo"), nil, nil)
			w.gone("demo", &rayv1.RayCluster{})
			w.refused(404, "GET", w.path("clusters", "demo"), nil)
		})
	}
	t.Run("create/refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		for name, edit := range map[string]func(*kuberay.Cluster){
			"without namespace":         func(c *kuberay.Cluster) { c.Namespace = "" },
			"without name":              func(c *kuberay.Cluster) { c.Name = "" },
			"without user":              func(c *kuberay.Cluster) { c.User = "" },
			"nil spec":                  func(c *kuberay.Cluster) { c.ClusterSpec = nil },
			"nil head":                  func(c *kuberay.Cluster) { c.ClusterSpec.HeadGroupSpec = nil },
			"head without template":     func(c *kuberay.Cluster) { c.ClusterSpec.HeadGroupSpec.ComputeTemplate = "" },
			"head without start params": func(c *kuberay.Cluster) { c.ClusterSpec.HeadGroupSpec.RayStartParams = nil },
			"worker without group name": func(c *kuberay.Cluster) { c.ClusterSpec.WorkerGroupSpec[0].GroupName = "" },
			"worker without template":   func(c *kuberay.Cluster) { c.ClusterSpec.WorkerGroupSpec[0].ComputeTemplate = "" },
			"worker with zero replicas and zero max": func(c *kuberay.Cluster) {
				g := c.ClusterSpec.WorkerGroupSpec[0]
				g.Replicas, g.MinReplicas, g.MaxReplicas = 0, 0, 0
			},
		} {
			t.Run(name, func(t *testing.T) {
				c := w.cluster("demo")
				edit(c)
				w.in(t).refused(400, "POST", w.path("clusters"), c)
			})
		}
		t.Run("empty namespace in the request", func(t *testing.T) {
			w.in(t).refused(404, "POST", pathIn("", "clusters"), w.cluster("demo"))
		})
		t.Run("nil cluster", func(t *testing.T) { w.in(t).refused(400, "POST", w.path("clusters"), nil) })
	})
	t.Run("create/in-tree autoscaling", func(t *testing.T) {
		t.Parallel()
		testAutoscaling(newWorld(t))
	})
	t.Run("get and delete", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		got := &kuberay.Cluster{}
		w.ok("POST", w.path("clusters"), w.cluster("demo"), got)
		w.ok("GET", w.path("clusters", "demo"), nil, got)
		if got.GetName() != "demo" || got.GetNamespace() != w.namespace {
			t.Errorf("got %v", got)
		}
		for _, method := range []string{"GET", "DELETE"} {
			w.refused(404, method, w.path("clusters", "unknown"), nil)
			w.refused(404, method, pathIn("", "clusters", "demo"), nil)
			w.refused(400, method, w.path("clusters", ""), nil)
		}
		w.ok("DELETE", w.path("clusters", "demo"), nil, nil)
		w.gone("demo", &rayv1.RayCluster{})
	})
}

// in is the world with another test to fail.
func (w *world) in(t *testing.T) *world {
	clone := *w
	clone.T = t
	return &clone
}

// testAutoscaling writes to Kubernetes what the autoscaler writes for a job that comes and goes, since the simulated Ray has no autoscaler.
func testAutoscaling(w *world) {
	sent, got := w.cluster("demo"), &kuberay.Cluster{}
	sent.ClusterSpec.EnableInTreeAutoscaling = true
	sent.ClusterSpec.AutoscalerOptions = &kuberay.AutoscalerOptions{UpscalingMode: "Default", IdleTimeoutSeconds: 30, Cpu: "500m", Memory: "512Mi"}
	sent.ClusterSpec.HeadGroupSpec.RayStartParams["num-cpus"] = "0"
	g := sent.ClusterSpec.WorkerGroupSpec[0]
	g.Replicas, g.MinReplicas, g.MaxReplicas = 0, 0, 5
	w.ok("POST", w.path("clusters"), sent, got)
	wantSame(w.T, sent.GetClusterSpec(), got.GetClusterSpec())
	w.provisioned("demo")
	for _, workers := range []int32{1, 0} {
		rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: w.namespace}}
		patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":%d}]`, workers)
		if workers == 0 {
			pods := &corev1.PodList{}
			if err := product.kube.List(w.Context(), pods, client.InNamespace(w.namespace), client.MatchingLabels{rayv1.LabelNodeType: "worker"}); err != nil || len(pods.Items) != 1 {
				w.Fatalf("%d workers, %v", len(pods.Items), err)
			}
			patch = strings.TrimSuffix(patch, "]") + fmt.Sprintf(`,{"op":"add","path":"/spec/workerGroupSpecs/0/scaleStrategy","value":{"workersToDelete":[%q]}}]`, pods.Items[0].Name)
		}
		if err := product.kube.Patch(w.Context(), rc, client.RawPatch("application/json-patch+json", []byte(patch))); err != nil {
			w.Fatal(err)
		}
		eventually(w.T, fmt.Sprintf("%d workers", workers), func() error {
			w.stored("demo", rc)
			if rc.Status.AvailableWorkerReplicas != workers {
				return fmt.Errorf("%d workers are available", rc.Status.AvailableWorkerReplicas)
			}
			return nil
		})
	}
	job, made := w.job("selector", "true"), &kuberay.RayJob{}
	job.ClusterSpec, job.ClusterSelector, job.ShutdownAfterJobFinishes, job.TtlSecondsAfterFinished = nil, map[string]string{"ray.io/cluster": "demo"}, false, 0
	w.ok("POST", w.path("jobs"), job, made)
	w.ended("selector", "SUCCEEDED")
}

// page is one of a list, with the names on it.
type page struct {
	names []string
	token string
}

// listing is how one kind is listed.
type listing struct {
	limit, token string
	// of reads an answer of a list in a namespace or of all, which have the same JSON.
	of func(w *world, path string) page
}

var listings = map[string]listing{
	"clusters": {"limit", "continue", func(w *world, path string) page {
		reply := &kuberay.ListAllClustersResponse{}
		w.ok("GET", path, nil, reply)
		return page{namesOf(reply.GetClusters()), reply.GetContinue()}
	}},
	"jobs": {"limit", "continue", func(w *world, path string) page {
		reply := &kuberay.ListAllRayJobsResponse{}
		w.ok("GET", path, nil, reply)
		return page{namesOf(reply.GetJobs()), reply.GetContinue()}
	}},
	"services": {"pageSize", "pageToken", func(w *world, path string) page {
		reply := &kuberay.ListAllRayServicesResponse{}
		w.ok("GET", path, nil, reply)
		return page{namesOf(reply.GetServices()), reply.GetNextPageToken()}
	}},
}

func namesOf[M interface {
	GetNamespace() string
	GetName() string
}](all []M) []string {
	var names []string
	for _, m := range all {
		names = append(names, m.GetNamespace()+"/"+m.GetName())
	}
	return names
}

// pages reads a list to its end, with both parameters in every request, as the Go client sends them.
func (l listing) pages(w *world, path string, limit int) []page {
	w.Helper()
	var all []page
	for token := ""; ; {
		p := l.of(w, fmt.Sprintf("%s?%s=%s&%s=%d", path, l.token, token, l.limit, limit))
		all = append(all, p)
		if token = p.token; token == "" {
			return all
		}
		if len(all) > 100 {
			w.Fatalf("%s does not end", path)
		}
	}
}

// TestLists counts all objects that there are, so nothing else may run beside it.
func TestLists(t *testing.T) {
	eventually(t, "all of other tests is gone", func() error {
		for kind, l := range listings {
			if p := l.of(&world{T: t, goClient: product.rest}, "/apis/v1/"+kind); len(p.names) > 0 {
				return fmt.Errorf("there are %v", p.names)
			}
		}
		return nil
	})
	var worlds []*world
	for range 3 {
		worlds = append(worlds, newWorld(t))
	}
	slices.SortFunc(worlds, func(a, b *world) int {
		if a.namespace < b.namespace {
			return -1
		}
		return 1
	})
	want := map[string][]string{}
	for i, w := range worlds {
		name := fmt.Sprintf("cluster%d", i)
		w.ok("POST", w.path("clusters"), w.cluster(name), &kuberay.Cluster{})
		want["clusters"] = append(want["clusters"], w.namespace+"/"+name)
		w.ok("POST", w.path("jobs"), w.job("job", "true"), &kuberay.RayJob{})
		want["jobs"] = append(want["jobs"], w.namespace+"/job")
		for _, name := range []string{"service0", "service1"} {
			w.ok("POST", w.path("services"), w.service(name), &kuberay.RayService{})
			want["services"] = append(want["services"], w.namespace+"/"+name)
		}
	}
	w := worlds[0]
	for kind, more := range map[string]int{"clusters": 10, "jobs": 4, "services": 7} {
		l, all := listings[kind], want[kind]
		t.Run(kind+"/list all, limit 1", func(t *testing.T) {
			pages := l.pages(w.in(t), "/apis/v1/"+kind, 1)
			if len(pages) != len(all) {
				t.Fatalf("%d pages, want %d: %v", len(pages), len(all), pages)
			}
			for i, p := range pages {
				if !slices.Equal(p.names, all[i:i+1]) || (p.token == "") != (i == len(all)-1) {
					t.Errorf("page %d is %v with token %q, want %s", i+1, p.names, p.token, all[i])
				}
			}
		})
		t.Run(kind+"/list all, a limit beyond the total, the total, and none", func(t *testing.T) {
			for _, limit := range []int{more, len(all), 0} {
				if pages := l.pages(w.in(t), "/apis/v1/"+kind, limit); len(pages) != 1 || !slices.Equal(pages[0].names, all) {
					t.Errorf("with limit %d: %v, want %v", limit, pages, all)
				}
			}
		})
		t.Run(kind+"/list in namespace", func(t *testing.T) {
			pages := l.pages(w.in(t), w.path(kind), 0)
			if len(pages) != 1 || len(pages[0].names) != len(all)/3 || pages[0].names[0] != all[0] {
				t.Errorf("%v, want the first of %v", pages, all)
			}
		})
		t.Run(kind+"/the limit may change between pages, and any gateway takes a token", func(t *testing.T) {
			first := l.of(w.in(t), fmt.Sprintf("/apis/v1/%s?%s=1", kind, l.limit))
			rest := l.of(w.in(t), fmt.Sprintf("/apis/v1/%s?%s=100&%s=%s", kind, l.limit, l.token, first.token))
			if got := slices.Concat(first.names, rest.names); !slices.Equal(got, all) || rest.token != "" {
				t.Errorf("%v, token %q, want %v", got, rest.token, all)
			}
		})
		t.Run(kind+"/an empty namespace in the path", func(t *testing.T) { w.in(t).refused(404, "GET", pathIn("", kind), nil) })
	}
	t.Run("jobs/list in namespace, job0 to job9", func(t *testing.T) {
		w := newWorld(t)
		var want []string
		for i := range 10 {
			job := w.job(fmt.Sprintf("job%d", i), "true")
			job.ClusterSpec, job.ClusterSelector, job.ShutdownAfterJobFinishes, job.TtlSecondsAfterFinished = nil, map[string]string{"ray.io/cluster": "none"}, false, 0
			w.ok("POST", w.path("jobs"), job, &kuberay.RayJob{})
			want = append(want, w.namespace+"/"+job.GetName())
		}
		for _, limit := range []int{1, 10, 0} {
			var got []string
			for _, p := range listings["jobs"].pages(w, w.path("jobs"), limit) {
				got = append(got, p.names...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("with limit %d: %v, want %v", limit, got, want)
			}
		}
	})
	t.Run("clusters/list in namespace, cluster1 and cluster2, limit 1", func(t *testing.T) {
		w := newWorld(t)
		for _, name := range []string{"cluster2", "cluster1"} {
			w.ok("POST", w.path("clusters"), w.cluster(name), &kuberay.Cluster{})
		}
		pages := listings["clusters"].pages(w, w.path("clusters"), 1)
		if len(pages) != 2 || pages[0].names[0] != w.namespace+"/cluster1" || pages[1].names[0] != w.namespace+"/cluster2" {
			t.Errorf("pages %v", pages)
		}
	})
	t.Run("empty lists", func(t *testing.T) {
		for kind, want := range map[string]string{"clusters": `{"clusters":[]}`, "compute_templates": `{"computeTemplates":[]}`, "jobs": `{}`, "services": `{}`} {
			code, body, err := w.send(t.Context(), http.MethodGet, pathIn("nothing-there", kind), nil)
			if err != nil || code != 200 || string(body) != want {
				t.Errorf("%s: %d %s, %v, want %s", kind, code, body, err, want)
			}
		}
	})
}
