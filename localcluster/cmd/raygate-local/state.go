package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// state describes a ready run to the other commands. The file exists only during a run; the lock proves that the run is alive.
type state struct {
	PID        int    `json:"pid"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	Env        string `json:"env"`
	Root       string `json:"root"`           // of the repository
	HTTP       string `json:"http,omitempty"` // of the gateway; empty without raygate
	GRPC       string `json:"grpc,omitempty"`
	Issuer     string `json:"issuer,omitempty"` // URL of the identity provider; empty without a login
	Probes     string `json:"probes,omitempty"` // URL of the operator's health endpoints
	// Pods is the folder for the processes of simulated Pods; empty if no containers run on this machine.
	Pods string `json:"pods,omitempty"`
	// Metrics are the URLs of the Prometheus metrics, by program; empty without raygate.
	Metrics map[string]string `json:"metrics,omitempty"`
	Parts   map[string]int    `json:"parts"` // name -> pid
}

func (r *runner) state() state {
	s := state{
		PID: os.Getpid(), Server: r.cp.Server, Kubeconfig: r.cp.Kubeconfig, Env: r.paths.env(), Root: r.paths.root,
		Parts: map[string]int{},
	}
	if r.ground != nil {
		s.Pods = r.paths.pods()
	}
	for _, p := range r.group.Running() {
		s.Parts[p.Name] = p.PID()
	}
	if !r.opts.withoutRaygate {
		s.HTTP, s.GRPC = r.addresses()
		if r.opts.login != "" {
			s.Issuer = r.issuer()
		}
		s.Probes = fmt.Sprintf("http://127.0.0.1:%d", r.ports[portOperatorProbes])
		s.Metrics = map[string]string{
			"operator": fmt.Sprintf("http://127.0.0.1:%d/metrics", r.ports[portOperatorMetrics]),
			"gateway":  fmt.Sprintf("http://127.0.0.1:%d/metrics", r.ports[portGatewayMetrics]),
		}
	}
	return s
}

func (r *runner) addresses() (http, grpc string) {
	return fmt.Sprintf("http://127.0.0.1:%d", r.ports[portGatewayHTTP]),
		fmt.Sprintf("127.0.0.1:%d", r.ports[portGatewayGRPC])
}

func (s state) write(path string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding state: %w", err)
	}
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing state: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing state: %w", err)
	}
	return nil
}

// readState returns nil if no run is ready.
func readState(p paths) (*state, error) {
	data, err := os.ReadFile(p.state())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading state: %w", err)
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", p.state(), err)
	}
	return &s, nil
}

func removeState(p paths) error {
	if err := os.Remove(p.state()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing old state: %w", err)
	}
	return nil
}

// guide returns the text with the addresses and the first commands to try.
func (s state) guide() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("")
	line("  Kubernetes API   %s", s.Server)
	if s.HTTP != "" {
		line("  raygate REST     %s", s.HTTP)
		line("  raygate gRPC     %s", s.GRPC)
		line("  metrics          %s (operator), %s (gateway)", s.Metrics["operator"], s.Metrics["gateway"])
	}
	line("  settings         . %s", s.Env)
	if s.Pods != "" {
		line("  entrypoints      of Ray jobs RUN ON THIS MACHINE, below %s", s.Pods)
	}
	if s.HTTP == "" {
		line("")
		line("  kubectl (after reading the settings):   kubectl get nodes")
		return b.String()
	}
	if s.Issuer != "" {
		s.guideLogin(line)
		return b.String()
	}
	line("")
	line("  Try, in another terminal:")
	line("")
	line("  . %s", s.Env)
	line("")
	line("  # REST: create a cluster")
	line(`  curl -sS -X POST "$RAYGATE_URL/apis/v2/namespaces/default/clusters" -H 'Content-Type: application/json' -d '%s'`, example)
	line("")
	line("  # kubectl: watch it become ready")
	line("  kubectl get rayclusters -w")
	line("")
	line("  # gRPC: read it, in Go; grpcurl works too, the gateway has reflection")
	line("  (cd %s && go run ./samples/go default demo)", s.Root)
	return b.String()
}

const example = `{"metadata":{"name":"demo"},"spec":{"headGroupSpec":{"rayStartParams":{},"template":{"spec":{"containers":[{"name":"ray-head","image":"rayproject/ray:2.52.0"}]}}},"workerGroupSpecs":[{"groupName":"cpu","replicas":2,"minReplicas":0,"maxReplicas":5,"rayStartParams":{},"template":{"spec":{"containers":[{"name":"ray-worker","image":"rayproject/ray:2.52.0"}]}}}]}}`
