package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/test/controlplane"
)

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
	lost := s.beginLost(t, dir)
	s.call(t, 0, "POST", "/services", service, 201)
	program := fmt.Sprintf(`sh -c "cd %s; if mkdir begun 2>/dev/null; then cat 1; exit 1; fi; cat 2; touch written; until test -e go; do sleep 0.1; done"`, dir)
	s.call(t, 0, "POST", "/jobs", fmt.Sprintf(manifest, "demo", program, 1), 201)
	exists := func(name string) func() error {
		return func() error { _, err := os.Stat(filepath.Join(dir, name)); return err }
	}
	await.NoError(t, "the second attempt", exists("written"))
	s.operator.Stop()
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	must(t, s.operator.Start())
	await.NoError(t, "the end without a cluster", func() error {
		job, clusters := s.call(t, 0, "GET", "/jobs/demo", "", 200), s.call(t, 0, "GET", "/clusters", "", 200)
		if !strings.Contains(job, `"jobDeploymentStatus":"Complete"`) || strings.Contains(clusters, `"name":"demo-`) {
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
	lost()
	s.endService(t)
	s.call(t, 0, "DELETE", "/jobs/demo", "", 200)
	await.NoError(t, "the deletion", func() error {
		for replica := range s.gateways {
			if got := s.call(t, replica, "GET", "/jobs", "", 200); strings.Contains(got, `"name":"demo"`) {
				return fmt.Errorf("replica %d has it", replica)
			}
		}
		return nil
	})
	read("RayJob deleted")
	table := strings.Fields(s.raygate(t, "history", "rayjob/demo", "--no-headers"))
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

// part is the size of the parts in which the log of a job that runs is stored.
const part = 256 << 10

// beginLost begins a RayJob that never ends. The function that it returns deletes the cluster once the operator has stored some of the log, which is
// then there.
func (s *stage) beginLost(t *testing.T, dir string) (lose func()) {
	t.Helper()
	written, log := output(2)
	must(t, os.WriteFile(filepath.Join(dir, "lost"), []byte(written), 0o600))
	s.call(t, 0, "POST", "/jobs", fmt.Sprintf(manifest, "lost", fmt.Sprintf(`sh -c "cat %s/lost; sleep 1000"`, dir), 0), 201)
	return func() {
		least := int64(len(log) / part * part)
		await.NoError(t, "parts of the log", func() error {
			if n := s.bytesBelow(t, "running/default/RayJob/lost"); n < least {
				return fmt.Errorf("%d bytes of %d", n, least)
			}
			return nil
		})
		s.call(t, 0, "DELETE", "/clusters/"+s.clusterOf(t, "lost"), "", 200)
		await.NoError(t, "the end of the RayJob without a cluster", func() error {
			if job := s.call(t, 0, "GET", "/jobs/lost", "", 200); !strings.Contains(job, `"jobDeploymentStatus":"Failed"`) {
				return errors.New(job)
			}
			return nil
		})
		var got string
		await.NoError(t, "its record", func() error {
			if got = s.raygate(t, "history", "rayjob/lost", "--no-headers"); got == "" {
				return errors.New("there is none")
			}
			return nil
		})
		for replica := range s.gateways {
			got, mark, _ := strings.Cut(s.call(t, replica, "GET", "/jobs/lost/logs", "", 200), "\n[raygate: the rest of the log is missing: ")
			if !strings.HasPrefix(log, got) || int64(len(got)) < least || mark == "" {
				t.Errorf("replica %d: %d bytes, want %d, and %q", replica, len(got), least, mark)
			}
		}
	}
}

// bytesBelow is the size of the objects in a folder of the store.
func (s *stage) bytesBelow(t *testing.T, folder string) (n int64) {
	t.Helper()
	_ = filepath.WalkDir(filepath.Join(s.store, folder), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// clusterOf is the name of the cluster of a RayJob.
func (s *stage) clusterOf(t *testing.T, job string) string {
	t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	must(t, json.Unmarshal([]byte(s.call(t, 0, "GET", "/clusters", "", 200)), &list))
	for _, c := range list.Items {
		if strings.HasPrefix(c.Metadata.Name, job+"-") {
			return c.Metadata.Name
		}
	}
	t.Fatalf("%s has no cluster: %v", job, list)
	return ""
}

// endService deletes the RayService, whose record then says what Serve had.
func (s *stage) endService(t *testing.T) {
	t.Helper()
	await.NoError(t, "the application", func() error {
		if got := s.call(t, 0, "GET", "/services/serve", "", 200); !strings.Contains(got, `"status":"RUNNING"`) {
			return errors.New(got)
		}
		return nil
	})
	s.call(t, 0, "DELETE", "/services/serve", "", 200)
	await.NoError(t, "the record of the RayService", func() error {
		if got := s.raygate(t, "history", "rayservices", "--no-headers"); got == "" {
			return errors.New("there is none")
		}
		return nil
	})
	if got := s.call(t, 1, "GET", "/history/RayService/serve/dashboard/api/serve/applications/", "", 200); !strings.Contains(got, `"app"`) || !strings.Contains(got, "RUNNING") {
		t.Errorf("the applications of the RayService were %s", got)
	}
}

// service is a RayService with one application.
const service = `apiVersion: ray.io/v1
kind: RayService
metadata: {name: serve, namespace: default}
spec:
  serveConfigV2: |
    applications: [{name: app, import_path: m:app}]
  rayClusterConfig:
    rayVersion: 2.52.0
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: ray-head, image: 'rayproject/ray:2.52.0'}]}}
`

// manifest is a RayJob with its name, program and retries.
const manifest = `apiVersion: ray.io/v1
kind: RayJob
metadata: {name: %s, namespace: default}
spec:
  submissionMode: HTTPMode
  entrypoint: '%s'
  backoffLimit: %d
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
	store    string // the folder
}

func start(t *testing.T) *stage {
	t.Helper()
	env := controlplane.Start(t, controlplane.Options{CRDs: controlplane.LightCRDs, Own: true})
	logs := t.TempDir()
	folder := t.TempDir()
	store := "--history-store=file://" + folder
	ports, err := programs.FreePorts(8)
	must(t, err)
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	s := &stage{grpc: at(2), store: folder, operator: &programs.Program{
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
