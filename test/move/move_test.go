package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/controlplane"
	"github.com/raygate/raygate/test/docs"
)

const (
	root = "../.."
	// page is what the commands are marked with.
	page = "test/move TestMoveAndBack"
)

// cluster is a control plane on which KubeRay was installed.
type cluster struct {
	t         *testing.T
	env       *controlplane.Env
	client    client.Client
	namespace string
	crds      string
	work      string
}

// TestMoveAndBack runs the commands of docs/moving-from-kuberay.md, each block as it stands there and in the order of the page. Between them it
// looks at what becomes of the objects; the operator runs outside of the cluster, as its ServiceAccount and with no right but those of the manifests.
func TestMoveAndBack(t *testing.T) {
	blocks, err := docs.RunBy(root, page)
	if err != nil || len(blocks) != 7 {
		t.Fatalf("%d blocks of commands, want 7: %v", len(blocks), err)
	}
	look, keep, stop, webhooks, install, back, remove := blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], blocks[5], blocks[6]
	c := newCluster(t)
	c.leaveObjects()
	production := newProduction(c)
	before, jobs := c.pods(), c.jobs()
	if len(before) != 7 {
		t.Fatalf("%d Pods, want 7", len(before))
	}

	report := c.run(look)
	for _, want := range []string{
		"rayclusters.ray.io: KubeRay's; served v1, v1alpha1, stored v1; storedVersions v1", "kubectl-create", "Deployment kuberay/kuberay-operator: quay.io/kuberay/operator:v1.7.0",
		"flag --qps=100.0: here --kube-api-qps", "environment ENABLE_PROBES_INJECTION=true: the same here",
		"ServiceAccount kuberay/kuberay-operator", "roles.rbac.authorization.k8s.io: may not create", "RayCluster: 6, of which 0 with errors", "RayJob: 4, of which 0 with errors", "RayService: 2, of which 0 with errors", "nothing on the objects that KubeRay does not know",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	c.run(keep)
	c.run(stop)
	c.run(webhooks)
	if report := c.run(install); !strings.Contains(report, "rayclusters.ray.io: raygate's") || !strings.Contains(report, "0 errors") {
		t.Errorf("after the installation:\n%s", report)
	}
	c.unchanged("by the CRDs", before)
	production.only("without an operator")

	operator := c.startOperator()
	c.takenOver()
	c.unchanged("by the new operator", before)
	if diff := cmp.Diff(jobs, c.jobs()); diff != "" {
		t.Errorf("jobs that ended or wait were changed (-before +after):\n%s", diff)
	}
	c.scale(before)
	production.underRaygate()
	operator.Stop()
	if log := string(operator.Tail(1 << 20)); strings.Contains(log, "forbidden") {
		t.Errorf("a right is missing:\n%s", log)
	}

	scaled := c.pods()
	report = c.run(back)
	if !strings.Contains(report, "conditions Running, Suspended, Complete, Failed, InvalidSpec, DashboardUnreachable, Ready, Reconciling, Stalled of RayJob") {
		t.Errorf("the report does not say what KubeRay drops:\n%s", report)
	}
	if left := c.bash("kubectl", "kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings -o name"); left != "" {
		t.Errorf("updates under KubeRay are still validated by\n%s", left)
	}
	c.unchanged("by the way back", scaled)
	c.kubeRayAgain()
	production.kubeRayAgain()
	c.run(remove)
	c.unchanged("by the removal", scaled)
	production.only("by the way back", podsOf(upgrading+"-4bxk9", ending+"-x2f7q")...)
}

