package realray

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// The head of a cluster whose GCS is stored in Redis is lost. Its workers and actors live on, and when the cluster is deleted nothing stays in
// Redis.
func TestHeadIsLostWithRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const password = "open sesame"
	w.redis(password)
	rc := w.cluster("demo", 1, func(rc *rayv1.RayCluster) {
		rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379", RedisPassword: &rayv1.RedisCredential{Value: password}}
	})
	w.headIsLost(rc)
	keys := func() string {
		return w.kubectl("exec", "redis", "--", "redis-cli", "--no-auth-warning", "-a", password, "--scan")
	}
	if keys() == "" {
		t.Fatal("Redis has nothing of the cluster")
	}
	if err := product.client.Delete(t.Context(), rc); err != nil {
		t.Fatal(err)
	}
	w.eventually("the cluster is gone", func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKeyFromObject(rc), rc); client.IgnoreNotFound(err) != nil || err == nil {
			return errNotYet
		}
		return nil
	})
	if left := keys(); left != "" {
		t.Errorf("what is left in Redis: %s", left)
	}
}

// redis starts a server that is called redis.
func (w *world) redis(password string) {
	w.t.Helper()
	w.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "redis", Namespace: w.ns, Labels: map[string]string{"app": "redis"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{
				Name: "redis", Image: image(),
				Command: []string{"redis-server", "--save", "", "--protected-mode", "no", "--requirepass", password},
			}},
		},
	})
	w.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "redis", Namespace: w.ns},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "redis"}, Ports: []corev1.ServicePort{{Port: 6379}}},
	})
}

// The same with the store that is part of Ray, on a volume.
func TestHeadIsLostWithRocksDB(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "volume")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{filepath.Dir(filepath.Dir(dir)), filepath.Dir(dir), dir} { // the containers have another user
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: w.ns},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: w.ns, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}},
		},
	}
	w.create(volume)
	t.Cleanup(func() { _ = product.client.Delete(context.Background(), volume) })
	rc := w.cluster("demo", 1, func(rc *rayv1.RayCluster) {
		rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{
			Backend: rayv1.GcsFTBackendRocksDB, Storage: &rayv1.GcsEmbeddedStorage{StorageClassName: &w.ns},
		}
	})
	w.headIsLost(rc)
}

// headIsLost kills the head of a cluster, and demands that an actor on a worker has lived on.
func (w *world) headIsLost(rc *rayv1.RayCluster) {
	w.t.Helper()
	w.ready(rc)
	count := func(want string, args ...string) {
		w.t.Helper()
		w.eventually("the actor counts to "+want, func(context.Context) error {
			out, err := w.exec(w.head(rc.Name).Name, append([]string{"python", scripts + "/counter.py"}, args...)...)
			if err != nil || !strings.Contains(out, "counted "+want+"\n") {
				return fmt.Errorf("%q, %w", out, err)
			}
			return nil
		})
	}
	count("1", "start")
	head, worker := w.head(rc.Name), w.pods(rc.Name, rayv1.WorkerNode)[0]
	if err := product.client.Delete(w.t.Context(), head, client.GracePeriodSeconds(0)); err != nil {
		w.t.Fatal(err)
	}
	w.eventually("there is another head", func(context.Context) error {
		if pods := w.pods(rc.Name, rayv1.HeadNode); len(pods) != 1 || pods[0].UID == head.UID || pods[0].Status.Phase != corev1.PodRunning {
			return errNotYet
		}
		return nil
	})
	count("2")
	w.joined(rc.Name, 1)
	after := w.pods(rc.Name, rayv1.WorkerNode)
	if len(after) != 1 || after[0].UID != worker.UID || after[0].Status.ContainerStatuses[0].RestartCount != 0 {
		w.t.Errorf("the worker did not live on: %+v", after)
	}
}

// Ray asks for the token that the operator has made; the operator, the gateway and the nodes have it.
func TestTokenAuthentication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", 1, func(rc *rayv1.RayCluster) { rc.Spec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken} })
	w.ready(rc)
	w.joined("demo", 1)
	secret := &corev1.Secret{}
	if err := product.client.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "demo"}, secret); err != nil {
		t.Fatal(err)
	}
	token := string(secret.Data["auth_token"])
	ray := target{"Ray", "http://" + w.head("demo").Status.PodIP + ":8265", ""}
	w.run("Ray and its simulator refuse alike", func(w *world) {
		compare(w.t, func(o *observer) { observeToken(o, token) }, ray, simulators(w.t, token))
	})
	w.run("submissions", func(w *world) {
		w.gateway("POST", "/clusters/demo/submissions", map[string]any{"submissionId": "hello", "entrypoint": hello})
		w.submissionEnds("demo", "hello", "SUCCEEDED")
	})
	w.run("RayJobs", func(w *world) {
		for _, mode := range []rayv1.JobSubmissionMode{rayv1.K8sJobMode, rayv1.HTTPMode} {
			name := strings.ToLower(string(mode))
			w.job(name, mode, hello, func(j *rayv1.RayJob) {
				j.Spec.RayClusterSpec, j.Spec.ClusterSelector = nil, map[string]string{rayv1.LabelCluster: "demo"}
			})
			if st := w.jobEnds(name).Status; st.JobStatus != rayv1.JobStatusSucceeded {
				w.t.Errorf("%s ended as %s, reason %q: %s", mode, st.JobStatus, st.Reason, st.Message)
			}
		}
	})
}

