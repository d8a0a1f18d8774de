package history

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/test/controlplane"
)

// settle bounds every wait. No test depends on speed.
const settle = 3 * time.Minute

// output has bytes that are no text, and no line break at its end. Ray replaces bytes that are not UTF-8. It is a megabyte; in make test-all, that of
// the second attempt is a hundred.
func output(attempt int) (written, read string) {
	size := 1 << 20
	if suite.IsAll() && attempt == 2 {
		size *= 100
	}
	piece := fmt.Sprintf("attempt %d \x00\x01\x1b[31m\xff.\r\n", attempt)
	written = strings.Repeat(piece, size/len(piece)) + "the end"
	return written, strings.ToValidUTF8(written, "\uFFFD")
}

// TestLogsOutliveTheCluster runs a RayJob whose first attempt fails, and whose clusters are deleted at once. The operator is away when the second
// attempt ends. Each log is there as a whole, from each replica of the gateway, also after the RayJob was deleted.
func TestLogsOutliveTheCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	s := start(t)
	dir := t.TempDir()
	logs := map[int]string{}
	for attempt := 1; attempt <= 2; attempt++ {
		var written string
		written, logs[attempt] = output(attempt)
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(attempt)), []byte(written), 0o600))
	}
	program := fmt.Sprintf(`sh -c "cd %s; if mkdir begun 2>/dev/null; then cat 1; exit 1; fi; cat 2; touch written; until test -e go; do sleep 0.1; done"`, dir)
	s.call(t, 0, "POST", "/jobs", fmt.Sprintf(manifest, program), 201)
	exists := func(name string) func() error {
		return func() error { _, err := os.Stat(filepath.Join(dir, name)); return err }
	}
	eventually(t, "the second attempt", exists("written"))
	s.operator.Stop()
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	must(t, s.operator.Start())
	eventually(t, "the end without a cluster", func() error {
		job, clusters := s.call(t, 0, "GET", "/jobs/demo", "", 200), s.call(t, 0, "GET", "/clusters", "", 200)
		if !strings.Contains(job, `"jobDeploymentStatus":"Complete"`) || strings.Contains(clusters, `"name":`) {
			return fmt.Errorf("job %s\nclusters %s", job, clusters)
		}
		return nil
	})
	read := func(when string) {
		for replica := range s.gateways {
			for path, want := range map[string]string{"/jobs/demo/logs": logs[2], "/jobs/demo/logs?attempt=1": logs[1], "/jobs/demo/logs?attempt=2": logs[2]} {
				if got := s.call(t, replica, "GET", path, "", 200); got != want {
					t.Errorf("%s, replica %d, %s: %d bytes, want %d", when, replica, path, len(got), len(want))
				}
			}
			if got := s.call(t, replica, "GET", "/jobs/demo/logs?attempt=3", "", 404); !strings.Contains(got, "it has 1, 2") {
				t.Errorf("%s: attempt 3: %s", when, got)
			}
		}
		if got := s.raygate(t, "logs", "demo", "--attempt", "1"); got != logs[1] {
			t.Errorf("%s: raygate logs: %d bytes, want %d", when, len(got), len(logs[1]))
		}
		if got := s.raygate(t, "logs", "demo", "--attempt", "1", "--file", "raylet.out"); !strings.HasPrefix(got, "(raylet) ") {
			t.Errorf("%s: the log of the head's raylet is %q", when, got)
		}
	}
	read("cluster gone")
	s.call(t, 0, "DELETE", "/jobs/demo", "", 200)
	eventually(t, "the deletion", func() error {
		for replica := range s.gateways {
			if got := s.call(t, replica, "GET", "/jobs", "", 200); strings.Contains(got, `"name":"demo"`) {
				return fmt.Errorf("replica %d has it", replica)
			}
		}
		return nil
	})
	read("RayJob deleted")
	table := strings.Fields(s.raygate(t, "history", "rayjobs", "--no-headers"))
	if len(table) < 12 || strings.Join(table[:3], " ") != "rayjob/demo 2 SUCCEEDED" || !strings.Contains(strings.Join(table, " "), "rayjob/demo 1 FAILED") {
		t.Errorf("raygate history: %q", table)
	}
	if got := s.raygate(t, "history", "rayjob/demo", "--attempt", "1", "-o", "json"); !strings.Contains(got, `"backoffLimit": 1`) || !strings.Contains(got, `"rayCluster"`) {
		t.Errorf("raygate history rayjob/demo: %s", got)
	}
	if got := s.call(t, 1, "GET", "/jobs/demo:diagnose", "", 200); !strings.Contains(got, `"ready":true`) || !strings.Contains(got, `"Deleted"`) {
		t.Errorf("diagnosis: %s", got)
	}
	if got := s.raygate(t, "diagnose", "rayjob/demo", "--attempt", "1"); !strings.Contains(got, "EntrypointFailed") || !strings.Contains(got, "exit code 1") {
		t.Errorf("diagnosis of the first attempt: %s", got)
	}
}

