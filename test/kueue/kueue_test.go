package kueue

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/test/controlplane"
)

var shared = controlplane.Share(controlplane.Options{Own: true})

func TestMain(m *testing.M) { shared.Main(m) }

// queues are a queue for one CPU, in which jobs of higher priority preempt others.
const queues = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: any
      resources: [{name: cpu, nominalQuota: 1}, {name: memory, nominalQuota: 1Gi}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team-a}
spec: {clusterQueue: all}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
`

// world is a namespace with a queue.
type world struct {
	*testing.T
	*gateway
	client client.Client
	// dir has a file for each job that may end.
	dir string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	suite.All(t, "builds Kueue, which takes minutes the first time, and fails only with another version of Kueue or another operator")
	env := shared.Env(t)
	c, err := client.New(env.Config, client.Options{Scheme: controlplane.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	startKueue(t, c, env.Kubeconfig)
	w := &world{T: t, client: c, dir: t.TempDir()}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "kueue-"}}
	create(t, c, ns)
	w.gateway = startProduct(t, env, ns.Name)
	w.addQueues(c, queues)
	return w
}

// addQueues creates objects of Kueue.
func (w *world) addQueues(c client.Client, text string) {
	w.Helper()
	for _, o := range parse(text) {
		if o.GetKind() == "LocalQueue" {
			o.SetNamespace(w.namespace)
		}
		w.eventually("the webhooks of Kueue", func() error { return client.IgnoreAlreadyExists(c.Create(w.Context(), o)) })
	}
}

func (w *world) eventually(what string, check func() error) {
	w.Helper()
	await.NoError(w.T, what, check)
}

// submit submits a job that takes all of the quota, and runs until finish is called.
func (w *world) submit(name string, flags ...string) {
	w.Helper()
	command := fmt.Sprintf("until test -e %s/%s; do sleep 0.2; done", w.dir, name)
	args := []string{"submit", "--name", name, "--queue", "team-a", "--head-memory", "1Gi", "--submission-mode", "HTTPMode", "--ttl", "0", "--detach"}
	raygate(w.T, w.gateway, slices.Concat(args, flags, []string{"--", command})...)
}

func (w *world) finish(name string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), nil, 0o600); err != nil {
		w.Fatal(err)
	}
}

// awaitJob waits for a state of a RayJob.
func (w *world) awaitJob(name string, want rayv1.JobDeploymentStatus) {
	w.Helper()
	w.eventually("job "+name+" is "+string(want), func() error {
		job := &rayv1.RayJob{}
		if err := w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, job); err != nil {
			return err
		}
		if job.Status.JobDeploymentStatus != want {
			return fmt.Errorf("suspend %v, status %+v", job.Spec.Suspend, job.Status)
		}
		return nil
	})
}

// awaitFinding waits until raygate diagnose has a finding with this reason, in which all of the texts occur.
func (w *world) awaitFinding(object, reason string, texts ...string) {
	w.Helper()
	w.eventually(object+" has the finding "+reason, func() error {
		out := raygate(w.T, w.gateway, "diagnose", object, "-o", "json")
		var diagnosis struct {
			Findings []struct{ Reason, Message string }
		}
		if err := json.Unmarshal(out, &diagnosis); err != nil {
			return err
		}
		for _, f := range diagnosis.Findings {
			if f.Reason == reason && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(f.Message, text) }) {
				w.Logf("%s: %s: %s", object, f.Reason, f.Message)
				return nil
			}
		}
		return fmt.Errorf("findings %s", out)
	})
}

func TestKueue(t *testing.T) {
	w := newWorld(t)
	w.Run("jobs", func(t *testing.T) { w.of(t).jobs() })
	w.Run("clusters and services", func(t *testing.T) { w.of(t).clustersAndServices() })
	w.Run("autoscaling", func(t *testing.T) { w.of(t).autoscaling() })
	w.Run("another cluster", func(t *testing.T) { w.of(t).multiKueue() })
	w.Run("samples", func(t *testing.T) { w.of(t).samples() })
	w.Run("rule X-502", func(t *testing.T) { w.of(t).refuses() })
}

// of returns the world for a subtest.
func (w *world) of(t *testing.T) *world {
	other := *w
	other.T = t
	return &other
}

// jobs: a job waits for quota, another one of higher priority takes the quota from a third, and all of them finish. Diagnoses say at each
// point what Kueue does.
func (w *world) jobs() {
	w.submit("first")
	w.awaitJob("first", rayv1.JobDeploymentStatusRunning)

	w.submit("second")
	w.awaitFinding("rayjob/second", "Queued", "queue team-a at position 1,", "cpu")
	w.awaitJob("second", rayv1.JobDeploymentStatusSuspended)
	table, state := raygateBoth(w.T, w.gateway, "get", "rayjob/second", "-o", "wide")
	if !strings.Contains(string(table), "team-a (waits)") || !strings.Contains(string(state), "rayjob/second: Queued: the RayJob waits in queue team-a at position 1,") {
		w.Errorf("raygate get prints:\n%s%s", table, state)
	}

	w.submit("third", "--priority-class", "high")
	w.awaitFinding("rayjob/first", "Evicted", "Preempted")
	w.awaitFinding("rayjob/first", "Queued", "queue team-a at position")
	w.awaitJob("first", rayv1.JobDeploymentStatusSuspended)
	w.awaitJob("third", rayv1.JobDeploymentStatusRunning)

	for _, name := range []string{"third", "first", "second"} {
		w.awaitJob(name, rayv1.JobDeploymentStatusRunning)
		w.finish(name)
		w.awaitJob(name, rayv1.JobDeploymentStatusComplete)
	}

	w.submit("lost", "--queue", "no-such-queue")
	w.awaitFinding("rayjob/lost", "QueueUnusable", "no-such-queue")
}

// clustersAndServices: a service waits until a cluster leaves the quota to it. Kueue of this version suspends the cluster of a service.
func (w *world) clustersAndServices() {
	queued := metav1.ObjectMeta{Namespace: w.namespace, Name: "waits", Labels: map[string]string{"kueue.x-k8s.io/queue-name": "team-a"}}
	one := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	spec := rayv1.RayClusterSpec{RayVersion: "2.52.0", HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}}}
	spec.HeadGroupSpec.Template.Spec.Containers = []corev1.Container{{
		Name: "ray-head", Image: "rayproject/ray:2.52.0", Resources: corev1.ResourceRequirements{Requests: one},
	}}
	cluster := &rayv1.RayCluster{ObjectMeta: *queued.DeepCopy(), Spec: spec}
	cluster.Name = "holds"
	create(w.T, w.client, cluster)
	w.awaitReady(cluster, string(rayv1.RayClusterProvisioned))

	service := &rayv1.RayService{ObjectMeta: queued, Spec: rayv1.RayServiceSpec{
		RayClusterSpec: *spec.DeepCopy(), ServeConfigV2: "applications: [{name: a, import_path: a.b, route_prefix: /}]",
	}}
	create(w.T, w.client, service)
	w.awaitFinding("rayservice/waits", "Queued", "queue team-a", "cpu")
	if err := w.client.Delete(w.Context(), cluster); err != nil {
		w.Fatal(err)
	}
	w.awaitReady(service, rayv1.RayServiceReady)
	if err := w.client.Delete(w.Context(), service); err != nil {
		w.Fatal(err)
	}
}

// samples: the samples with a queue are admitted to the queue that is a sample, too, and the job ends.
func (w *world) samples() {
	others := *w.gateway
	w.gateway = &others // of the namespace of the samples
	w.namespace = metav1.NamespaceDefault
	for _, file := range []string{"kueue/queues.yaml", "raycluster.kueue.yaml", "rayservice.kueue.yaml", "rayjob.kueue.yaml"} {
		w.sample(file)
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.namespace, Name: name} }
	w.awaitReady(&rayv1.RayCluster{ObjectMeta: named("kueue-cluster")}, string(rayv1.RayClusterProvisioned))
	w.awaitReady(&rayv1.RayService{ObjectMeta: named("kueue-service")}, rayv1.RayServiceReady)
	w.awaitJob("kueue-job", rayv1.JobDeploymentStatusComplete)
}

// sample creates the objects of a sample.
func (w *world) sample(file string) {
	w.Helper()
	for _, o := range decode(w.T, filepath.Join("..", "..", "samples", filepath.FromSlash(file))) {
		if o.GetKind() != "ResourceFlavor" && o.GetKind() != "ClusterQueue" {
			o.SetNamespace(w.namespace)
		}
		create(w.T, w.client, o)
	}
}

// awaitReady waits for a condition of a RayCluster or a RayService.
func (w *world) awaitReady(o client.Object, condition string) {
	w.Helper()
	w.eventually(o.GetName()+" is "+condition, func() error {
		if err := w.client.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		var conditions []metav1.Condition
		switch o := o.(type) {
		case *rayv1.RayCluster:
			conditions = o.Status.Conditions
		case *rayv1.RayService:
			conditions = o.Status.Conditions
		}
		if !meta.IsStatusConditionTrue(conditions, condition) {
			return fmt.Errorf("conditions %+v", conditions)
		}
		return nil
	})
}

// refuses holds rule X-502 to Kueue: it refuses what the rule warns of.
func (w *world) refuses() {
	w.Helper()
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray", Image: "rayproject/ray:2.52.0"}}}}
	group := func(name string) rayv1.WorkerGroupSpec {
		return rayv1.WorkerGroupSpec{
			GroupName: name, Replicas: new(int32(0)), MinReplicas: new(int32(0)), MaxReplicas: new(int32(1)), RayStartParams: map[string]string{}, Template: template,
		}
	}
	autoscales := func(j *rayv1.RayJob) { j.Spec.RayClusterSpec.EnableInTreeAutoscaling = new(true) }
	elastic := func(j *rayv1.RayJob) {
		autoscales(j)
		j.Annotations = map[string]string{"kueue.x-k8s.io/elastic-job": "true"}
	}
	for name, tc := range map[string]struct {
		change func(*rayv1.RayJob)
		// job and cluster are the fields for which Kueue refuses the RayJob, and a RayCluster like that of the job. Empty means that it accepts it.
		job, cluster string
	}{
		"no mistake":   {func(*rayv1.RayJob) {}, "", ""},
		"kept cluster": {func(j *rayv1.RayJob) { j.Spec.ShutdownAfterJobFinishes = false }, "shutdownAfterJobFinishes", ""},
		"autoscaling":  {autoscales, "enableInTreeAutoscaling", "enableInTreeAutoscaling"},
		"elastic":      {elastic, "enableInTreeAutoscaling", ""}, // of a RayJob since 0.16
		"group head": {func(j *rayv1.RayJob) {
			j.Spec.RayClusterSpec.WorkerGroupSpecs = []rayv1.WorkerGroupSpec{group("head")}
		}, "groupName", "groupName"},
		"8 groups": {func(j *rayv1.RayJob) {
			for i := range 8 {
				j.Spec.RayClusterSpec.WorkerGroupSpecs = append(j.Spec.RayClusterSpec.WorkerGroupSpecs, group(fmt.Sprintf("g%d", i)))
			}
		}, "workerGroupSpecs", "workerGroupSpecs"},
	} {
		job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "refused", Labels: map[string]string{"kueue.x-k8s.io/queue-name": "team-a"},
		}}
		job.Spec = rayv1.RayJobSpec{Entrypoint: "true", ShutdownAfterJobFinishes: true, RayClusterSpec: &rayv1.RayClusterSpec{}}
		job.Spec.RayClusterSpec.HeadGroupSpec = rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: template}
		tc.change(job)
		cluster := &rayv1.RayCluster{ObjectMeta: *job.ObjectMeta.DeepCopy(), Spec: *job.Spec.RayClusterSpec.DeepCopy()}
		for _, of := range []struct {
			object client.Object
			field  string
		}{{job, tc.job}, {cluster, tc.cluster}} {
			err := w.client.Create(w.Context(), of.object, client.DryRunAll)
			if of.field == "" && err != nil || of.field != "" && (err == nil || !strings.Contains(err.Error(), of.field)) {
				w.Errorf("%s, %T: error %v, want one about %q", name, of.object, err, of.field)
			}
		}
	}
}