func observeToken(o *observer, token string) {
	for _, path := range []string{"/api/version", "/api/jobs/", "/api/serve/applications/", "/api/authentication_mode", "/api/healthz", "/api/gcs_healthz"} {
		o.get(path+" without a token", path)
		o.ask(path+" with a wrong token", "GET", path, nil, "Authorization: Bearer wrong")
		o.ask(path+" with the token", "GET", path, nil, "Authorization: Bearer "+token)
		o.ask(path+" with the token in the other header", "GET", path, nil, "X-Ray-Authorization: Bearer "+token)
		o.ask(path+" with the token in a cookie", "GET", path, nil, "Cookie: ray-authentication-token="+token)
	}
	o.ask("authenticate", "POST", "/api/authenticate", nil, "Authorization: Bearer "+token)
	o.ask("authenticate with a wrong token", "POST", "/api/authenticate", nil, "Authorization: Bearer wrong")
	o.ask("authenticate without a token", "POST", "/api/authenticate", nil)
}

// A worker that is evicted is replaced, and so is one whose node says nothing any more.
func TestWorkersAreLost(t *testing.T) {
	w := newWorld(t) // not beside others: it stops a node
	rc := w.cluster("demo", 1, func(rc *rayv1.RayCluster) {
		rc.Spec.HeadGroupSpec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "raygate-real-0"}
		rc.Spec.WorkerGroupSpecs[0].Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"raygate-real-1"},
				}}},
			}},
		}}
	})
	w.ready(rc)
	replaced := func(w *world, uid types.UID, node string) {
		w.t.Helper()
		w.eventually("another worker runs", func(context.Context) error {
			for _, p := range w.pods("demo", rayv1.WorkerNode) {
				if p.UID != uid && p.Status.Phase == corev1.PodRunning && (node == "" || p.Spec.NodeName == node) {
					return nil
				}
			}
			return errNotYet
		})
		w.joined("demo", 1)
	}
	w.run("evicted", func(w *world) {
		worker := w.pods("demo", rayv1.WorkerNode)[0]
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: worker.Name, Namespace: w.ns}}
		if err := product.kube.PolicyV1().Evictions(w.ns).Evict(w.t.Context(), eviction); err != nil {
			w.t.Fatal(err)
		}
		replaced(w, worker.UID, "")
		w.ready(rc)
	})
	w.run("node lost", func(w *world) {
		worker := w.pods("demo", rayv1.WorkerNode)[0]
		if worker.Spec.NodeName != "raygate-real-1" {
			w.t.Fatalf("the worker runs on %s", worker.Spec.NodeName)
		}
		pid := partOf(w.t, "kubelet-raygate-real-1")
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			w.t.Fatal(err)
		}
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
		killContainers(w.t, "raygate-real-1")
		w.eventually("the worker is to leave its node", func(context.Context) error {
			for _, p := range w.pods("demo", rayv1.WorkerNode) {
				if p.UID == worker.UID {
					return errNotYet
				}
			}
			return nil
		})
		// Nobody on the node confirms that the Pod has ended: somebody has to say so, as on any cluster.
		if err := product.client.Delete(w.t.Context(), &worker, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
		replaced(w, worker.UID, "raygate-real-0")
	})
}

// killContainers ends every process of the Pods of a node, as the loss of the machine does. It finds them by the node's cgroup.
func killContainers(t *testing.T, node string) {
	t.Helper()
	killed := 0
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "cgroup.procs" || !strings.Contains(path, "/"+node+"/") {
			return nil //nolint:nilerr // of a cgroup that goes meanwhile
		}
		data, _ := os.ReadFile(path)
		for text := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(text); err == nil && pid > 1 && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
		return nil
	})
	if err != nil || killed == 0 {
		t.Fatalf("no containers of %s were found: %v", node, err)
	}
}

// partOf is the process of a part of the local cluster.
func partOf(t *testing.T, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(product.dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct{ Parts map[string]int }
	if err := json.Unmarshal(data, &state); err != nil || state.Parts[name] == 0 {
		t.Fatalf("no %s in %s: %v", name, data, err)
	}
	return state.Parts[name]
}