func newCluster(t *testing.T) *cluster {
	env := controlplane.Start(t, controlplane.Options{CRDs: controlplane.NoCRDs, Own: true})
	kube, err := client.New(env.Config, client.Options{Scheme: controlplane.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, env: env, client: kube, namespace: "research", crds: write(t, kubeRayCRDs(t)), work: t.TempDir()}
	c.bash("the CRDs of KubeRay", fmt.Sprintf("kubectl create -f %[1]s || kubectl get -f %[1]s", c.crds))
	c.established()
	c.kubectl("apply", "-f", "test/move/testdata/kuberay.yaml")
	c.kubectl("rollout", "status", "deployment", "kuberay-operator", "-n", "kuberay", "--timeout=120s")
	c.makeNamespace()
	return c
}

// established waits for all CRDs. kubectl fails on one that has no conditions yet.
func (c *cluster) established() {
	c.t.Helper()
	c.bash("the CRDs", "for i in {1..60}; do kubectl wait crd --all --for=condition=Established --timeout=120s && exit; sleep 1; done; exit 1")
}

func (c *cluster) makeNamespace() {
	c.t.Helper()
	c.kubectl("create", "namespace", c.namespace)
	c.eventually("the default service account", func() error {
		return c.client.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
}

// leaveObjects makes what KubeRay leaves.
func (c *cluster) leaveObjects() {
	c.t.Helper()
	files := filepath.Join(root, "operator", "internal", "controller", "raycluster", "testdata")
	owner := c.create(filepath.Join(files, "takeover-cluster.yaml"), "")
	c.create(filepath.Join(files, "takeover.yaml"), owner)
	c.create(filepath.Join("testdata", "jobs.yaml"), "")
	c.eventually("the Pods of KubeRay", func() error {
		var pods corev1.PodList
		if err := c.client.List(c.t.Context(), &pods, client.InNamespace(c.namespace)); err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.Status.Phase != corev1.PodRunning || !slices.ContainsFunc(p.Status.Conditions, func(d corev1.PodCondition) bool { return d.Type == corev1.PodReady && d.Status == corev1.ConditionTrue }) {
				return fmt.Errorf("%s is not ready", p.Name)
			}
		}
		return nil
	})
	live := &rayv1.RayCluster{}
	if err := c.client.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "live"}, live); err != nil {
		c.t.Fatal(err)
	}
	live.Status = rayv1.RayClusterStatus{State: rayv1.ClusterStateReady, DesiredWorkerReplicas: 6, ReadyWorkerReplicas: 6, AvailableWorkerReplicas: 6, MaxWorkerReplicas: 18}
	if err := c.client.Status().Update(c.t.Context(), live); err != nil {
		c.t.Fatal(err)
	}
}

// create makes the objects of a file, with their status, and returns the UID of the first.
func (c *cluster) create(file, owner string) string {
	c.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.createText(strings.NewReplacer("NAMESPACE", c.namespace, "OWNER", owner, "KUBERAY", "v1.7.0").Replace(string(data)))
}

func (c *cluster) createText(text string) string {
	c.t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	first := ""
	for {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(&u.Object); errors.Is(err, io.EOF) {
			return first
		} else if err != nil {
			c.t.Fatal(err)
		}
		status, has := u.Object["status"]
		if err := c.client.Create(c.t.Context(), u); err != nil {
			c.t.Fatal(err)
		}
		if has {
			u.Object["status"] = status
			if err := c.client.Status().Update(c.t.Context(), u); err != nil {
				c.t.Fatal(err)
			}
		}
		if first == "" {
			first = string(u.GetUID())
		}
	}
}

// run runs a block of commands as it stands on the page, from the root of the repository, and returns what it prints.
func (c *cluster) run(b docs.Block) string {
	c.t.Helper()
	return c.bash(b.Where(), b.Text)
}

func (c *cluster) kubectl(args ...string) {
	c.t.Helper()
	c.bash("kubectl", "kubectl "+strings.Join(args, " "))
}

