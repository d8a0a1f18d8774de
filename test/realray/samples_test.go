package realray

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// The samples that need Ray run to their end. test/e2e runs all samples with simulated Ray; those for Kueue and DRA run only there and
// in test/kueue.
func TestSamples(t *testing.T) {
	t.Parallel()
	const fruits = "6" // two mangos at 3
	for file, tc := range map[string]struct {
		prepare func(*world, client.Object)
		want    string // in the answer of a service, or in the log of a job
	}{
		"rayjob.hello.yaml":          {},
		"rayjob.minimal.yaml":        {},
		"rayjob.http-mode.yaml":      {},
		"rayjob.sidecar-mode.yaml":   {},
		"rayjob.retries.yaml":        {},
		"rayjob.deletion-rules.yaml": {},
		"rayjob.cluster-selector.yaml": {prepare: func(w *world, _ client.Object) {
			w.create(w.sample("raycluster.minimal.yaml"))
		}},
		"rayjob.interactive-mode.yaml":      {},
		"rayjob.tpu.yaml":                   {prepare: withTPUs, want: "'TPU-v5litepod-8-head': 1.0"}, // of the host with the rank 0
		"raycronjob.minimal.yaml":           {},
		"rayservice.minimal.yaml":           {prepare: withFruits, want: fruits},
		"rayservice.gpu.yaml":               {prepare: withGPUs, want: fruits},
		"rayservice.high-availability.yaml": {prepare: withRedis, want: fruits},
		"rayservice.own-code.yaml":          {prepare: withOwnCode, want: "nothing"},
		// Its first cluster needs no Gateway; TestServiceInSteps has one.
		"rayservice.incremental-upgrade.yaml": {prepare: withFruits, want: fruits},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := w.sample(file)
			if tc.prepare != nil {
				tc.prepare(w, o)
			}
			switch o := o.(type) {
			case *rayv1.RayJob:
				w.create(o)
				if o.Spec.SubmissionMode == rayv1.InteractiveMode {
					w.submitByHand(o.Name, "echo", "by hand")
				}
				w.jobSucceeds(o.Name)
				if tc.want != "" {
					w.logHas(o.Name, tc.want)
				}
			case *rayv1.RayCronJob:
				o.Spec.Schedule = "* * * * *" // the sample runs at night
				w.create(o)
				w.jobSucceeds(w.firstRun(o))
			case *rayv1.RayService:
				w.create(o)
				w.serviceReady(o)
				w.serviceAnswers(o, tc.want)
				if err := product.client.Delete(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				w.clustersGone() // while there is Redis, from which one of them deletes its data
			}
		})
	}
}

// sample reads a sample. It requests less CPU than written, since several clusters share a small machine, and the image that the nodes have.
func (w *world) sample(file string) client.Object {
	w.t.Helper()
	data, err := os.ReadFile("../../samples/" + file)
	if err != nil {
		w.t.Fatal(err)
	}
	text := strings.NewReplacer(`cpu: "1"`, "cpu: 50m", "-gpu\n", "\n").Replace(string(data))
	decoded, _, err := serializer.NewCodecFactory(clientgoscheme.Scheme).UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		w.t.Fatalf("decoding %s: %v", file, err)
	}
	o := decoded.(client.Object)
	o.SetNamespace(w.ns)
	return o
}

func (w *world) jobSucceeds(name string) {
	w.t.Helper()
	if st := &w.jobEnds(name).Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || st.JobStatus != rayv1.JobStatusSucceeded {
		w.t.Errorf("ended as %s, job %s, reason %q: %s", st.JobDeploymentStatus, st.JobStatus, st.Reason, st.Message)
	}
}

func (w *world) logHas(job, want string) {
	w.t.Helper()
	if log := string(w.gateway("GET", "/jobs/"+job+"/logs", nil).body); !strings.Contains(log, want) {
		w.t.Errorf("the log is %q, want %q", log, want)
	}
}

