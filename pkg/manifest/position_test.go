package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const located = `apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: demo
  annotations:
    ray.io/a.b: "1"
    plain: "2"
spec:
  headGroupSpec: &group
    template: {spec: {containers: [{name: head, imag: x}]}}
  workerGroupSpecs:
  - groupName: cpu
    replicas: many
  - <<: *group
    groupName: gpu
  - *group
`

func TestLocate(t *testing.T) {
	for path, want := range map[string]Position{
		"apiVersion":                                          {1, 1},
		"metadata.annotations[ray.io/a.b]":                    {6, 5},
		"metadata.annotations[plain]":                         {7, 5},
		"metadata.annotations.plain":                          {7, 5},
		"spec.workerGroupSpecs[0].replicas":                   {13, 5},
		"spec.workerGroupSpecs[1]":                            {14, 5},
		"spec.workerGroupSpecs[1].template":                   {10, 5}, // merged
		"spec.workerGroupSpecs[2].template":                   {10, 5}, // by an alias
		"spec.workerGroupSpecs[1].groupName":                  {15, 5},
		"spec.workerGroupSpecs[0].template":                   {12, 5}, // missing: the group
		"spec.workerGroupSpecs[9].replicas":                   {11, 3}, // no such group
		"spec.workerGroupSpecs[-1]":                           {11, 3},
		"spec.workerGroupSpecs.replicas":                      {11, 3},
		"spec.rayVersion":                                     {8, 1},
		"status":                                              {1, 1},
		"":                                                    {1, 1},
		"spec.headGroupSpecs":                                 {8, 1}, // a name that only begins like one
		"spec.headGroupSpec.template.spec.containers[0].imag": {10, 49},
	} {
		if diff := cmp.Diff(map[string]Position{path: want}, Locate([]byte(located), []string{path})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", path, diff)
		}
	}
}

// TestLocateFindsMistakes goes from the words of the reader to the line, as clients do.
func TestLocateFindsMistakes(t *testing.T) {
	_, _, errs := readCluster([]byte(located), true)
	var paths []string
	for _, err := range errs {
		paths = append(paths, err.Field)
	}
	want := map[string]Position{
		"spec.workerGroupSpecs[0].replicas":                         {13, 5},
		"spec.headGroupSpec.template.spec.containers[0].imag":       {10, 49},
		"spec.workerGroupSpecs[1].template.spec.containers[0].imag": {10, 49},
		"spec.workerGroupSpecs[2].template.spec.containers[0].imag": {10, 49},
	}
	if diff := cmp.Diff(want, Locate([]byte(located), paths)); diff != "" {
		t.Errorf("mistakes %v are found at (-want +got):\n%s", paths, diff)
	}
}

// TestLocatorOfJSON has what JSON writes in another way than YAML.
func TestLocatorOfJSON(t *testing.T) {
	l := NewLocator([]byte("{\n\t\"a\": \"\\ud83d\\ude00\\/\",\n\t\"spec\": {\"x\": \"\\\\ud83d\",\n\t\t\"y\": [1, {}]}\n}\n"))
	for path, want := range map[string]Position{"a": {2, 2}, "spec.x": {3, 11}, "spec.y": {4, 3}, "spec.y[1]": {4, 12}} {
		if at, ok := l.At(path); !ok || at != want {
			t.Errorf("%s is at %v (%v), want %v", path, at, ok, want)
		}
	}
}

func TestLocatorOfManyValues(t *testing.T) {
	l := NewLocator([]byte("a: [" + strings.Repeat("1,", MaxValues) + "]\nb: 2\n"))
	if at, ok := l.At("b"); !ok || at != (Position{2, 1}) {
		t.Errorf("b is at %v (%v)", at, ok)
	}
}

func TestLocateOfHopelessDocuments(t *testing.T) {
	for name, text := range map[string]string{
		"empty":          "",
		"no YAML":        "a: [",
		"two documents":  "a: 1\n---\nb: 2\n",
		"no UTF-8":       "a: \xff",
		"too many":       "a: [" + strings.Repeat("1,", MaxValues) + "]",
		"merge of self":  "a: &x\n  <<: *x\n",
		"alias of self":  "a: &x [*x]\n",
		"not an object":  "- 1\n",
		"unknown anchor": "a: *b\n",
	} {
		t.Run(name, func(t *testing.T) {
			found := Locate([]byte(text), []string{"a", "a.b.c", "a[0][0][0].b", ""})
			if found == nil {
				t.Error("nil is returned")
			}
			for path, at := range found {
				if at.Line < 1 || at.Column < 1 {
					t.Errorf("%q is at %v", path, at)
				}
			}
		})
	}
	paths := strings.Split(strings.Repeat("spec,", 200), ",")
	paths[150] = "kind"
	if _, beyond := Locate([]byte(located), paths)["kind"]; beyond {
		t.Error("a path beyond the first 100 is looked for")
	}
}

func FuzzLocate(f *testing.F) {
	f.Add([]byte(located), "spec.workerGroupSpecs[1].template")
	f.Add([]byte("a: &x\n  <<: [*x, {b: 1}]\n"), "a.b")
	f.Add([]byte(`{"a":{"":1,"[0]":[2]}}`), "a[[0]][0]")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		for _, at := range Locate(data, []string{path}) {
			if at.Line < 1 || at.Column < 1 {
				t.Errorf("%q is at %v", path, at)
			}
		}
	})
}
