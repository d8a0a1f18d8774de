package v1

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 8, 19, 10, 0, 0, 0, time.UTC)

func newMessage(t testing.TB, name protoreflect.FullName) proto.Message {
	t.Helper()
	mt, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return mt.New().Interface()
}

// templates are those that the golden cases name.
var templates = Templates{
	"small": {Name: "small", Namespace: "default", Cpu: 1, Memory: 4, MemoryUnit: "Gi"},
	"gpu": {
		Name: "gpu", Namespace: "default", Cpu: 2, Memory: 512, MemoryUnit: "Mi", Gpu: 1, ExtendedResources: map[string]uint32{"vendor.example/dev": 2, "vendor.example/none": 0},
		Tolerations: []*kuberay.PodToleration{{Key: "a", Operator: "Exists", Effect: "NoSchedule"}, {Key: "b", Operator: "?", Value: "c", Effect: "?"}},
	},
}

// TestGolden converts each testdata/*.in.json, a message, and holds the custom resource or ConfigMap to the .out.yaml next to it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, in := range files {
		t.Run(filepath.Base(in), func(t *testing.T) {
			data, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			var made any
			var sent, got proto.Message
			var errs field.ErrorList
			read := func(m proto.Message) {
				if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
					t.Fatal(err)
				}
				sent = m
			}
			switch base := filepath.Base(in); base[:3] {
			case "clu":
				c := &kuberay.Cluster{}
				read(c)
				made, errs = ClusterToRay(c, templates, now)
				rc := made.(*rayv1.RayCluster)
				got = ClusterFromRay(rc)
				got.(*kuberay.Cluster).Annotations, got.(*kuberay.Cluster).Envs = c.GetAnnotations(), c.GetEnvs()
			case "job":
				j := &kuberay.RayJob{}
				read(j)
				made, errs = JobToRay(j, templates)
				got = JobFromRay(made.(*rayv1.RayJob))
				got.(*kuberay.RayJob).JobId = j.GetJobId() // comes from the status
			case "ser":
				s := &kuberay.RayService{}
				read(s)
				made, errs = ServiceToRay(s, templates, now)
				got = ServiceFromRay(made.(*rayv1.RayService))
				got.(*kuberay.RayService).RayServiceStatus = nil
			case "tem":
				m := &kuberay.ComputeTemplate{}
				read(m)
				made, errs = TemplateToConfigMap(m)
				got = TemplateFromConfigMap(made.(*corev1.ConfigMap))
			default:
				t.Fatalf("what is %s?", base)
			}
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			tree, err := Tree(made)
			if err != nil {
				t.Fatal(err)
			}
			text, err := yaml.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			out := in[:len(in)-len(".in.json")] + ".out.yaml"
			if *update {
				if err := os.WriteFile(out, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(text)); diff != "" {
				t.Errorf("what is written (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(sent, shown(got), protocmp.Transform()); diff != "" {
				t.Errorf("read back (-sent +got):\n%s", diff)
			}
		})
	}
}

// shown is a message as read back, without what may differ: empty environments.
func shown(got proto.Message) proto.Message {
	got = proto.CloneOf(got)
	type specs interface{ GetClusterSpec() *kuberay.ClusterSpec }
	s, ok := got.(specs)
	if !ok {
		return got
	}
	clear := func(e **kuberay.EnvironmentVariables) {
		if proto.Size(*e) == 0 {
			*e = nil
		}
	}
	if head := s.GetClusterSpec().GetHeadGroupSpec(); head != nil {
		clear(&head.Environment)
	}
	for _, g := range s.GetClusterSpec().GetWorkerGroupSpec() {
		clear(&g.Environment)
	}
	return got
}

func TestUser(t *testing.T) {
	for user, want := range map[string]string{"boris": "boris", "jane.doe@example.org": "jane.doe-example.org", "@": "", "ü": ""} {
		labels, annotations := map[string]string{}, map[string]string{}
		errs := setUser(user, labels, annotations)
		if labels[rayv1.LabelUser] != want || (want == "") != (len(errs) > 0) {
			t.Errorf("%s: label %q, %v", user, labels[rayv1.LabelUser], errs)
		}
		if got := userOf(labels, annotations); want != "" && got != user {
			t.Errorf("%s comes back as %q", user, got)
		}
	}
	labels, annotations := map[string]string{}, map[string]string{}
	setUser("jane@x", labels, annotations)
	labels[rayv1.LabelUser] = "somebody" // by hand
	if got := userOf(labels, annotations); got != "somebody" {
		t.Errorf("an annotation that others have outdated counts: %s", got)
	}
}

