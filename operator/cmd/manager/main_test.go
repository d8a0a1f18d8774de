package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/test/controlplane"
)

// shared is the control plane of the tests that need one. Pods run only if the test gives them the node.
var shared = controlplane.Share(controlplane.Options{CRDs: controlplane.LightCRDs, Own: true, Nodes: 1, WithoutScheduler: true})

// actAsOperator makes this test program be the operator, so that exit codes and output are those of a real process.
const actAsOperator = "RAYGATE_TEST_ACT_AS_OPERATOR"

func TestMain(m *testing.M) {
	if _, act := os.LookupEnv(actAsOperator); act {
		main()
		return
	}
	shared.Main(m)
}

func operator(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, kubeconfig)
	cmd := exec.Command(program, append([]string{"--kubeconfig=" + kubeconfig}, args...)...)
	cmd.Env = append(append(os.Environ(), actAsOperator+"=1"), env...)
	return cmd
}

// TestProcessRefusesWrongSettings: each setting is named with its value and what would be right, the exit code is 1, and
// nothing panics.
func TestProcessRefusesWrongSettings(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "--config=" + path
	}
	cases := map[string]struct {
		args, env []string
		want      []string
	}{
		"a flag that does not exist": {args: []string{"--batch-schedulers=volcano"}, want: []string{"--batch-schedulers", "--help"}},
		"a flag of the wrong type":   {args: []string{"--qps=fast"}, want: []string{`"fast"`, "--kube-api-qps"}},
		"a word too much":            {args: []string{"volcano"}, want: []string{`"volcano"`}},
		"a gate of the wrong type":   {args: []string{"--feature-gates=RayCronJob=on"}, want: []string{"--feature-gates", "RayCronJob", "on"}},
		"an unknown scheduler":       {args: []string{"--batch-scheduler=volcan"}, want: []string{"--batch-scheduler", `"volcan"`, "volcano, yunikorn, scheduler-plugins, kai-scheduler"}},
		"one file, many mistakes": {
			args: []string{file(fileHead + "reconcileConcurrency: -3\nwatchNamspace: a\nburst: many\nworkerSidecarContainers: [{name: x, imgae: y}]\n")},
			want: []string{
				"5 settings are wrong", `field burst: expected integer, got string "many"`, `field watchNamspace: unknown field "watchNamspace", did you mean "watchNamespace"?`,
				`field workerSidecarContainers[0].imgae: unknown field "imgae", did you mean "image"?`, "field workerSidecarContainers[0].image is missing", "is -3, but must be at least 1",
			},
		},
		"a file that is not YAML":       {args: []string{file("\tburst: 1")}, want: []string{"--config", "not YAML"}},
		"a file of bytes":               {args: []string{file("\x00\xff\xfe")}, want: []string{"--config"}},
		"a folder instead of a file":    {args: []string{"--config=" + t.TempDir()}, want: []string{"--config", "is a directory"}},
		"a log file that cannot be":     {args: []string{"--log-file-path=/proc/nowhere/log"}, want: []string{"--log-file-path", "/proc/nowhere/log"}},
		"an environment of other times": {env: []string{"ENABLE_PROBES_INJECTION=0"}, want: []string{"ENABLE_PROBES_INJECTION", `"0"`, "true or false"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := operator(t, tc.env, tc.args...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			limit := time.AfterFunc(await.Limit, func() { _ = cmd.Process.Kill() })
			defer limit.Stop()
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("ended with %v, want exit code 1", err)
			}
			text := out.String()
			for _, part := range tc.want {
				if !strings.Contains(text, part) {
					t.Errorf("output lacks %q", part)
				}
			}
			if strings.Contains(text, "panic") || strings.Contains(text, "goroutine") || t.Failed() {
				t.Errorf("output:\n%s", text)
			}
		})
	}
}

// TestProcessLogsToBoth: what goes to standard error goes to the file too, each in its own format.
func TestProcessLogsToBoth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "operator.log")
	cmd := operator(t, nil, "--log-file-path="+path, "--log-stdout-encoder=console", "--leader-elect=false",
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--enable-batch-scheduler")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	logged := func() string {
		text, _ := os.ReadFile(path)
		return string(text)
	}
	for end := time.Now().Add(await.Limit); !strings.Contains(logged(), `"msg":"Starting"`) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	limit := time.AfterFunc(await.Limit, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	_ = cmd.Wait() // there is no API server, so it may end with an error
	if text := logged(); !strings.Contains(text, `"msg":"Starting"`) || !strings.Contains(text, `"RayMultiHostIndexing":true`) || !strings.Contains(text, `wiring.go:`) {
		t.Errorf("log file:\n%s", text)
	}
	if text := out.String(); !strings.Contains(text, `"Starting"`) || !strings.Contains(text, "wiring.go:") || !strings.Contains(text, "use --batch-scheduler=volcano") || strings.Contains(text, "panic") {
		t.Errorf("standard error:\n%s", text)
	}
}
