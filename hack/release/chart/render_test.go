package chart

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

const (
	root      = "../../.."
	folder    = root + "/charts/raygate"
	namespace = "raygate-system"
)

// load reads the chart.
func load(t *testing.T) *chartv2.Chart {
	t.Helper()
	return loadFrom(t, folder)
}

func loadFrom(t *testing.T, folder string) *chartv2.Chart {
	t.Helper()
	c, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// template renders the chart with values in YAML, file by file.
func template(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	return templateInto(t, namespace, values)
}

func templateInto(t *testing.T, namespace, values string) (map[string]string, error) {
	t.Helper()
	return templateChart(t, load(t), namespace, values)
}

func templateChart(t *testing.T, c *chartv2.Chart, namespace, values string) (map[string]string, error) {
	t.Helper()
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	if err := chartutil.ProcessDependencies(c, given); err != nil {
		t.Fatal(err)
	}
	options := common.ReleaseOptions{Name: "raygate", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c, given, options, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// render renders the chart into objects, each of which there is once.
func render(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	return renderInto(t, namespace, values)
}

func renderInto(t *testing.T, namespace, values string) []*unstructured.Unstructured {
	t.Helper()
	return renderChart(t, load(t), namespace, values)
}

func renderChart(t *testing.T, c *chartv2.Chart, namespace, values string) []*unstructured.Unstructured {
	t.Helper()
	files, err := templateChart(t, c, namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	seen := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(file, ".txt") {
			continue
		}
		for text := range strings.SplitSeq("\n"+files[file], "\n---") {
			o := decode(t, []byte(text))
			if len(o.Object) == 0 {
				continue
			}
			if o.GetKind() == "" || o.GetName() == "" {
				t.Errorf("%s has an object without kind or name:\n%.300s", file, text)
			}
			if seen[key(o)] {
				t.Errorf("%s is rendered twice", key(o))
			}
			seen[key(o)] = true
			out = append(out, o)
		}
	}
	return out
}

// decoded are objects by their text. Many renders have the same ones, and to read the CRDs is most of the work of these tests.
var decoded sync.Map

// decode reads an object as an API server would.
func decode(t *testing.T, data []byte) *unstructured.Unstructured {
	t.Helper()
	if known, ok := decoded.Load(string(data)); ok {
		return known.(*unstructured.Unstructured).DeepCopy()
	}
	raw, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		t.Fatalf("%v in:\n%.2000s", err, data)
	}
	o := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &o.Object); err != nil {
		t.Fatal(err)
	}
	decoded.Store(string(data), o.DeepCopy())
	return o
}

// key names an object.
func key(o *unstructured.Unstructured) string {
	return strings.TrimSuffix(o.GetKind()+" "+o.GetNamespace(), " ") + " " + o.GetName()
}

// find returns the one object of a kind and a name, typed, which demands that all of its fields exist.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			typed := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
				t.Fatalf("%s: %v", key(o), err)
			}
			return typed
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

func has(objects []*unstructured.Unstructured, kind, name string) bool {
	return slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
}
