package submit

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestEntrypoint(t *testing.T) {
	tests := map[string]struct {
		words []string
		want  string
	}{
		"a shell command":          {[]string{"echo $A && exit 3"}, "echo $A && exit 3"},
		"a program":                {[]string{"python", "train.py", "--epochs=3"}, "python train.py --epochs=3"},
		"arguments with spaces":    {[]string{"echo", "a b", "it's", "", "$HOME;*"}, `echo 'a b' 'it'\''s' '' '$HOME;*'`},
		"nothing":                  {nil, ""},
		"an empty word":            {[]string{" "}, ""},
		"a shell in several words": {[]string{"sh", "-c", "echo hi; exit 3"}, "sh -c 'echo hi; exit 3'"},
	}
	for name, tc := range tests {
		got, err := Entrypoint(tc.words)
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tc.want)
		}
	}
}

// FuzzEntrypoint: a shell gives the program the words as they were typed.
func FuzzEntrypoint(f *testing.F) {
	f.Add("a b", "it's $HOME")
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, 0) {
			return // no argument of a program holds it
		}
		command, err := Entrypoint([]string{"printf", "%s|%s", a, b})
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("/bin/sh", "-c", command).Output()
		if err != nil || string(out) != a+"|"+b {
			t.Errorf("%q and %q became %q, %v by %s", a, b, out, err, command)
		}
	})
}

func TestOneCommand(t *testing.T) {
	for entrypoint, want := range map[string]string{
		"python train.py":      "python train.py",
		`python -c "print(1)"`: `bash -c 'python -c "print(1)"'`,
		"a; b":                 "bash -c 'a; b'",
		"a && b 'c'":           `bash -c 'a && b '\''c'\'''`,
	} {
		if got := oneCommand(entrypoint); got != want {
			t.Errorf("%s: %s, want %s", entrypoint, got, want)
		}
	}
}

func options() Options {
	return Options{
		Entrypoint: "python train.py", RayVersion: "2.52.0", Image: "rayproject/ray:2.52.0", TTL: 30,
		Head: Size{CPU: "1", Memory: "4Gi", GPU: "0"}, Worker: Size{CPU: "2", Memory: "8Gi", GPU: "1"},
	}
}

// rayJob returns the job of options, or nil if that fails with the wanted error.
func rayJob(t *testing.T, o *Options, want string) *rayv1.RayJob {
	t.Helper()
	job, err := o.RayJob()
	if want != "" {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// TestRayJobGolden also holds what is made to the rules: it is neither refused nor warned of.
func TestRayJobGolden(t *testing.T) {
	tests := map[string]func(*Options){
		"plain": func(*Options) {},
		"full": func(o *Options) {
			o.Name, o.Workers, o.BackoffLimit, o.Deadline, o.Keep, o.Mode = "train", 2, 1, 60, true, "HTTPMode"
			o.Env, o.Metadata, o.WorkingDir = map[string]string{"B": "2"}, map[string]string{"team": "a"}, "https://example.com/a.zip"
			o.RuntimeEnv = []byte("env_vars: {A: '1'}\npip: [torch]\n")
			o.CPUs, o.GPUs, o.Resources = 0.5, 1, map[string]float64{"special": 2}
		},
		"queued": func(o *Options) {
			o.Queue, o.PriorityClass, o.Labels = "team-a", "high", map[string]string{"example.com/cost": "42"}
		},
		"shell": func(o *Options) { o.Entrypoint, o.Shell, o.TTL = "prepare && train; exit 3", true, 0 },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			o := options()
			change(&o)
			job, err := o.RayJob()
			if err != nil {
				t.Fatal(err)
			}
			document, err := Document(job)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
			checks, _ := validation.ForKind("RayJob")
			checks.SetDefaults(job)
			job.Name = "demo"
			verdict := checks.Create(job, validation.Options{})
			if len(verdict.Errors)+len(verdict.Warnings) > 0 {
				t.Errorf("errors %v, warnings %v", verdict.Errors, verdict.Warnings)
			}
		})
	}
}

func TestSubmission(t *testing.T) {
	o := options()
	o.Name, o.Env, o.Memory, o.Resources = "id", map[string]string{"A": "b"}, 7, map[string]float64{"x": 1}
	s, err := o.Submission()
	if err != nil {
		t.Fatal(err)
	}
	if s.GetSubmissionId() != "id" || s.GetEntrypointMemory() != 7 || s.GetEntrypointResources()["x"] != 1 || s.GetRuntimeEnv().AsMap()["env_vars"].(map[string]any)["A"] != "b" {
		t.Errorf("submission %v", s)
	}
	o.RuntimeEnv = []byte("env_vars: [a]")
	if _, err := o.Submission(); err == nil {
		t.Error("variables that are no object are taken")
	}
	o.RuntimeEnv = []byte("- a")
	if _, err := o.RayJob(); err == nil {
		t.Error("a runtime environment that is no object is taken")
	}
}

func TestNonsense(t *testing.T) {
	o := options()
	o.Head.Memory = "much"
	if _, err := o.RayJob(); err == nil || !strings.Contains(err.Error(), `--head-memory: "much" is not a quantity`) {
		t.Errorf("memory: %v", err)
	}
	for _, amount := range []string{"x", "-1", "NaN", "1e300"} {
		if _, err := ParseResources(map[string]string{"a": amount}); err == nil {
			t.Errorf("%s is an amount", amount)
		}
	}
}

// The profile gives the rest.
func TestRayJobOfProfile(t *testing.T) {
	o := options()
	o.Profile, o.Image, o.RayVersion, o.Head, o.Workers, o.Worker = "a100x4", "", "", Size{}, 2, Size{GPU: "8"}
	job, err := o.RayJob()
	if err != nil {
		t.Fatal(err)
	}
	document, err := Document(job)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(map[string]any{"labels": document["metadata"].(map[string]any)["labels"], "cluster": document["spec"].(map[string]any)["rayClusterSpec"]})
	if err != nil {
		t.Fatal(err)
	}
	want := `cluster:
  headGroupSpec:
    rayStartParams: {}
  workerGroupSpecs:
  - groupName: workers
    maxReplicas: 2
    minReplicas: 2
    rayStartParams: {}
    replicas: 2
    template:
      spec:
        containers:
        - name: ray-worker
          resources:
            limits:
              nvidia.com/gpu: "8"
            requests:
              nvidia.com/gpu: "8"
labels:
  raygate.io/profile: a100x4
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
