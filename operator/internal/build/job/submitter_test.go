package job

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

func rayJob(change func(*rayv1.RayJob)) *rayv1.RayJob {
	j := &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", UID: "u"},
		Spec:       rayv1.RayJobSpec{SubmissionMode: rayv1.K8sJobMode, Entrypoint: " python main.py  --name 'a b' \n"},
		Status:     rayv1.RayJobStatus{JobId: "demo-x7k2p", DashboardURL: "demo-head-svc.default.svc:8265"},
	}
	if change != nil {
		change(j)
	}
	return j
}

// ranCommands runs a script with a stand-in for ray that fails for the commands named, and returns what ray was called
// with, one word per line and a ruler after each call.
func ranCommands(t *testing.T, script string, fails ...string) (calls []string, err error) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	stand := "#!/bin/bash\nfor a in \"$@\"; do printf '%s\\n' \"$a\" >> " + log + "; done\necho ==== >> " + log + "\ncase \"$2\" in " +
		strings.Join(append(fails, "nothing"), "|") + ") exit 1 ;; esac\n"
	for name, text := range map[string]string{"ray": stand, "python": python(dir)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	command := append(shell(false), script)
	run := exec.CommandContext(t.Context(), command[0], command[1:]...)
	run.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=/expanded"}
	out, err := run.CombinedOutput()
	text, _ := os.ReadFile(log)
	t.Logf("%s%s", out, text)
	return strings.Split(strings.TrimSuffix(string(text), "\n====\n"), "\n====\n"), err
}

// python is a stand-in that says of the second look on that the agent is healthy, and of all other health checks that they are.
func python(dir string) string {
	return `#!/bin/bash
[ "$#" = 3 ] || exit 2
case "$3" in
*/api/gcs_healthz) exit 0 ;;
http://localhost:7/api/local_raylet_healthz) mkdir ` + dir + `/asked 2>/dev/null && exit 1 ; exit 0 ;;
esac
exit 2
`
}

