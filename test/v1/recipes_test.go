package v1

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// TestRecipes replays what KubeRay's documents have users copy. Where a document is wrong its form is accepted all the same.
func TestRecipes(t *testing.T) {
	t.Run("smoke test", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.curl("GET", "/", "", 404, `{"code":5,`)
		w.curl("POST", w.path("compute_templates"), `{"name": "default-template", "namespace": "NS", "cpu": 2, "memory": 4}`, 200, `"cpu":2,"memory":4,"memoryUnit":"Gi"`)
		w.curl("GET", w.path("compute_templates"), "", 200, `"name":"default-template"`)
	})
	t.Run("clusters", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		for name, body := range map[string]string{
			"names of enums":                         `{"name":"NAME","namespace":"NS","user":"3cpo","version":"2.46.0","environment":"DEV","clusterSpec":{"headGroupSpec":{"computeTemplate":"template","image":"i:1","rayStartParams":{"dashboard-host":"0.0.0.0"},"volumes":[{"name":"code","mountPath":"/code","volumeType":"CONFIGMAP","source":"code","items":{"a":"a"}}]}}}`,
			"numbers of enums":                       `{"name":"NAME","namespace":"NS","user":"3cpo","version":"2.46.0","environment":0,"clusterSpec":{"headGroupSpec":{"computeTemplate":"template","image":"i:1","rayStartParams":{"dashboard-host":"0.0.0.0"},"volumes":[{"name":"code","mountPath":"/code","volumeType":3,"source":"code","items":{"a":"a"}}]}}}`,
			"workers without rayStartParams":         `{"name":"NAME","namespace":"NS","user":"3cpo","version":"2.46.0","clusterSpec":{"headGroupSpec":{"computeTemplate":"template","rayStartParams":{"a":"b"}},"workerGroupSpec":[{"groupName":"w","computeTemplate":"template","replicas":1,"minReplicas":1,"maxReplicas":1}]}}`,
			"images, no version, an empty volumes":   `{"name":"NAME","namespace":"NS","user":"3cpo","clusterSpec":{"headGroupSpec":{"computeTemplate":"template","image":"i:1","rayStartParams":{"a":"b"},"volumes":[]}}}`,
			"snake case":                             `{"name":"NAME","namespace":"NS","user":"3cpo","version":"2.46.0","cluster_spec":{"head_group_spec":{"compute_template":"template","ray_start_params":{"a":"b"}}}}`,
			"a class of storage by a wrong name":     `{"name":"NAME","namespace":"NS","user":"3cpo","version":"2.46.0","clusterSpec":{"headGroupSpec":{"computeTemplate":"template","rayStartParams":{"a":"b"},"volumes":[{"name":"e","mountPath":"/e","volumeType":"EPHEMERAL","storage":"10Gi","storageClass":"x"}]}}}`,
			"a Secret with items":                    `{"name":"NAME","namespace":"NS","user":"3cpo","version":"2.46.0","clusterSpec":{"headGroupSpec":{"computeTemplate":"template","rayStartParams":{"a":"b"},"volumes":[{"name":"s","mountPath":"/s","volumeType":"SECRET","source":"s","items":{"k":"p"}}]}}}`,
			"fault tolerance of old, external Redis": `{"name":"NAME","namespace":"NS","user":"3cpo","version":"2.46.0","annotations":{"ray.io/ft-enabled":"true"},"clusterSpec":{"headGroupSpec":{"computeTemplate":"template","rayStartParams":{"redis-password":"$REDIS_PASSWORD"},"environment":{"values":{"RAY_REDIS_ADDRESS":"redis.redis:6379"},"valuesFrom":{"REDIS_PASSWORD":{"source":1,"name":"redis-password-secret","key":"password"}}}}}}`,
		} {
			name = strings.ToLower(strings.NewReplacer(" ", "-", ",", "", ".", "").Replace(name))
			w.curl("POST", w.path("clusters"), strings.ReplaceAll(body, "NAME", name), 200, `"name":"`+name+`"`)
			rc := &rayv1.RayCluster{}
			w.stored(name, rc)
			if strings.HasPrefix(name, "fault") {
				await.NoError(t, "fault tolerance is on", func() error { // the operator understands what is of old
					pods := &corev1.PodList{}
					if err := product.kube.List(t.Context(), pods, client.InNamespace(w.namespace), client.MatchingLabels{rayv1.LabelCluster: name}); err != nil {
						return err
					}
					if len(pods.Items) == 0 || pods.Items[0].Annotations[rayv1.AnnotationFTEnabled] != "true" {
						return fmt.Errorf("%d Pods without the annotation", len(pods.Items))
					}
					return nil
				})
			}
		}
		w.curl("GET", w.path("clusters"), "", 200, `"items":{"k":"p"}`) // one Secret with items does not break the list
	})
	t.Run("autoscaling", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.curl("POST", w.path("clusters"), `{"name":"auto","namespace":"NS","user":"boris","version":"2.46.0","environment":"DEV","clusterSpec":{"enableInTreeAutoscaling":true,"autoscalerOptions":{"upscalingMode":"Default","idleTimeoutSeconds":30,"cpu":"500m","memory":"512Mi"},`+
			`"headGroupSpec":{"computeTemplate":"template","image":"i:1","rayStartParams":{"num-cpus":"0","dashboard-host":"0.0.0.0"}},"workerGroupSpec":[{"groupName":"small-wg","computeTemplate":"template","image":"i:1","replicas":0,"minReplicas":0,"maxReplicas":5,"rayStartParams":{"metrics-export-port":"8080"}}]}}`,
			200, `"enableInTreeAutoscaling":true,"autoscalerOptions":{"idleTimeoutSeconds":30,"upscalingMode":"Default","cpu":"500m","memory":"512Mi"}`)
		rc := &rayv1.RayCluster{}
		w.stored("auto", rc)
		if g := rc.Spec.WorkerGroupSpecs[0]; *g.MinReplicas != 0 || *g.MaxReplicas != 5 {
			t.Errorf("stored as %v", g)
		}
	})
	t.Run("job on an existing cluster", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.curl("POST", w.path("clusters"), `{"name":"job-test","namespace":"NS","user":"boris","version":"2.46.0","clusterSpec":{"headGroupSpec":{"computeTemplate":"template","image":"i:1","rayStartParams":{"dashboard-host":"0.0.0.0"}},`+
			`"workerGroupSpec":[{"groupName":"small-wg","computeTemplate":"template","image":"i:1","replicas":1,"minReplicas":0,"maxReplicas":1}]}}`, 200, `"replicas":1,"minReplicas":1,"maxReplicas":1`)
		w.curl("POST", w.path("jobs"), `{"name":"rayjob-test","namespace":"NS","user":"boris","entrypoint":"echo $counter_name","runtimeEnv":"env_vars:\n  counter_name: test_counter\n","clusterSelector":{"ray.io/cluster":"job-test"},`+
			`"jobSubmitter":{"image":"rayproject/ray:2.46.0-py310","cpu":"400m","memory":"150Mi"}}`, 200, `"jobSubmitter":{"image":"rayproject/ray:2.46.0-py310","cpu":"400m","memory":"150Mi"}`)
		w.ended("rayjob-test", "SUCCEEDED")
	})
	t.Run("job submission", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.ok("POST", w.path("clusters"), w.cluster("demo"), &kuberay.Cluster{})
		await.NoError(t, "the job is taken", func() error {
			code, body, err := w.send(t.Context(), "POST", w.path("jobsubmissions", "demo"), []byte(`{"entrypoint":"echo hello","runtimeEnv":"pip:\n  - requests==2.26.0\nenv_vars:\n  counter_name: test_counter\n","numCpus":".5"}`))
			if err != nil || code != 200 || !strings.Contains(string(body), `"submissionId":"`) {
				return fmt.Errorf("%d %s %w", code, body, err)
			}
			return nil
		})
		w.curl("GET", w.path("jobsubmissions", "demo"), "", 200, `"runtimeEnv":{"env_vars":"{\"counter_name\":\"test_counter\"}","pip":"`)
	})
	t.Run("services", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.curl("POST", w.path("services"), `{"name":"test-v2","namespace":"NS","user":"user","version":"2.46.0","serviceUnhealthySecondThreshold":900,"deploymentUnhealthySecondThreshold":300,`+
			`"serveConfigV2":"applications:\n  - name: fruit_app\n    import_path: fruit.deployment_graph\n    route_prefix: /fruit\n","clusterSpec":{"headGroupSpec":{"computeTemplate":"template","image":"i:1","rayStartParams":{"dashboard-host":"0.0.0.0","metrics-export-port":"8080"},"volumes":[]},`+
			`"workerGroupSpec":[{"groupName":"small-wg","computeTemplate":"template","image":"i:1","replicas":1,"minReplicas":0,"maxReplicas":5}]}}`, 200, `"serviceUnhealthySecondThreshold":900,"deploymentUnhealthySecondThreshold":300`)
		w.curl("GET", w.path("services", "test-v2"), "", 200, `"serveConfigV2":"applications:\n  - name: fruit_app\n`)
	})
	t.Run("security", func(t *testing.T) {
		t.Parallel()
		testSecurity(newWorld(t))
	})
	t.Run("V2", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		path := "/apis/ray.io/v1/namespaces/" + w.namespace + "/rayclusters"
		body := "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: yaml, labels: {team: a}}\nspec:\n  headGroupSpec:\n    rayStartParams: {}\n    template:\n      spec:\n        containers: [{name: ray-head, image: i:1}]\n"
		if code, answer, err := w.send(t.Context(), "POST", path, []byte(body), "Content-Type", "application/yaml"); err != nil || code != 201 {
			t.Fatalf("%d %s %v", code, answer, err)
		}
		for query, want := range map[string]int{"?labelSelector=team%3Da": 1, "?labelSelector=team%3Db": 0, "?fieldSelector=metadata.name%3Dyaml&limit=10": 1} {
			var list struct{ Items []object }
			code, answer, err := w.send(t.Context(), "GET", path+query, nil)
			if err != nil || code != 200 || json.Unmarshal(answer, &list) != nil || len(list.Items) != want {
				t.Errorf("%s: %d, %d items, %v", query, code, len(list.Items), err)
			}
		}
	})
}

