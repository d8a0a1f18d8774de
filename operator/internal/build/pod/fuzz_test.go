package pod

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// FuzzBuild builds from whatever can be decoded.
func FuzzBuild(f *testing.F) {
	inputs, _ := filepath.Glob("testdata/*.in.yaml")
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"spec":{"workerGroupSpecs":[{"resources":{"CPU":"-1e99","gpu":"1","x":"1Ei"}},{"template":{"spec":{"containers":[{}]}}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rc := &rayv1.RayCluster{}
		if yaml.Unmarshal(text, rc) == nil {
			assertBuilds(t, rc)
		}
	})
}

// FuzzBuildRandom builds from objects with every field filled at random, which text hardly ever reaches.
func FuzzBuildRandom(f *testing.F) {
	for seed := range int64(50) {
		f.Add(seed)
	}
	words := []string{"", "true", "FALSE", "-1", "6379", "port", "resources", `'{"TPU":1e400}'`, "1e999", "cpu", "nvidia.com/gpu", "/dev/shm", "ray start", "é'\"$(", "token", "rocksdb", "v2", "$REDIS_PASSWORD", "ray.io/cluster"}
	quantities := []string{"0", "-3", "500m", "1Gi", "9223372036854775807", "1e30", "1n"}
	f.Fuzz(func(t *testing.T, seed int64) {
		rc := &rayv1.RayCluster{}
		randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 3).Funcs(
			func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
			func(q *resource.Quantity, c randfill.Continue) {
				*q = resource.MustParse(quantities[c.Intn(len(quantities))])
			},
		).Fill(rc)
		assertBuilds(t, rc)
	})
}

// assertBuilds demands that building does not panic, gives the same twice and leaves the cluster as it was, even when the
// Pod is changed afterwards: what a cache holds may not be reachable from it.
func assertBuilds(t *testing.T, rc *rayv1.RayCluster) {
	t.Helper()
	before := rc.DeepCopy()
	for _, o := range []Options{{}, {DeterministicHeadName: true, NoProbes: true, NoInitContainer: true}, sharedOptions} {
		builders := []func() *corev1.Pod{func() *corev1.Pod { return Head(rc, o) }}
		for i := range rc.Spec.WorkerGroupSpecs {
			builders = append(builders, func() *corev1.Pod { return Worker(rc, &rc.Spec.WorkerGroupSpecs[i], o) })
		}
		for _, build := range builders {
			one, two := build(), build()
			if !reflect.DeepEqual(one, two) {
				t.Errorf("two Pods differ:\n%s", cmp.Diff(one, two))
			}
			scribble(reflect.ValueOf(one))
			scribble(reflect.ValueOf(two))
		}
	}
	if want := fuzzOptions(); !reflect.DeepEqual(want, sharedOptions) {
		t.Errorf("building changed the options (-want +got):\n%s", cmp.Diff(want, sharedOptions))
	}
	if !reflect.DeepEqual(before, rc) {
		t.Errorf("building changed the cluster (-want +got):\n%s", cmp.Diff(before, rc))
	}
}

var sharedOptions = fuzzOptions()

func fuzzOptions() Options {
	sidecar := corev1.Container{Name: "sidecar", Env: []corev1.EnvVar{{Name: "A", Value: "operator"}}}
	return Options{
		MTLS:           true,
		HistoryServer:  true,
		Env:            []corev1.EnvVar{field("B", "metadata.name")},
		Labels:         map[string]string{"team": "operator"},
		Annotations:    map[string]string{"note": "operator"},
		HeadSidecars:   []corev1.Container{sidecar},
		WorkerSidecars: []corev1.Container{*sidecar.DeepCopy()},
	}
}

// scribble empties everything that can be reached by pointer, map or slice.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				scribble(f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, reflect.Value{})
		}
	default:
		if v.CanSet() {
			v.SetZero()
		}
	}
}
