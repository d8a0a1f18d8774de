package migrate

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/test/controlplane"
)

// shared has no Pods: nothing runs from the objects.
var shared = controlplane.Share(controlplane.Options{CRDs: controlplane.LightCRDs, Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { shared.Main(m) }

// recorded notes what a client asks for.
type recorded struct {
	mu       sync.Mutex
	requests []string
}

func (r *recorded) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, request.Method+" "+request.URL.Path+"?"+request.URL.RawQuery)
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// reader is a client with the rights of testdata/reader.yaml and no others, and what it asks for.
func reader(t *testing.T, w *controlplane.World, env *controlplane.Env) (*rest.Config, *recorded) {
	t.Helper()
	text, err := os.ReadFile("testdata/reader.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		t.Fatal(err)
	}
	role.Name += "-" + w.Namespace
	w.Create(role)
	w.Create(&corev1.ServiceAccount{ObjectMeta: w.At("reader")})
	w.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.Namespace, Name: "reader"}},
	})
	path, err := env.KubeconfigOf(t.Context(), t.TempDir(), w.Namespace, "reader")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	r := &recorded{}
	config.Wrap(r.wrap)
	return config, r
}

// object makes an object of a kind with a spec in YAML.
func object(t *testing.T, kind, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: ray.io/v1, kind: %s, metadata: {name: %s, namespace: %s}, spec: %s}", kind, name, namespace, spec)
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestCheckReadsOnly runs the check with the least rights over several pages of objects: it asks for nothing but objects and reviews, finds
// what the rules find, and keeps no object.
func TestCheckReadsOnly(t *testing.T) {
	env := shared.Env(t)
	w := env.World(t, "migrate-")
	config, seen := reader(t, w, env)
	const clusters = 7
	for i := range clusters {
		rc := raytest.RayCluster(fmt.Sprintf("%s/c%d", w.Namespace, i), raytest.Workers("cpu", 1))
		rc.UID, rc.Generation = "", 0
		w.Create(rc)
	}
	// Passes the CRDs, since the gate that decides is the operator's.
	w.Create(object(t, "RayCluster", w.Namespace, "closed", `{networkPolicy: {mode: DenyAll}, headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: a}]}}}}`))
	w.Create(object(t, "RayJob", w.Namespace, "back", `{entrypoint: a, rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: a}]}}}}}`))
	job := &rayv1.RayJob{ObjectMeta: w.At("back")}
	w.Read(job)
	job.Annotations = map[string]string{rayv1.AnnotationProbes: "false"}
	if err := w.Client.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}

	d := deployment([]string{"--config=/etc/kuberay/config.yaml", "--feature-gates=RayClusterNetworkPolicy=false"})
	d.Namespace = w.Namespace
	d.Spec.Template.Labels = map[string]string{"app": "kuberay"}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.Spec.Template.Labels}
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}}}
	d.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/kuberay"}}
	w.Create(d)
	w.Create(&corev1.ConfigMap{ObjectMeta: w.At("config"), Data: map[string]string{"config.yaml": "apiVersion: config.ray.io/v1alpha1\nkind: Configuration\nbatchScheduler: volcano\n"}})

	checker, err := New(config, Options{Namespaces: []string{w.Namespace}})
	if err != nil {
		t.Fatal(err)
	}
	checker.page = 3
	report, err := checker.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, request := range seen.requests {
		if strings.Contains(request, "rayclusters") && strings.Contains(request, "limit=3") {
			pages++
		}
		if !strings.HasPrefix(request, "GET ") && request != "POST /apis/authorization.k8s.io/v1/subjectaccessreviews?" {
			t.Errorf("it did not only read: %s", request)
		}
		if strings.Contains(request, "watch=") {
			t.Errorf("it watches: %s", request)
		}
	}
	if pages != 3 {
		t.Errorf("%d pages of RayClusters, want 3: %v", pages, seen.requests)
	}
	counts := map[string]int{}
	for _, o := range report.Objects {
		counts[o.Kind] = o.Count
	}
	if counts["RayCluster"] != clusters+1 || counts["RayJob"] != 1 || counts["RayService"] != 0 || len(counts) != 4 {
		t.Errorf("objects %v", report.Objects)
	}
	closed := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Name == "closed" && f.Severity == Error })
	if closed < 0 || report.Findings[closed].Rule == "" || report.Findings[closed].Field == "" {
		t.Errorf("nothing is said of a cluster that needs a gate that is off: %+v", report.Findings)
	}
	if len(report.Back) != 1 || report.Back[0].What != "annotation raygate.io/probes" {
		t.Errorf("the way back: %+v", report.Back)
	}
	if len(report.Operators) != 1 || report.Operators[0].scheduler != "volcano" {
		t.Errorf("operators: %+v", report.Operators)
	}
	if !slices.ContainsFunc(report.Rights.Missing, func(m Missing) bool { return m.Group == "scheduling.volcano.sh" && m.Resource == "podgroups" }) {
		t.Errorf("rights of the batch scheduler are not asked for: %+v", report.Rights)
	}
	var text, asJSON bytes.Buffer
	if report.WriteText(&text) != nil || report.WriteJSON(&asJSON) != nil || !strings.Contains(text.String(), "Nothing was written") || !strings.Contains(asJSON.String(), `"storedVersions"`) {
		t.Errorf("the report cannot be read:\n%s%s", text.String(), asJSON.String())
	}
}

