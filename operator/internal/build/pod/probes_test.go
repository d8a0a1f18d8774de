package pod

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestProbeByRayVersion(t *testing.T) {
	for v, wantHTTP := range map[string]bool{"2.53.0": true, "2.53": true, "2.53.0rc1": true, "3.0": true, "2.52.9": false, "2": false, "nightly": false, "": false} {
		p := Head(raytest.RayCluster("ns/demo", raytest.RayVersion(v)), Options{})
		if got := p.Spec.Containers[0].LivenessProbe.HTTPGet != nil; got != wantHTTP {
			t.Errorf("HTTP probe with Ray %q: want %t, got %t", v, wantHTTP, got)
		}
	}
}

func TestProbes(t *testing.T) {
	type m = map[string]string
	raylet := success(2, 52365, "api/local_raylet_healthz") // golden files have the text
	gcs := success(10, 8265, "api/gcs_healthz")
	proxy := success(10, 8000, "-/healthz")
	ofService := raytest.Labels(m{rayv1.LabelOriginatedFromCRD: "RayService"})
	params := m{"dashboard-agent-listen-port": "1", "dashboard-port": "2"}
	cases := map[string]struct {
		opts                                      []raytest.ClusterOption
		wantHead, wantWorker, wantWorkerReadiness string // commands, or ports of HTTP probes
		wantFailures                              int32  // of the worker's readiness
	}{
		"commands": {wantHead: raylet + " && " + gcs, wantWorker: raylet, wantWorkerReadiness: raylet, wantFailures: 10},
		"HTTP":     {opts: []raytest.ClusterOption{raytest.RayVersion("2.53.0")}, wantHead: "52365", wantWorker: "52365", wantWorkerReadiness: "52365", wantFailures: 10},
		"other ports": {
			opts:                []raytest.ClusterOption{raytest.HeadParams(params), raytest.Spec(func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].RayStartParams = params })},
			wantHead:            success(2, 1, "api/local_raylet_healthz") + " && " + success(10, 2, "api/gcs_healthz"),
			wantWorker:          success(2, 1, "api/local_raylet_healthz"),
			wantWorkerReadiness: success(2, 1, "api/local_raylet_healthz"), wantFailures: 10,
		},
		"ports that are no numbers": {
			opts:     []raytest.ClusterOption{raytest.HeadParams(m{"dashboard-agent-listen-port": "$A", "dashboard-port": "4294967296"})},
			wantHead: raylet + " && " + gcs, wantWorker: raylet, wantWorkerReadiness: raylet, wantFailures: 10,
		},
		"of a service": {
			opts:     []raytest.ClusterOption{ofService},
			wantHead: raylet + " && " + gcs, wantWorker: raylet, wantWorkerReadiness: raylet + " && " + proxy, wantFailures: 1,
		},
		"of a service with HTTP": {
			opts:     []raytest.ClusterOption{ofService, raytest.RayVersion("2.53.0")},
			wantHead: "52365", wantWorker: "52365", wantWorkerReadiness: "8000/-/healthz", wantFailures: 1,
		},
	}
	show := func(p *corev1.Probe) string {
		if p.HTTPGet != nil {
			return strings.TrimSuffix(p.HTTPGet.Port.String()+p.HTTPGet.Path, "/api/healthz")
		}
		return p.Exec.Command[2]
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			head, worker := buildBoth(Options{}, tc.opts...)
			h, w := &head.Spec.Containers[0], &worker.Spec.Containers[0]
			want := []string{tc.wantHead, tc.wantHead, tc.wantWorker, tc.wantWorkerReadiness}
			got := []string{show(h.LivenessProbe), show(h.ReadinessProbe), show(w.LivenessProbe), show(w.ReadinessProbe)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("liveness and readiness of head and worker (-want +got):\n%s", diff)
			}
			wantNumbers := []int32{30, 5, 5, 1, 120, 10, 5, 5, 1, 10, 30, 2, 5, 1, 120, 10, 2, 5, 1, tc.wantFailures}
			var numbers []int32
			for _, p := range []*corev1.Probe{h.LivenessProbe, h.ReadinessProbe, w.LivenessProbe, w.ReadinessProbe} {
				numbers = append(numbers, p.InitialDelaySeconds, p.TimeoutSeconds, p.PeriodSeconds, p.SuccessThreshold, p.FailureThreshold)
			}
			if diff := cmp.Diff(wantNumbers, numbers); diff != "" {
				t.Errorf("delays, time-outs, periods and thresholds (-want +got):\n%s", diff)
			}
		})
	}
}

// Images without wget have Python. A check that wget made is not repeated.
func TestCommandOfProbes(t *testing.T) {
	healthy := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/api/x":
			http.NotFound(w, r)
		case healthy:
			_, _ = io.WriteString(w, "success")
		default:
			http.Error(w, "failure", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	command := success(2, int32(number), "api/x")
	programs := t.TempDir()
	for name, find := range map[string]string{"grep": "command -v grep", "python3": "python3 -c 'import sys; print(sys.executable)'"} {
		path, err := exec.CommandContext(t.Context(), "bash", "-c", find).Output()
		if err != nil {
			t.Skipf("the commands of probes are NOT run: %s is missing: %v", name, err)
		}
		if err := os.Symlink(strings.TrimSpace(string(path)), filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	passes := func() bool {
		c := exec.CommandContext(t.Context(), "bash", "-c", command)
		c.Env = []string{"PATH=" + programs, "no_proxy=*"}
		return c.Run() == nil
	}
	if !passes() {
		t.Error("fails without wget")
	}
	if healthy = false; passes() {
		t.Error("passes without wget although the node is not healthy")
	}
	healthy = true
	if err := os.WriteFile(filepath.Join(programs, "wget"), []byte("#!/bin/sh\nexit 8\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if passes() {
		t.Error("asks by Python after wget has failed")
	}
}

func TestProbesOfTheUserStay(t *testing.T) {
	own := &corev1.Probe{TimeoutSeconds: 77}
	_, worker := buildBoth(Options{}, raytest.Labels(map[string]string{rayv1.LabelOriginatedFromCRD: "RayService"}),
		raytest.Spec(func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].Template.Spec.Containers[0].ReadinessProbe = own }))
	c := worker.Spec.Containers[0]
	if diff := cmp.Diff(own, c.ReadinessProbe); diff != "" {
		t.Errorf("readiness (-want +got):\n%s", diff)
	}
	if c.LivenessProbe == nil {
		t.Error("want the operator's liveness probe beside the user's readiness probe")
	}
}
