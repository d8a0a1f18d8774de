package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/test/controlplane"
)

const systemNamespace = "raygate-system" // that of the manifests

var volcanoCRD = filepath.Join("..", "..", "internal", "controller", "raycluster", "testdata", "schedulers", "volcano.yaml")

// TestProcess runs the operator as it is installed: a process of its own, with the rights of operator/config/rbac and those of its
// batch scheduler and no more, a configuration file, a batch scheduler and leader election.
func TestProcess(t *testing.T) {
	ctx, env, c, must := installed(t)
	installComponent(ctx, t, c, "volcano")
	must(client.IgnoreAlreadyExists(c.Create(ctx, manifest(t, volcanoCRD))))

	file := filepath.Join(t.TempDir(), "config.yaml")
	must(os.WriteFile(file, []byte(fileHead+`
batchScheduler: volcano
leaderElectionNamespace: `+systemNamespace+`
reconcileConcurrency: 4
logStdoutEncoder: json
featureGates: {RayClusterNetworkPolicy: true}
defaultContainerEnvs: [{name: FROM_FILE, value: "yes"}]
defaultPodLabels: {team: research}
workerSidecarContainers: [{name: shipper, image: example.com/shipper}]
`), 0o600))
	ports, err := programs.FreePorts(2)
	must(err)
	metrics, health := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	cmd := operator(t, []string{"ENABLE_PROBES_INJECTION=false"}, "--kubeconfig="+operatorKubeconfig(ctx, t, env, c), "--config="+file,
		"--metrics-bind-address="+metrics, "--health-probe-bind-address="+health)
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if t.Failed() {
			t.Logf("the operator said:\n%s", out)
		}
	})

	rc := raytest.RayCluster("default/demo", raytest.Workers("cpu", 2))
	rc.UID, rc.Generation = "", 0
	must(c.Create(ctx, rc))
	var pods corev1.PodList
	eventually(ctx, t, "a head and two workers", func() bool {
		must(c.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{rayv1.LabelCluster: "demo"}))
		return len(pods.Items) == 3
	})
	for _, p := range pods.Items {
		worker := p.Labels[rayv1.LabelNodeType] == string(rayv1.WorkerNode)
		ray := p.Spec.Containers[0]
		if p.Labels["team"] != "research" || p.Spec.SchedulerName != "volcano" || ray.ReadinessProbe != nil ||
			!strings.Contains(fmt.Sprint(ray.Env), "FROM_FILE") || strings.Contains(fmt.Sprint(p.Spec.Containers), "example.com/shipper") != worker {
			t.Errorf("Pod %s lacks settings: labels %v, scheduler %q, containers %v", p.Name, p.Labels, p.Spec.SchedulerName, p.Spec.Containers)
		}
	}
	group := &unstructured.Unstructured{}
	group.SetAPIVersion("scheduling.volcano.sh/v1beta1")
	group.SetKind("PodGroup")
	must(c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "ray-demo-pg"}, group))
	if n, _, _ := unstructured.NestedInt64(group.Object, "spec", "minMember"); n != 3 {
		t.Errorf("minMember %d, want 3", n)
	}
	// The change of size needs other rights than the making, and the watch.
	must(c.Patch(ctx, rc, client.RawPatch("application/json-patch+json", []byte(`[{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":4}]`))))
	eventually(ctx, t, "a larger PodGroup", func() bool {
		must(c.Get(ctx, client.ObjectKeyFromObject(group), group))
		n, _, _ := unstructured.NestedInt64(group.Object, "spec", "minMember")
		return n == 5
	})
	eventually(ctx, t, "the status", func() bool {
		must(c.Get(ctx, client.ObjectKeyFromObject(rc), rc))
		return rc.Status.DesiredWorkerReplicas == 4
	})
	must(c.Create(ctx, gpuPodOf(ctx, t, c, rc)))
	eventually(ctx, t, "seconds of a GPU", func() bool {
		return strings.Contains(body(ctx, "http://"+metrics+"/metrics"), `raygate_accelerator_seconds_total{namespace="default",owner="demo",owner_kind="RayCluster",queue="",resource="GPU"}`)
	})
	if lease := (&coordinationv1.Lease{}); c.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: leaseName}, lease) != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Errorf("Lease %v, want it held", lease.Spec)
	}

	for _, path := range []string{"/healthz", "/readyz"} {
		eventually(ctx, t, path, func() bool { return body(ctx, "http://"+health+path) == "ok" })
	}
	scraped := body(ctx, "http://"+metrics+"/metrics")
	for _, series := range []string{
		`kuberay_cluster_info{name="demo",namespace="default",owner_kind="None",uid="` + string(rc.UID) + `"} 1`,
		`kuberay_cluster_condition_provisioned{condition=`,
		`rest_client_request_duration_seconds_bucket{host=`, `rest_client_rate_limiter_duration_seconds_bucket{host=`,
		`rest_client_request_size_bytes_bucket{host=`, `rest_client_response_size_bytes_bucket{host=`,
		`controller_runtime_reconcile_total{controller="raycluster",`,
	} {
		if !strings.Contains(scraped, series) {
			t.Errorf("metrics lack %s", series)
		}
	}

	must(cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v after SIGTERM", err)
		}
	case <-ctx.Done():
		t.Error("did not end after SIGTERM")
	}
	if text := out.String(); strings.Contains(text, "forbidden") || strings.Contains(text, "panic") {
		t.Error("a right is missing, or something broke")
	}
}