// TestScriptRuns has a real shell run the script.
func TestScriptRuns(t *testing.T) {
	const hostile = `it's "$HOME" $(touch /tmp/x) ` + "`id`" + ` $$ \ ; exit 3 # é`
	j := rayJob(func(j *rayv1.RayJob) {
		j.Spec.RuntimeEnvYAML = "env_vars: {A: " + `'it''s "$HOME" $(id) $$ ; exit 3'}`
		j.Spec.Metadata = map[string]string{"note": hostile}
		j.Spec.EntrypointResources = `{"o'x": 1}`
		j.Spec.EntrypointNumGpus = 0.5
	})
	script, err := k8sJobScript(j)
	if err != nil {
		t.Fatal(err)
	}
	const address = "http://demo-head-svc.default.svc:8265"
	status := "job\nstatus\n--address\n" + address + "\ndemo-x7k2p"
	submit := "job\nsubmit\n--address\n" + address + "\n--no-wait" +
		"\n--runtime-env-json\n" + `{"env_vars":{"A":"it\u0027s \"\u0024HOME\" \u0024(id) \u0024\u0024 ; exit 3"}}` +
		"\n--metadata-json\n" + `{"note":"it\u0027s \"\u0024HOME\" \u0024(touch /tmp/x) ` + "`id`" + ` \u0024\u0024 \\ ; exit 3 # é"}` +
		"\n--submission-id\ndemo-x7k2p\n--entrypoint-num-gpus\n0.500000\n--entrypoint-resources\n" + `{"o\u0027x": 1}` +
		"\n--\npython\nmain.py\n--name\na b"
	logs := "job\nlogs\n--address\n" + address + "\n--follow\ndemo-x7k2p"
	cases := map[string]struct {
		fails   []string
		want    []string
		wantErr bool
	}{
		"for the first time":        {[]string{"status"}, []string{status, submit, logs}, false},
		"after a restart":           {nil, []string{status, logs}, false},
		"when Ray refuses":          {[]string{"status", "submit"}, []string{status, submit}, true},
		"when the stream breaks":    {[]string{"logs"}, []string{status, logs}, true},
		"when Ray refuses but knew": {[]string{"submit"}, []string{status, logs}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ranCommands(t, script, tc.fails...)
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.wantErr {
				t.Errorf("error %v, calls of ray (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestSidecarScriptRuns(t *testing.T) {
	script, err := sidecarScript(rayJob(nil), "8265", "7", false)
	if err != nil {
		t.Fatal(err)
	}
	// A dashboard whose agent is not there yet refuses jobs, and the submitter is not started again.
	if wait := "http://localhost:7/api/local_raylet_healthz"; !strings.Contains(script[:strings.Index(script, "ray job submit")], wait) {
		t.Errorf("it does not wait for the agent: %s", script)
	}
	got, err := ranCommands(t, script, "submit")
	want := []string{"job\nsubmit\n--address\nhttp://127.0.0.1:8265\n--submission-id\ndemo-x7k2p\n--\npython\nmain.py\n--name\na b"}
	if diff := cmp.Diff(want, got); diff != "" || err == nil {
		t.Errorf("want the exit code of the job, got %v, calls of ray (-want +got):\n%s", err, diff)
	}
}

// TestNothingLeftToExpand looks for what Kubernetes replaces in arguments.
func TestNothingLeftToExpand(t *testing.T) {
	j := rayJob(func(j *rayv1.RayJob) {
		j.Spec.RuntimeEnvYAML = `{a: "$(RAY_JOB_SUBMISSION_ID) $$"}`
		j.Spec.Metadata = map[string]string{"$(A)": "$$"}
		j.Spec.EntrypointResources = `{"$(A)": 1}`
		j.Status.JobId = "id with $(A) and '"
	})
	script, err := k8sJobScript(j)
	if err != nil {
		t.Fatal(err)
	}
	if kept := strings.ReplaceAll(script, "$$(A)", ""); strings.Contains(kept, "$") {
		t.Errorf("Kubernetes would replace part of %s", script)
	}
	// The kubelet makes one dollar sign of two.
	got, err := ranCommands(t, strings.ReplaceAll(script, "$$", "$"))
	if err != nil || !strings.HasSuffix(got[0], "\nid with $(A) and '") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRuntimeEnv(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "# nothing": "", "{}": "{}", "b: 1\na: [x]": `{"a":["x"],"b":1}`, "x: 12345678901234567890": `{"x":12345678901234567890}`,
		"x: <&>": `{"x":"\u003c\u0026\u003e"}`,
	} {
		if got, err := RuntimeEnv(text); err != nil || string(got) != want {
			t.Errorf("%q: want %s, got %s and error %v", text, want, got, err)
		}
	}
	for _, text := range []string{"just text", "[a]", "1", "a: b: c", "\x00"} {
		if got, err := RuntimeEnv(text); err == nil {
			t.Errorf("%q: want an error, got %s", text, got)
		}
	}
}

func TestEntrypointResources(t *testing.T) {
	if got, err := EntrypointResources(`{"a": 1.5}`); err != nil || got["a"] != 1.5 {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := EntrypointResources(""); err != nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := EntrypointResources(`["a"]`); err == nil {
		t.Error("want an error")
	}
}

func TestSubmitterWithoutContainer(t *testing.T) {
	j := rayJob(func(j *rayv1.RayJob) { j.Spec.SubmitterPodTemplate = &corev1.PodTemplateSpec{} })
	if _, err := Submitter(j, raytest.RayCluster("demo"), pod.Options{}); !errors.Is(err, ErrNoContainer) {
		t.Errorf("want %v, got %v", ErrNoContainer, err)
	}
}

// TestSubmitterOfSelectedCluster is the only case with a token of Kubernetes.
func TestSubmitterOfSelectedCluster(t *testing.T) {
	rc := raytest.RayCluster("shared", raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken, EnableK8sTokenAuth: new(true)}
	}), raytest.Annotations(map[string]string{rayv1.AnnotationLoginShell: "true"}))
	got, err := Submitter(rayJob(nil), rc, pod.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := got.Spec.Template.Spec
	c := s.Containers[0]
	if len(s.Volumes) != 1 || s.Volumes[0].Name != "ray-token" || len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != "/var/run/secrets/ray.io/serviceaccount" {
		t.Errorf("volumes %v, mounts %v", s.Volumes, c.VolumeMounts)
	}
	if !slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == "RAY_ENABLE_K8S_TOKEN_AUTH" && v.Value == "true" }) {
		t.Errorf("env %v", c.Env)
	}
	if c.Command[1] != "-cel" {
		t.Errorf("want a login shell, got %v", c.Command)
	}
}

func FuzzSubmitter(f *testing.F) {
	rc := raytest.RayCluster("demo")
	golden.Fuzz(f, func(j *rayv1.RayJob) []any {
		one, err := Submitter(j, rc, pod.Options{})
		two, err2 := Sidecar(j, rc, pod.Options{}, true)
		return []any{one, err != nil, two, err2 != nil}
	})
}

// FuzzScript has bash parse scripts whose payloads are any text: whatever is in them is one word.
func FuzzScript(f *testing.F) {
	f.Add("a: b", "it's $(id) `id` \" \\", "x'y")
	f.Add("{}", "\n;", "-")
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("no bash")
	}
	f.Fuzz(func(t *testing.T, env, text, id string) {
		if strings.Contains(id, "\x00") {
			t.Skip("no argument can hold it")
		}
		j := rayJob(func(j *rayv1.RayJob) {
			j.Spec.RuntimeEnvYAML, j.Status.JobId, j.Spec.Metadata = env, id, map[string]string{text: text}
		})
		script, err := submitLine(j, "http://demo:8265", true)
		if err != nil {
			return
		}
		// In a function of this name the line is run without ray.
		line := `ray() { printf '%s\0' "$@"; }; ` + strings.ReplaceAll(script, "$$", "$")
		out, err := exec.CommandContext(t.Context(), bash, "-c", line).Output()
		if err != nil {
			t.Fatalf("running %q: %v", line, err)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		i := slices.Index(got, "--metadata-json")
		if i < 0 || !slices.Equal(got[len(got)-5:], []string{"--", "python", "main.py", "--name", "a b"}) || id != "" && !slices.Equal(got[i+2:i+4], []string{"--submission-id", id}) {
			t.Errorf("%q became %q", line, got)
		}
	})
}