// curl sends a body as it is, with NS for the namespace, and demands a part of the answer.
func (w *world) curl(method, path, body string, code int, want string) {
	w.Helper()
	got, answer, err := w.send(w.Context(), method, path, []byte(strings.ReplaceAll(body, "NS", w.namespace)))
	if err != nil || got != code || !strings.Contains(string(answer), want) {
		w.Errorf("%s %s: want %d and %s, got %d %s %v", method, path, code, want, got, answer, err)
	}
}

// testSecurity has the token of KubeRay's documents, which clients send without a scheme.
func testSecurity(w *world) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "callers", Namespace: w.namespace}}
	if err := product.kube.Create(w.Context(), account); err != nil {
		w.Fatal(err)
	}
	token := filepath.Join(w.TempDir(), "token")
	if err := os.WriteFile(token, []byte("12345\n"), 0o600); err != nil {
		w.Fatal(err)
	}
	c := startGateway(w.T, "127.0.0.1", "--authentication=none", "--v1-authentication=static-token", "--v1-service-account="+w.namespace+"/callers", "--v1-token-file="+token, "-cors-allow-origin=https://example.org")
	for header, want := range map[string]int{"": 401, "54321": 401, "12345": 200, "Bearer 12345": 200} {
		c.authorization = header
		code, body, headers, err := c.exchange(w.Context(), http.MethodGet, w.path("clusters"), nil)
		if err != nil || code != want || want == 401 && (!strings.HasPrefix(string(body), `{"code":16,"message":"`) || headers.Get("WWW-Authenticate") == "") {
			w.Errorf("with %q: %d %s, %v", header, code, body, err)
		}
	}
	c.authorization = ""
	for origin, allowed := range map[string]bool{"https://example.org": true, "https://example.com": false} { // also of a page that has the token
		_, _, headers, err := c.exchange(w.Context(), http.MethodOptions, w.path("clusters"), nil, "Origin", origin, "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "authorization")
		if err != nil || (headers.Get("Access-Control-Allow-Origin") == origin && strings.EqualFold(headers.Get("Access-Control-Allow-Headers"), "authorization")) != allowed {
			w.Errorf("a page of %s: %v %v", origin, headers, err)
		}
	}
	for _, path := range []string{"/healthz", "/livez", "/metrics", "/swagger-ui/"} { // who balances load has no token
		if code, _, err := c.send(w.Context(), http.MethodGet, path, nil); err != nil || code != 200 {
			w.Errorf("%s without a token: %d, %v", path, code, err)
		}
	}
}
