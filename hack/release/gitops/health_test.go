package gitops

import (
	"os"
	"path/filepath"
	"testing"

	fluxstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const folder = "../../../samples/gitops/argocd/health"

var kinds = []string{"RayCluster", "RayJob", "RayService", "RayCronJob"}

// state is a test in the form of Argo CD's health_test.yaml. The answer is that of a person.
type state struct {
	HealthStatus health `json:"healthStatus"`
	InputPath    string `json:"inputPath"`
	object       *unstructured.Unstructured
}

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// eachState runs a test for each state of each kind.
func eachState(t *testing.T, test func(*testing.T, state)) {
	all := 0
	for _, kind := range kinds {
		var file struct {
			Tests []state `json:"tests"`
		}
		decode(t, filepath.Join(folder, kind, "health_test.yaml"), &file)
		for _, s := range file.Tests {
			all++
			t.Run(kind+"/"+filepath.Base(s.InputPath), func(t *testing.T) {
				s.object = &unstructured.Unstructured{}
				decode(t, filepath.Join(folder, kind, s.InputPath), s.object)
				test(t, s)
			})
		}
	}
	if all < 60 {
		t.Errorf("%d states, want 60 at least", all)
	}
}

func decode(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestArgoCD runs the health check as Argo CD does: the object is the global obj, and the script returns a table.
func TestArgoCD(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(folder, "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	eachState(t, func(t *testing.T, s state) {
		l := lua.NewState(lua.Options{SkipOpenLibs: true})
		defer l.Close()
		for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
			if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
				t.Fatal(err)
			}
		}
		l.SetGlobal("obj", toLua(l, s.object.Object))
		if err := l.DoString(string(script)); err != nil {
			t.Fatal(err)
		}
		table, ok := l.Get(-1).(*lua.LTable)
		if !ok {
			t.Fatalf("the script returned %v, want a table", l.Get(-1))
		}
		got := health{lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message"))}
		if got != s.HealthStatus {
			t.Errorf("%+v, want %+v", got, s.HealthStatus)
		}
	})
}

// toLua converts a value of JSON. All numbers are floats in Lua.
func toLua(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(toLua(l, item))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for name, item := range v {
			table.RawSetString(name, toLua(l, item))
		}
		return table
	}
	return lua.LNil
}

// words are those of kstatus for those of Argo CD. An object that is suspended on purpose needs nothing.
var words = map[string]status.Status{
	"Healthy": status.CurrentStatus, "Progressing": status.InProgressStatus, "Degraded": status.FailedStatus, "Suspended": status.CurrentStatus,
}

// differs has the states in which kstatus cannot agree with a person, and why.
var differs = map[string]struct {
	want status.Status
	why  string
}{
	"RayService/suspended.yaml":        {status.InProgressStatus, "KubeRay's condition Ready is False; samples/gitops/flux has an expression for it"},
	"RayJob/failed-under-kuberay.yaml": {status.CurrentStatus, "KubeRay writes no conditions"},
	"RayCluster/new.yaml":              {status.CurrentStatus, "kstatus takes an object without a status for settled"},
	"RayJob/new.yaml":                  {status.CurrentStatus, "as above"},
	"RayService/new.yaml":              {status.CurrentStatus, "as above"},
	"RayCronJob/new.yaml":              {status.CurrentStatus, "as above"},
}

// TestKstatus asks kstatus, and the copy of it that Flux and Helm use.
func TestKstatus(t *testing.T) {
	eachState(t, func(t *testing.T, s state) {
		want := words[s.HealthStatus.Status]
		if s.object.GetDeletionTimestamp() != nil {
			want = status.TerminatingStatus
		}
		if d, ok := differs[s.object.GetKind()+"/"+filepath.Base(s.InputPath)]; ok {
			want = d.want
		}
		got, err := status.Compute(s.object)
		if err != nil || got.Status != want {
			t.Errorf("kstatus: %+v, %v; want %s", got, err, want)
		}
		flux, err := fluxstatus.Compute(s.object)
		if err != nil || string(flux.Status) != string(want) {
			t.Errorf("kstatus of Flux: %+v, %v; want %s", flux, err, want)
		}
	})
}

// TestFlux evaluates the expressions of the sample about RayServices. Flux itself looks at deletion and at the observed generation, and
// takes an object without a status for one in progress.
func TestFlux(t *testing.T) {
	var sample struct {
		Spec struct {
			HealthCheckExprs []struct{ Kind, InProgress, Failed, Current string } `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	decode(t, "../../../samples/gitops/flux/clusters.yaml", &sample)
	env, err := cel.NewEnv(cel.Variable("status", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	is := func(t *testing.T, expression string, object *unstructured.Unstructured) bool {
		t.Helper()
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		value, _, err := program.Eval(map[string]any{"status": object.Object["status"]})
		if err != nil {
			t.Fatal(err)
		}
		return value.Value() == true
	}
	eachState(t, func(t *testing.T, s state) {
		for _, e := range sample.Spec.HealthCheckExprs {
			observed, _, _ := unstructured.NestedInt64(s.object.Object, "status", "observedGeneration")
			if e.Kind != s.object.GetKind() || observed != s.object.GetGeneration() || s.object.GetDeletionTimestamp() != nil {
				continue
			}
			want := words[s.HealthStatus.Status]
			for answer, expression := range map[status.Status]string{
				status.InProgressStatus: e.InProgress, status.FailedStatus: e.Failed, status.CurrentStatus: e.Current,
			} {
				if got := is(t, expression, s.object); got != (answer == want) {
					t.Errorf("%s is %t, want %s", answer, got, want)
				}
			}
		}
	})
}

// TestConfigMap renders the keys of Argo CD's ConfigMap.
func TestConfigMap(t *testing.T) {
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	resources := rendered.Resources()
	if len(resources) != 1 || resources[0].GetName() != "argocd-cm" || resources[0].GetNamespace() != "argocd" {
		t.Fatalf("resources %v, want the ConfigMap argocd-cm", resources)
	}
	script, err := os.ReadFile(filepath.Join(folder, "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	data := resources[0].GetDataMap()
	for _, kind := range kinds {
		if data["resource.customizations.health.ray.io_"+kind] != string(script) {
			t.Errorf("there is no health check of %s", kind)
		}
	}
}