func (w *world) serviceAnswers(svc *rayv1.RayService, want string) {
	w.t.Helper()
	url := w.serviceURL(svc.Name + "-serve-svc")
	w.eventually("the service answers", func(ctx context.Context) error { // kube-proxy may learn of its Pods later
		r, err := send(ctx, "POST", url, `["MANGO", 2]`)
		if err != nil || r.code != 200 || !strings.Contains(string(r.body), want) {
			return fmt.Errorf("HTTP %d, %w: %s, want %s", r.code, err, r.body, want)
		}
		return nil
	})
}

// advertise adds a resource to the nodes, and labels. Scheduler and kubelets count it; containers get no device.
func (w *world) advertise(name corev1.ResourceName, labels map[string]string) {
	w.t.Helper()
	nodes := &corev1.NodeList{}
	if err := product.client.List(w.t.Context(), nodes); err != nil {
		w.t.Fatal(err)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		before := client.MergeFrom(node.DeepCopy())
		maps.Copy(node.Labels, labels)
		if err := product.client.Patch(w.t.Context(), node, before); err != nil {
			w.t.Fatal(err)
		}
		before = client.MergeFrom(node.DeepCopy())
		node.Status.Capacity[name], node.Status.Allocatable[name] = resource.MustParse("8"), resource.MustParse("8")
		if err := product.client.Status().Patch(w.t.Context(), node, before); err != nil {
			w.t.Fatal(err)
		}
	}
}

// withTPUs makes the nodes look like those of GKE, and sets what GKE's device plugin and webhook set, so that Ray asks no metadata server.
func withTPUs(w *world, o client.Object) {
	w.t.Helper()
	w.advertise("google.com/tpu", map[string]string{
		"cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice", "cloud.google.com/gke-tpu-topology": "2x4", "cloud.google.com/gke-nodepool": "tpu",
	})
	o.SetAnnotations(map[string]string{rayv1.AnnotationTPUEnvironment: "true"})
	spec := &o.(*rayv1.RayJob).Spec
	spec.TTLSecondsAfterFinished = 600 // the log is on the cluster
	worker := &spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Spec.Containers[0]
	worker.Env = append(worker.Env, corev1.EnvVar{Name: "TPU_ACCELERATOR_TYPE", Value: "v5litepod-8"})
}

func withGPUs(w *world, o client.Object) {
	w.t.Helper()
	w.advertise("nvidia.com/gpu", nil)
	withFruits(w, o)
}

// withRedis starts the Redis that the sample names.
func withRedis(w *world, o client.Object) {
	w.t.Helper()
	const password = "open sesame"
	w.redis(password)
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "redis", Namespace: w.ns}, StringData: map[string]string{"password": password}})
	withFruits(w, o)
}

var download = regexp.MustCompile(`(?m)^ *runtime_env:\n *working_dir: https://.*\n`)

// withFruits takes the code from testdata, since there is no internet to download it from.
func withFruits(w *world, o client.Object) {
	w.t.Helper()
	spec := &o.(*rayv1.RayService).Spec
	if !download.MatchString(spec.ServeConfigV2) {
		w.t.Fatalf("the sample downloads no code: %s", spec.ServeConfigV2)
	}
	spec.ServeConfigV2 = download.ReplaceAllString(spec.ServeConfigV2, "")
	pods := []*corev1.PodSpec{&spec.RayClusterSpec.HeadGroupSpec.Template.Spec}
	for i := range spec.RayClusterSpec.WorkerGroupSpecs {
		pods = append(pods, &spec.RayClusterSpec.WorkerGroupSpecs[i].Template.Spec)
	}
	code := template("", "1Gi").Spec
	for _, p := range pods {
		p.Volumes = append(p.Volumes, code.Volumes...)
		c := &p.Containers[0]
		c.Env, c.VolumeMounts = append(c.Env, code.Containers[0].Env...), append(c.VolumeMounts, code.Containers[0].VolumeMounts...)
	}
}

// withOwnCode creates the ConfigMap that the sample names.
func withOwnCode(w *world, _ client.Object) {
	w.t.Helper()
	code, err := os.ReadFile("testdata/hello_serve.py")
	if err != nil {
		w.t.Fatal(err)
	}
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: w.ns}, Data: map[string]string{"app.py": string(code)}})
}