func (c *cluster) bash(what, script string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), await.Limit)
	defer cancel()
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		c.t.Fatal(err)
	}
	// Files that the commands write go to a folder of this test.
	script = strings.NewReplacer("> ray-", "> "+c.work+"/ray-").Replace(script)
	for {
		cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.env.Kubeconfig, "PATH="+bin+":"+filepath.Join(bin, "k8s")+":"+os.Getenv("PATH"), "KUBERAY_NAMESPACE=kuberay", "KUBERAY_CRDS="+c.crds)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if err == nil {
			return out.String()
		}
		// An API server under load may not finish the write of a CRD in its 34 s. Users repeat such commands.
		if ctx.Err() != nil || !strings.Contains(errs.String(), "Error from server (Timeout)") {
			c.t.Fatalf("%s: %v\n%s\n%s%s", what, err, script, out.String(), errs.String())
		}
	}
}

// TestRepeatsTimeouts runs a command that ends as kubectl does if an API server does not finish a request in time, but only once.
func TestRepeatsTimeouts(t *testing.T) {
	c := &cluster{t: t, env: &controlplane.Env{}, work: t.TempDir()}
	if out := c.bash("a timeout", fmt.Sprintf(`test -e %[1]s && echo done || { touch %[1]s; echo "Error from server (Timeout): Timeout" >&2; exit 1; }`, filepath.Join(c.work, "tried"))); out != "done\n" {
		t.Errorf("printed %q", out)
	}
}

// pods are the Pods with their UIDs: the same ones were not made anew.
func (c *cluster) pods() map[string]string {
	c.t.Helper()
	var list corev1.PodList
	if err := c.client.List(c.t.Context(), &list, client.InNamespace(c.namespace)); err != nil {
		c.t.Fatal(err)
	}
	all := map[string]string{}
	for _, p := range list.Items {
		all[p.Name] = string(p.UID)
		if p.DeletionTimestamp != nil {
			all[p.Name] += " is being deleted"
		}
	}
	return all
}

func (c *cluster) unchanged(by string, before map[string]string) {
	c.t.Helper()
	if diff := cmp.Diff(before, c.pods()); diff != "" {
		c.t.Fatalf("Pods were changed %s (-before +after):\n%s", by, diff)
	}
}

// jobs are the states of jobs that must not begin again.
func (c *cluster) jobs() map[string]string {
	c.t.Helper()
	var list rayv1.RayJobList
	if err := c.client.List(c.t.Context(), &list, client.InNamespace(c.namespace)); err != nil {
		c.t.Fatal(err)
	}
	all := map[string]string{}
	for _, j := range list.Items {
		all[j.Name] = fmt.Sprint(j.UID, j.Status.JobDeploymentStatus, j.Status.JobStatus, j.Status.RayClusterName, j.Status.JobId)
	}
	return all
}

// startOperator runs the operator as the ServiceAccount of its Deployment, whose Pod on a simulated node does nothing.
func (c *cluster) startOperator() *programs.Program {
	c.t.Helper()
	kubeconfig, err := c.env.KubeconfigOf(c.t.Context(), c.t.TempDir(), "raygate-system", "raygate-operator")
	if err != nil {
		c.t.Fatal(err)
	}
	// It is outside of the network of the Pods, and reaches dashboards through the API server.
	for _, file := range []string{"role.yaml", "role_binding.yaml"} {
		c.kubectl("apply", "--server-side", "-f", "operator/config/components/kubernetes-proxy/"+file)
	}
	ports, err := programs.FreePorts(2)
	if err != nil {
		c.t.Fatal(err)
	}
	p := &programs.Program{
		Path: programs.Binary("raygate-operator"), Log: filepath.Join(c.t.TempDir(), "operator.log"), Ready: fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]),
		Args: []string{"--kubeconfig=" + kubeconfig, "--leader-election-namespace=raygate-system", "--feature-gates=RayCronJob=true", "--use-kubernetes-proxy",
			fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1])},
	}
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(p.Stop)
	return p
}

