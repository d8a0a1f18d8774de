package verdicts

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/test/controlplane"
)

// BenchmarkCRDLoad takes the CRDs as they are and without any CEL, each to an API server of its own, and prints how long it takes from applying
// them until an object of every kind is accepted (dry-run), and how much more memory the API server holds then.
func BenchmarkCRDLoad(b *testing.B) {
	for _, cel := range []bool{false, true} {
		name := "cel=none"
		if cel {
			name = "cel=all"
		}
		b.Run(name, func(b *testing.B) {
			s := newLoadServer(b)
			crds := crdFiles(b, cel)
			before := s.memory(b)
			rounds := 0
			var took time.Duration
			for b.Loop() {
				if rounds > 0 {
					b.StopTimer()
					s.unload(b, crds)
					b.StartTimer()
				}
				begin := time.Now()
				s.load(b, crds)
				took += time.Since(begin)
				rounds++
			}
			after := s.memory(b)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(took.Seconds()/float64(rounds), "s/load")
			b.ReportMetric((after.resident-before.resident)/(1<<20), "MiB-resident")
			b.ReportMetric((after.heap-before.heap)/(1<<20), "MiB-heap")
		})
	}
}

// crdFiles are the CRDs, with CEL or without.
func crdFiles(b *testing.B, cel bool) []*unstructured.Unstructured {
	b.Helper()
	files, err := filepath.Glob("../../operator/config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		b.Fatalf("%d CRDs, %v", len(files), err)
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(raw, crd); err != nil {
			b.Fatal(err)
		}
		for i := range crd.Spec.Versions {
			if !cel {
				withoutCEL(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
			}
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, &unstructured.Unstructured{Object: content})
	}
	return out
}

func withoutCEL(node *apiextensionsv1.JSONSchemaProps) {
	node.XValidations = nil
	for name, p := range node.Properties {
		withoutCEL(&p)
		node.Properties[name] = p
	}
	if node.Items != nil && node.Items.Schema != nil {
		withoutCEL(node.Items.Schema)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		withoutCEL(node.AdditionalProperties.Schema)
	}
}

// loadServer is an API server without CRDs.
type loadServer struct {
	dynamic dynamic.Interface
	core    kubernetes.Interface
	objects map[string]*unstructured.Unstructured // by plural
}

func newLoadServer(b *testing.B) *loadServer {
	b.Helper()
	env := controlplane.Start(b, controlplane.Options{CRDs: controlplane.NoCRDs, Own: true, Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true})
	s := &loadServer{objects: map[string]*unstructured.Unstructured{}}
	var err error
	if s.dynamic, err = dynamic.NewForConfig(env.Config); err != nil {
		b.Fatal(err)
	}
	if s.core, err = kubernetes.NewForConfig(env.Config); err != nil {
		b.Fatal(err)
	}
	for plural, object := range map[string]validation.Object{"rayclusters": examples.Base(), "rayjobs": examples.BaseJob(), "rayservices": examples.BaseService(), "raycronjobs": examples.BaseCronJob()} {
		u := asUnstructured(object)
		delete(u.Object, "status")
		s.objects[plural] = u
	}
	return s
}

func (s *loadServer) crds() dynamic.ResourceInterface {
	return s.dynamic.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
}

// load applies the CRDs and waits until an object of each is accepted.
func (s *loadServer) load(b *testing.B, crds []*unstructured.Unstructured) {
	b.Helper()
	for _, crd := range crds {
		if _, err := s.crds().Create(b.Context(), crd.DeepCopy(), metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	for plural, object := range s.objects {
		resource := s.dynamic.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: plural}).Namespace(namespace)
		await.True(b, plural+" to be accepted", func() bool {
			_, err := resource.Create(b.Context(), object.DeepCopy(), dryCreate)
			if err != nil && !apierrors.IsNotFound(err) {
				b.Fatalf("%s: %v", plural, err)
			}
			return err == nil
		})
	}
}

func (s *loadServer) unload(b *testing.B, crds []*unstructured.Unstructured) {
	b.Helper()
	for _, crd := range crds {
		if err := s.crds().Delete(b.Context(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	await.True(b, "the CRDs to go", func() bool {
		list, err := s.crds().List(b.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
}

type memory struct{ resident, heap float64 }

// memory is what the API server holds: of the system, and in use on its heap after the last garbage collection.
func (s *loadServer) memory(b *testing.B) memory {
	b.Helper()
	awaitIdle(b, s.core)
	// The next collection begins when the heap is twice what was in use after the last one.
	return memory{resident: processMetric(b, s.core, "process_resident_memory_bytes"), heap: processMetric(b, s.core, "go_memstats_next_gc_bytes") / 2}
}

// awaitIdle waits until the API server has done what a change of a CRD makes it do in the background, such as publishing the schema.
func awaitIdle(b *testing.B, core kubernetes.Interface) {
	b.Helper()
	const metric, step = "process_cpu_seconds_total", 2 * time.Second
	for before, until := processMetric(b, core, metric), time.Now().Add(time.Minute); time.Now().Before(until); {
		time.Sleep(step)
		now := processMetric(b, core, metric)
		if now-before < step.Seconds()/5 {
			return
		}
		before = now
	}
	b.Fatal("the API server does not come to rest")
}

// processMetric is a metric of the API server's process.
func processMetric(b *testing.B, core kubernetes.Interface, metric string) float64 {
	b.Helper()
	raw, err := core.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	if err != nil {
		b.Fatal(fmt.Errorf("reading metrics: %w", err))
	}
	for line := range strings.Lines(string(raw)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == metric {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			return number
		}
	}
	b.Fatalf("the API server has no metric %s", metric)
	return 0
}

// BenchmarkRayClusterWrites compares the time of a create, an update and a delete by a client, with CEL in the CRD and without, and the CPU time that
// the API server takes for them, which other load on the machine changes less.
func BenchmarkRayClusterWrites(b *testing.B) {
	s := newLoadServer(b)
	good := s.objects["rayclusters"]
	clusters := s.dynamic.Resource(rayclusters).Namespace(namespace)
	writes := func(b *testing.B) {
		awaitIdle(b, s.core) // it has more to do after a change of a CRD
		b.ResetTimer()
		before, rounds := processMetric(b, s.core, "process_cpu_seconds_total"), 0
		defer func() {
			b.ReportMetric((processMetric(b, s.core, "process_cpu_seconds_total")-before)*1000/float64(rounds), "CPU-ms/op")
		}()
		for b.Loop() {
			rounds++
			u, err := clusters.Create(b.Context(), good.DeepCopy(), metav1.CreateOptions{})
			if err != nil {
				b.Fatal(err)
			}
			if err := unstructured.SetNestedField(u.Object, true, "spec", "suspend"); err != nil {
				b.Fatal(err)
			}
			if _, err := clusters.Update(b.Context(), u, metav1.UpdateOptions{}); err != nil {
				b.Fatal(err)
			}
			if err := clusters.Delete(b.Context(), u.GetName(), metav1.DeleteOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	without, with := crdFiles(b, false), crdFiles(b, true)
	for range 3 {
		for _, crds := range []struct {
			name string
			crds []*unstructured.Unstructured
		}{{"rules=none", without}, {"rules=all", with}} {
			s.load(b, crds.crds)
			b.Run(crds.name, writes)
			s.unload(b, crds.crds)
		}
	}
}