// TestCheckOfRights: with the roles of the manifests nothing is missing, for a ServiceAccount of any name.
func TestCheckOfRights(t *testing.T) {
	env := shared.Env(t)
	w := env.World(t, "rights-")
	config, _ := reader(t, w, env)
	w.Create(&corev1.ServiceAccount{ObjectMeta: w.At("operator")})
	check := func() *Report {
		t.Helper()
		checker, err := New(config, Options{ServiceAccount: w.Namespace + "/operator", Namespaces: []string{w.Namespace}})
		if err != nil {
			t.Fatal(err)
		}
		r := newReport()
		if err := checker.checkRights(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := check(); len(r.Rights.Missing) < 20 || r.Errors != len(r.Rights.Missing) {
		t.Errorf("of a ServiceAccount without rights: %d missing, %d errors", len(r.Rights.Missing), r.Errors)
	}
	for _, role := range rolesFor(nil) {
		rules, err := rulesOf(role)
		if err != nil {
			t.Fatal(err)
		}
		name := role + "-" + w.Namespace
		w.Create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
		w.Create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.Namespace, Name: "operator"}},
		})
	}
	w.Eventually("the rights to be known", func() bool { return len(check().Rights.Missing) == 0 })
}

// TestCheckSaysWhatItMayNot: without the right to ask for rights, the rest is reported; without that to read objects, there is no verdict.
func TestCheckSaysWhatItMayNot(t *testing.T) {
	env := shared.Env(t)
	w := env.World(t, "may-not-")
	config, _ := reader(t, w, env)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "raygate-migrate-check-" + w.Namespace}}
	run := func(resource string) (*Report, error) {
		t.Helper()
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(role), role); err != nil {
			t.Fatal(err)
		}
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, resource) })
		if err := w.Client.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
		checker, err := New(config, Options{ServiceAccount: w.Namespace + "/reader"})
		if err != nil {
			t.Fatal(err)
		}
		return checker.Run(t.Context(), nil)
	}
	w.Eventually("the review to be refused", func() bool {
		r, err := run("subjectaccessreviews")
		return err == nil && slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Area == AreaRights && strings.Contains(f.Message, "not known") })
	})
	w.Eventually("objects to be refused", func() bool {
		_, err := run("rayclusters")
		return err != nil && strings.Contains(err.Error(), "listing ray") && strings.Contains(err.Error(), "forbidden")
	})
}