// manifest is a RayJob with its program.
const manifest = `apiVersion: ray.io/v1
kind: RayJob
metadata: {name: demo, namespace: default}
spec:
  submissionMode: HTTPMode
  entrypoint: '%s'
  backoffLimit: 1
  shutdownAfterJobFinishes: true
  ttlSecondsAfterFinished: 0
  rayClusterSpec:
    rayVersion: 2.52.0
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: ray-head, image: 'rayproject/ray:2.52.0'}]}}
`

// stage is what runs.
type stage struct {
	operator *programs.Program
	gateways []string // REST
	grpc     string
}

func start(t *testing.T) *stage {
	t.Helper()
	env := controlplane.Start(t, controlplane.Options{Own: true})
	logs := t.TempDir()
	store := "--history-store=file://" + t.TempDir()
	ports, err := programs.FreePorts(8)
	must(t, err)
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	s := &stage{grpc: at(2), operator: &programs.Program{
		Path: programs.Binary("raygate-operator"), Log: filepath.Join(logs, "operator.log"), Ready: "http://" + at(1) + "/readyz",
		Args: []string{
			"--kubeconfig", env.Kubeconfig, "--metrics-bind-address=" + at(0), "--health-probe-bind-address=" + at(1), "--leader-elect=false",
			"--use-kubernetes-proxy", store, "--history-node-logs=1Mi",
		},
	}}
	all := []*programs.Program{s.operator}
	for i := 2; i < 8; i += 3 {
		s.gateways = append(s.gateways, "http://"+at(i+1))
		all = append(all, &programs.Program{
			Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(logs, fmt.Sprintf("gateway-%d.log", i)), Ready: "http://" + at(i+1) + "/readyz",
			Args: []string{
				"--kubeconfig", env.Kubeconfig, "--grpc-address=" + at(i), "--http-address=" + at(i+1), "--metrics-address=" + at(i+2),
				"--authentication=none", "--use-kubernetes-proxy", store,
			},
		})
	}
	for _, p := range all {
		must(t, p.Start())
		t.Cleanup(p.Stop)
	}
	t.Cleanup(func() {
		if t.Failed() {
			programs.PrintLogs(8<<10, all...)
		}
	})
	return s
}

// call sends a request to a replica of the gateway, and returns the body of the answer.
func (s *stage) call(t *testing.T, replica int, method, path, body string, want int) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.gateways[replica]+"/apis/v2/namespaces/default"+path, strings.NewReader(body))
	must(t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/yaml")
	}
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != want {
		t.Fatalf("%s %s: %d %.2000s", method, path, resp.StatusCode, data)
	}
	return string(data)
}

// raygate runs the command line and returns its output.
func (s *stage) raygate(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), programs.Binary("raygate"), append(args, "--server", "http://"+s.grpc, "-n", "default")...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("raygate %v: %v %s", args, err, &errs)
	}
	return out.String()
}

func eventually(t *testing.T, what string, ok func() error) {
	t.Helper()
	err := ok()
	for end := time.Now().Add(settle); err != nil && time.Now().Before(end); err = ok() {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatalf("waited %s for %s in vain: %v", settle, what, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
