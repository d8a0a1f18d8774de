package v1

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// through stores an object and reads it again.
func through[T any](t *testing.T, o *T) *T {
	t.Helper()
	tree, err := Tree(o)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	read := new(T)
	if err := json.Unmarshal(data, read); err != nil {
		t.Fatal(err)
	}
	return read
}

// templatesFor makes the templates that a spec names.
func templatesFor(r *rand.Rand, spec *kuberay.ClusterSpec) Templates {
	all := Templates{}
	for _, name := range TemplateNames(spec) {
		all[name] = &kuberay.ComputeTemplate{Cpu: 1 + r.Uint32N(4), Memory: 1 + r.Uint32N(4), Gpu: r.Uint32N(2), Tolerations: []*kuberay.PodToleration{{Key: text(r)}}}
	}
	return all
}

// FuzzKinds makes messages of random fields, and demands that what is shown of the stored objects makes the same objects again; FuzzRoundTrip does so for services.
func FuzzKinds(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		same := func(what string, first, second proto.Message) {
			t.Helper()
			if !proto.Equal(first, second) {
				t.Errorf("%s, shown, made of that, and shown again:\n%v\n%v", what, first, second)
			}
			if _, err := AppendJSON(nil, second); err != nil {
				t.Error(err)
			}
		}
		cluster := &kuberay.Cluster{}
		fill(r, cluster)
		cluster.Version = "2.46.0"
		quantities(r, cluster.ClusterSpec)
		rc, errs := ClusterToRay(cluster, templatesFor(r, cluster.ClusterSpec), now)
		if len(errs) > 0 {
			t.Skip(errs)
		}
		seen := ClusterFromRay(through(t, rc))
		if seen.GetUser() != cluster.GetUser() || seen.GetEnvironment() != cluster.GetEnvironment() || len(seen.GetClusterSpec().GetWorkerGroupSpec()) != len(cluster.GetClusterSpec().GetWorkerGroupSpec()) {
			t.Errorf("%v is shown as %v", cluster, seen)
		}
		again, errs := ClusterToRay(seen, templatesFor(r, seen.ClusterSpec), now)
		if len(errs) > 0 {
			t.Fatalf("what is shown is refused: %v", errs)
		}
		same("a cluster", seen, ClusterFromRay(through(t, again)))

		job := &kuberay.RayJob{}
		fill(r, job)
		job.Version, job.JobSubmitter.Cpu, job.JobSubmitter.Memory = "2.46.0", "2", "3Gi"
		quantities(r, job.ClusterSpec)
		rj, errs := JobToRay(job, templatesFor(r, job.ClusterSpec))
		if len(errs) > 0 {
			t.Skip(errs)
		}
		seenJob := JobFromRay(through(t, rj))
		if seenJob.GetEntrypointNumGpus() != job.GetEntrypointNumGpus() || seenJob.GetActiveDeadlineSeconds() != job.GetActiveDeadlineSeconds() || !proto.Equal(seenJob.GetJobSubmitter(), job.GetJobSubmitter()) {
			t.Errorf("%v is shown as %v", job, seenJob)
		}
		againJob, errs := JobToRay(seenJob, templatesFor(r, seenJob.ClusterSpec))
		if len(errs) > 0 {
			t.Fatalf("what is shown is refused: %v", errs)
		}
		same("a job", seenJob, JobFromRay(through(t, againJob)))

		template := &kuberay.ComputeTemplate{}
		fill(r, template)
		template.MemoryUnit = []string{"Gi", "Mi", "G", "k"}[r.IntN(4)]
		cm, errs := TemplateToConfigMap(template)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		same("a template", template, TemplateFromConfigMap(through(t, cm)))
	})
}

// FuzzHostileObjects shows whatever can be stored, and fills in templates of whatever kind.
func FuzzHostileObjects(f *testing.F) {
	f.Add([]byte(`{"metadata":{"labels":{"ray.io/config-type":"compute-template"}},"data":{"cpu":"-1","memory":"x","tolerations":"[null]","extended_resources":"{\"a\":4294967296}"}}`))
	f.Add([]byte(`{"spec":{"headGroupSpec":{"computeTemplate":"a","template":{"spec":{"containers":[null,{"env":[{}]}],"volumes":[{"name":"v","ephemeral":{}}]}}},"workerGroupSpecs":[{}],"enableInTreeAutoscaling":true,"autoscalerOptions":{"envFrom":[{}]}}}`))
	f.Add([]byte(`{"spec":{"rayClusterSpec":{"headGroupSpec":{"computeTemplate":"a","template":{"metadata":7,"spec":[]}}},"submitterPodTemplate":{}},"status":{"startTime":"2026-01-01T00:00:00Z"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rc, job, rs, cm := &rayv1.RayCluster{}, &rayv1.RayJob{}, &rayv1.RayService{}, &corev1.ConfigMap{}
		_, _, _, _ = json.Unmarshal(data, rc), json.Unmarshal(data, job), json.Unmarshal(data, rs), json.Unmarshal(data, cm)
		for _, m := range []proto.Message{ClusterFromRay(rc), JobFromRay(job), ServiceFromRay(rs)} {
			if _, err := AppendJSON(nil, m); err != nil && len(data) > 0 && json.Valid(data) {
				t.Logf("%s: %v", data, err) // a time out of range
			}
		}
		templates := Templates{"a": &kuberay.ComputeTemplate{Cpu: 1, Memory: 1, Tolerations: []*kuberay.PodToleration{{Key: "k"}}}}
		if template := TemplateFromConfigMap(cm); template != nil {
			templates["a"] = template
		}
		var tree map[string]any
		if json.Unmarshal(data, &tree) == nil {
			_, _ = templates.Expand(tree)
		}
	})
}