// body is what is served there with success, empty otherwise.
func body(ctx context.Context, url string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return ""
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

// installed is an API server with what the operator needs there, a context that ends before the test program does, and what fails the test.
func installed(t *testing.T) (context.Context, *controlplane.Env, client.Client, func(error)) {
	t.Helper()
	env := shared.Env(t)
	c := newClient(t, env)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	installOperator(ctx, t, c)
	return ctx, env, c, func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// installOperator gives the operator its namespace and the rights of every installation, unless another test did.
func installOperator(ctx context.Context, t *testing.T, c client.Client) {
	t.Helper()
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}}
	for _, name := range []string{"service_account", "role", "role_binding", "leader_election_role", "leader_election_role_binding"} {
		objects = append(objects, manifest(t, filepath.Join("..", "..", "config", "rbac", name+".yaml")))
	}
	for _, obj := range objects {
		if err := c.Create(ctx, obj); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
}

// installComponent gives the operator more rights until the end of the test.
func installComponent(ctx context.Context, t *testing.T, c client.Client, name string) {
	t.Helper()
	for _, file := range []string{"role.yaml", "role_binding.yaml"} {
		obj := manifest(t, filepath.Join("..", "..", "config", "components", name, file))
		if err := c.Create(ctx, obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Delete(context.Background(), obj) })
	}
}

func newClient(t *testing.T, env *controlplane.Env) client.Client {
	t.Helper()
	ctrllog.SetLogger(logr.Discard()) // warnings of deprecated versions
	c, err := client.New(env.Config, client.Options{Scheme: controlplane.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func manifest(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(text, &u.Object); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return u
}

// operatorKubeconfig is that of the operator's ServiceAccount.
func operatorKubeconfig(ctx context.Context, t *testing.T, env *controlplane.Env, c client.Client) string {
	t.Helper()
	var bindings rbacv1.ClusterRoleBindingList
	if err := c.List(ctx, &bindings); err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, b := range bindings.Items {
		for _, s := range b.Subjects {
			if s.Kind == rbacv1.ServiceAccountKind && s.Namespace == systemNamespace {
				name = s.Name
			}
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}}
	token := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(ctx, account, token); err != nil {
		t.Fatal(err)
	}
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: env.Server, CertificateAuthorityData: env.Config.CAData, CertificateAuthority: env.Config.CAFile}
	kubeconfig.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	kubeconfig.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	kubeconfig.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func eventually(ctx context.Context, t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited for %s in vain", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// output is written and read at the same time.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// gpuPodOf returns a Pod of the cluster that runs, because it is on a node.
func gpuPodOf(ctx context.Context, t *testing.T, c client.Client, rc *rayv1.RayCluster) *corev1.Pod {
	t.Helper()
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil || len(nodes.Items) == 0 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	p := &corev1.Pod{}
	p.Namespace, p.Name = rc.Namespace, "gpu"
	p.Labels = map[string]string{rayv1.LabelCluster: rc.Name, rayv1.LabelNodeType: string(rayv1.WorkerNode)}
	p.Spec = corev1.PodSpec{NodeName: nodes.Items[0].Name, Containers: []corev1.Container{{Name: "ray", Image: "example.com/ray", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
	}}}}
	return p
}
