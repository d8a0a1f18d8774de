package pod

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestCommand(t *testing.T) {
	const (
		ulimit = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; "
		start  = "START"
	)
	overwrite := map[string]string{rayv1.AnnotationOverwriteContainerCmd: "True"}
	cases := map[string]struct {
		command, args, wantCommand, wantArgs []string
		annotations                          map[string]string
		login                                bool
	}{
		"no command":           {wantCommand: []string{"/bin/bash", "-c", "--"}, wantArgs: []string{ulimit + start}},
		"in a login shell":     {login: true, wantCommand: []string{"/bin/bash", "-cl", "--"}, wantArgs: []string{ulimit + start}},
		"after the user's own": {command: []string{"echo", "hi"}, args: []string{"there"}, wantCommand: []string{"/bin/bash", "-c", "--"}, wantArgs: []string{" echo  hi  there  && " + ulimit + start}},
		"the user starts Ray":  {args: []string{"exec ray start --head"}, wantArgs: []string{"exec ray start --head"}},
		"the user says so":     {command: []string{"mine"}, annotations: overwrite, wantCommand: []string{"mine"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := corev1.Container{Command: tc.command, Args: tc.args}
			setCommand(&c, tc.annotations, start, tc.login)
			if diff := cmp.Diff([][]string{tc.wantCommand, tc.wantArgs}, [][]string{c.Command, c.Args}); diff != "" {
				t.Errorf("command and args (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheClusterCanKeepAllCommands(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1),
		raytest.Annotations(map[string]string{rayv1.AnnotationOverwriteContainerCmd: "TRUE"}))
	for _, p := range []*corev1.Pod{Head(rc, Options{}), Worker(rc, &rc.Spec.WorkerGroupSpecs[0], Options{})} {
		if p.Annotations[rayv1.AnnotationOverwriteContainerCmd] != "true" || p.Spec.Containers[0].Args != nil {
			t.Errorf("%s: want the annotation and no command, got %v and %v", p.GenerateName, p.Annotations, p.Spec.Containers[0].Args)
		}
		valueOf(t, p, "KUBERAY_GEN_RAY_START_CMD") // what users build their own command from
	}
}

func TestQuoted(t *testing.T) {
	cases := map[string]struct{ value, want string }{
		"plain":                         {"0.0.0.0", "0.0.0.0"},
		"empty":                         {"", ""},
		"a blank":                       {"/my data", "'/my data'"},
		"blanks around":                 {" 6379 ", " 6379 "},
		"a command":                     {"1;reboot", "'1;reboot'"},
		"quotes of the user":            {`'{"a b":1}'`, `'{"a b":1}'`},
		"double quotes of the user":     {`"/my data"`, `"/my data"`},
		"escapes of the user":           {`/my\ data`, `/my\ data`},
		"variables of the user":         {"$A $B", "$A $B"},
		"more flags in one":             {"1 --verbose", "1 --verbose"},
		"a bare object":                 {`{"a": 1}`, `'{"a": 1}'`},
		"what looks like one":           {"{", "{"},
		"a bare object with variables":  {`{"a":"$B"}`, `{"a":"$B"}`},
		"labels":                        {"a=b,zone=z1", "a=b,zone=z1"},
		"an object with a single quote": {`{"a'":1}`, `{"a'":1}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, quoted(tc.value)); diff != "" {
				t.Errorf("quoted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStartCommandInAShell lets a shell show the words that Ray gets to see, from the operator's own command and from one
// of the user that contains the variable.
func TestStartCommandInAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	path := "PATH=" + fakeRay(t, `printf '%s\n' "$@"`) + ":" + os.Getenv("PATH")
	worker := func(params map[string]string, opts ...raytest.ClusterOption) *corev1.Container {
		rc := raytest.RayCluster("ns/demo", append(opts, raytest.Workers("cpu", 1, raytest.GroupContainer(func(c *corev1.Container) {
			c.Resources = corev1.ResourceRequirements{}
		}), raytest.GroupParams(params)))...)
		return &Worker(rc, &rc.Spec.WorkerGroupSpecs[0], Options{}).Spec.Containers[0]
	}
	words := func(line string, env ...string) []string {
		cmd := exec.CommandContext(t.Context(), bash, "-c", "--", line)
		cmd.Env = append(append(os.Environ(), path), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}

	own := worker(map[string]string{
		"temp-dir": "/my data", "resources": quoteResources(map[string]float64{"it's": 1}), "system-config": `{"a": "b"}`,
		"redis-password": "$REDIS_PASSWORD", "no-monitor": "False", "log-color": "false", "address": "a:1",
	})
	want := []string{
		"start", "--address=a:1", "--block", "--dashboard-agent-listen-port=52365", "--log-color=false", "--metrics-export-port=8080",
		"--redis-password=open sesame *", `--resources={"it\u0027s":1}`, `--system-config={"a": "b"}`, "--temp-dir=/my data",
	}
	line := strings.Replace(own.Args[0], "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536};", "", 1) // more than the test may have
	if diff := cmp.Diff(want, words(line, "REDIS_PASSWORD=open sesame *")); diff != "" {
		t.Errorf("words of the operator's command (-want +got):\n%s", diff)
	}

	variable := envOf(worker(map[string]string{"system-config": `{"a":"b;c"}`, "address": "a:1"}))["KUBERAY_GEN_RAY_START_CMD"]
	want = []string{
		"start", "--address=a:1", "--block", "--dashboard-agent-listen-port=52365", "--metrics-export-port=8080", `--system-config={"a":"b;c"}`,
	}
	if diff := cmp.Diff(want, words("$KUBERAY_GEN_RAY_START_CMD", "KUBERAY_GEN_RAY_START_CMD="+variable)); diff != "" {
		t.Errorf("words of the user's command (-want +got):\n%s", diff)
	}
}

// TestHeadWaitScript runs the script of the init container with a ray that answers at the second question.
func TestHeadWaitScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	dir := fakeRay(t, `echo "$@" >> "$0.calls"; [ $(wc -l < "$0.calls") -ge 2 ]`)
	cmd := exec.CommandContext(t.Context(), bash, "-c", "--", strings.ReplaceAll(waitScript("head:6379"), "sleep 5", "true"))
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "ray.calls"))
	if err != nil {
		t.Fatal(err)
	}
	const call = "health-check --address head:6379\n"
	if diff := cmp.Diff(call+call, string(calls)); diff != "" {
		t.Errorf("calls of ray (-want +got):\n%s", diff)
	}
	if !strings.Contains(string(out), "Waiting for the head at head:6379, ") || !strings.Contains(string(out), "The head is ready.") {
		t.Errorf("want a line about waiting and one about the end, got %s", out)
	}
}

// fakeRay makes a folder with a program named ray.
func fakeRay(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ray"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