// takenOver waits until the operator has looked at every object.
func (c *cluster) takenOver() {
	c.t.Helper()
	key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: c.namespace, Name: name} }
	c.eventually("the operator to look at all objects", func() error {
		rc, done, held := &rayv1.RayCluster{}, &rayv1.RayJob{}, &rayv1.RayJob{}
		if err := errors.Join(c.client.Get(c.t.Context(), key("live"), rc), c.client.Get(c.t.Context(), key("done"), done), c.client.Get(c.t.Context(), key("held"), held)); err != nil {
			return err
		}
		if rc.Status.ObservedGeneration != rc.Generation || rc.Status.Head.PodName == "" || rc.Status.State != rayv1.ClusterStateReady {
			return fmt.Errorf("status of the cluster %+v", rc.Status)
		}
		if done.Status.ObservedGeneration != done.Generation || len(held.Status.Conditions) == 0 { // a job that KubeRay ended gets no conditions
			return fmt.Errorf("status of the jobs %+v, %+v", done.Status, held.Status)
		}
		return nil
	})
}

// scale shows that the operator is in charge: one worker more comes, and nothing else happens.
func (c *cluster) scale(before map[string]string) {
	c.t.Helper()
	c.kubectl("patch", "raycluster", "live", "-n", c.namespace, "--type=json", "-p", `'[{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 3}]'`)
	var after map[string]string
	c.eventually("one more worker", func() error {
		if after = c.pods(); len(after) != len(before)+1 {
			return fmt.Errorf("%d Pods", len(after))
		}
		return nil
	})
	maps.DeleteFunc(after, func(name, _ string) bool { return before[name] == "" })
	if diff := cmp.Diff(before, after); diff != "" {
		c.t.Errorf("scaling changed other Pods (-before +after):\n%s", diff)
	}
}

// kubeRayAgain looks at the cluster as KubeRay finds it: objects under its CRDs, which can be read and written.
func (c *cluster) kubeRayAgain() {
	c.t.Helper()
	if got := c.bash("the CRD", `kubectl get crd rayclusters.ray.io -o jsonpath='{.status.storedVersions} {.spec.conversion.strategy}'`); got != `["v1"] None` {
		c.t.Errorf("storedVersions and conversion are %s", got)
	}
	if got := c.bash("the list", `kubectl get crd rayclusters.ray.io -o jsonpath='{.spec.versions[?(@.name=="v1")].schema.openAPIV3Schema.properties.spec.properties.workerGroupSpecs.x-kubernetes-list-type}'`); got != "" {
		c.t.Errorf("worker groups are still a %s", got)
	}
	live, held := &rayv1.RayCluster{}, &unstructured.Unstructured{}
	held.SetAPIVersion("ray.io/v1")
	held.SetKind("RayJob")
	c.eventually("KubeRay to write", func() error {
		key := client.ObjectKey{Namespace: c.namespace, Name: "live"}
		if err := c.client.Get(c.t.Context(), key, live); err != nil {
			return err
		}
		live.Labels = map[string]string{"written-by": "kuberay"}
		if err := c.client.Update(c.t.Context(), live); err != nil {
			return err
		}
		if err := c.client.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "held"}, held); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(held.Object, "still held", "status", "message"); err != nil {
			return err
		}
		if err := c.client.Status().Update(c.t.Context(), held); err != nil {
			return err
		}
		if _, found, _ := unstructured.NestedSlice(held.Object, "status", "conditions"); found {
			return errors.New("conditions of the job are still there")
		}
		return nil
	})
	if !slices.Contains(live.Finalizers, rayv1.FinalizerGCSFTRedisCleanup) || len(live.Finalizers) != 1 {
		c.t.Errorf("finalizers %v, want that of KubeRay alone", live.Finalizers)
	}
	if len(live.Spec.WorkerGroupSpecs) != 2 || *live.Spec.WorkerGroupSpecs[0].Replicas != 3 {
		c.t.Errorf("groups %+v", live.Spec.WorkerGroupSpecs)
	}
	if finalizers := held.GetFinalizers(); slices.ContainsFunc(finalizers, func(f string) bool { return f != rayv1.FinalizerRayJob }) {
		c.t.Errorf("finalizers of the job %v, want that of KubeRay alone", finalizers)
	}
}

func (c *cluster) eventually(what string, check func() error) {
	c.t.Helper()
	await.NoError(c.t, what, check)
}
