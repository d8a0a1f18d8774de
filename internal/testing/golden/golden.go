// Package golden compares the objects that builders make with files that a reviewer can read.
//
// Only _test.go files may import it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Text compares text with a file. With the flag -update it writes the file first.
func Text(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update rewrites):\n%s", file, diff)
	}
}

// Run builds from every testdata/NAME.in.yaml and compares the objects with testdata/NAME.out.yaml, one YAML document each.
func Run[I, T any](t *testing.T, build func(*I) []T) {
	t.Helper()
	RunNamed(t, "*", build)
}

// RunNamed is Run for the names that match the pattern, as in head-*.
func RunNamed[I, T any](t *testing.T, pattern string, build func(*I) []T) {
	t.Helper()
	inputs, err := filepath.Glob("testdata/" + pattern + ".in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("finding inputs: %v, %d found", err, len(inputs))
	}
	for _, input := range inputs {
		name := strings.TrimSuffix(input, ".in.yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			in := read[I](t, input)
			Text(t, name+".out.yaml", documents(t, build(in)))
			if diff := cmp.Diff(read[I](t, input), in); diff != "" {
				t.Errorf("building changed the input (-want +got):\n%s", diff)
			}
		})
	}
}

// Fuzz builds from decoded inputs and from randomly filled objects. It checks that there is no panic, that two builds are equal, and that
// the input does not change. The inputs of Run are the seeds.
func Fuzz[I, T any](f *testing.F, build func(*I) []T) {
	inputs, _ := filepath.Glob("testdata/*.in.yaml")
	for i, input := range inputs {
		seed, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed, int64(i))
	}
	for i := range int64(20) {
		f.Add([]byte("{}"), i)
	}
	words := []string{"", "true", "token", "-1", "6379", "serve", "DenyAllEgress", "rocksdb", "cpu", "RayJob", "K8sJobMode", "Retain", "é'\"$(", strings.Repeat("9", 70)}
	f.Fuzz(func(t *testing.T, document []byte, seed int64) {
		in := new(I)
		if yaml.Unmarshal(document, in) == nil {
			steady(t, in, build)
		}
		in = new(I)
		randfill.NewWithSeed(seed).NilChance(0.6).NumElements(0, 2).Funcs(
			func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
		).Fill(in)
		steady(t, in, build)
	})
}

func steady[I, T any](t *testing.T, in *I, build func(*I) []T) {
	t.Helper()
	before := any(in).(interface{ DeepCopyObject() runtime.Object }).DeepCopyObject()
	if one, two := build(in), build(in); !reflect.DeepEqual(one, two) {
		t.Errorf("built twice from one input:\n%s", cmp.Diff(one, two))
	}
	if after := any(in); !reflect.DeepEqual(any(before), after) {
		t.Errorf("building changed the input (-want +got):\n%s", cmp.Diff(any(before), after))
	}
}

func read[I any](t *testing.T, file string) *I {
	t.Helper()
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := new(I)
	if err := yaml.UnmarshalStrict(document, in); err != nil {
		t.Fatalf("decoding %s: %v", file, err)
	}
	return in
}

func documents[T any](t *testing.T, objects []T) string {
	t.Helper()
	texts := make([]string, len(objects))
	for i := range objects {
		document, err := yaml.Marshal(objects[i])
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(document)
	}
	return strings.Join(texts, "---\n")
}