// TestHostileObjects shows what kubectl can store.
func TestHostileObjects(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                          `{}`,
		"no containers":                    `{"spec":{"headGroupSpec":{"template":{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}}}}`,
		"a volume that is mounted nowhere": `{"spec":{"headGroupSpec":{"template":{"spec":{"containers":[{"name":"x"}],"volumes":[{"name":"v","secret":{"secretName":"s","items":[{"key":"k","path":"p"}]}}]}}}}}`,
		"odd sources":                      `{"spec":{"headGroupSpec":{"template":{"spec":{"containers":[{"name":"x","env":[{"name":"a","valueFrom":{}},{"name":"b"}]}],"volumes":[{"name":"v"},{"name":"w","ephemeral":{}},{"name":"y","hostPath":{"path":"/"}},{"name":"z","projected":{}}]}}},"workerGroupSpecs":[{}]}}`,
		"autoscaling without options":      `{"spec":{"enableInTreeAutoscaling":true}}`,
	} {
		rc := &rayv1.RayCluster{}
		if err := json.Unmarshal([]byte(text), rc); err != nil {
			t.Fatal(err)
		}
		c := ClusterFromRay(rc)
		if _, err := AppendJSON(nil, c); err != nil || c.GetClusterSpec().GetHeadGroupSpec() == nil {
			t.Errorf("%s: %v %v", name, c, err)
		}
	}
}

func TestTemplates(t *testing.T) {
	cm := &corev1.ConfigMap{Data: map[string]string{"cpu": "1", "memory": "4"}}
	if TemplateFromConfigMap(cm) != nil {
		t.Error("any ConfigMap passes for a template")
	}
	cm.Labels = map[string]string{LabelConfigType: ConfigTypeTemplate}
	old := TemplateFromConfigMap(cm)
	r, _, errs := (Templates{"a": old}).expand("a", field.NewPath("x"))
	if len(errs) > 0 || r.Limits.Memory().String() != "4Gi" {
		t.Errorf("a template without a unit is %v, %v", r, errs)
	}
	cm.Data["memory_unit"], cm.Data["tolerations"], cm.Data["extended_resources"] = "bananas", "[", "7"
	bad := TemplateFromConfigMap(cm)
	if _, _, errs := (Templates{"a": bad}).expand("a", field.NewPath("x")); len(errs) != 1 || errs[0].Field != "x" {
		t.Errorf("a bad unit: %v", errs)
	}
	if _, errs := TemplateToConfigMap(bad); len(errs) != 1 || errs[0].Field != "memoryUnit" {
		t.Errorf("a bad unit: %v", errs)
	}
}

// TestStoredTemplates looks for the templates that objects were made of, in what others have written as well.
func TestStoredTemplates(t *testing.T) {
	group := func(template string) string {
		return `{"template":{"metadata":{"annotations":{"ray.io/compute-template":"` + template + `"}}}}`
	}
	for text, want := range map[string][]string{
		`{"spec":{"rayClusterConfig":{"headGroupSpec":` + group("b") + `,"workerGroupSpecs":[` + group("a") + `,` + group("b") + `,` + group("") + `,null,7]}}}`: {"a", "b"},
		`{"spec":{"headGroupSpec":` + group("c") + `}}`:                                               {"c"},
		`{"spec":{"rayClusterConfig":{"headGroupSpec":{"template":{"metadata":{"annotations":7}}}}}}`: nil,
		`{}`: nil,
	} {
		var tree map[string]any
		if err := json.Unmarshal([]byte(text), &tree); err != nil {
			t.Fatal(err)
		}
		if got := StoredTemplates(tree); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestSubmission(t *testing.T) {
	path := field.NewPath("p")
	for text, want := range map[string]string{"": "", "pip: [a]": `{"pip":["a"]}`, "{}": "{}"} {
		if got, errs := RuntimeEnv(text, path); string(got) != want || len(errs) > 0 {
			t.Errorf("%q is %s, %v", text, got, errs)
		}
	}
	for _, text := range []string{"- a", "7", "a: [", "null", "a: 1\na: 2"} {
		if got, errs := RuntimeEnv(text, path); len(errs) != 1 {
			t.Errorf("%q is %s, %v", text, got, errs)
		}
	}
	if got, errs := EntrypointResources(map[string]string{"a": "1.5"}, path); len(errs) > 0 || got["a"] != 1.5 {
		t.Error(got, errs)
	}
	for _, amount := range []string{"", "x", "-1", "NaN", "Inf"} {
		if _, errs := EntrypointResources(map[string]string{"a": amount}, path); len(errs) != 1 {
			t.Errorf("%q passes", amount)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "b", "c": `{"d":[1]}`, "e": "null"}, RuntimeEnvText(json.RawMessage(`{"a":"b","c":{"d":[1]},"e":null}`))); diff != "" {
		t.Error(diff)
	}
}
