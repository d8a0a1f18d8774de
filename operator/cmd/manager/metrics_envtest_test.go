package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/cert"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/raygate/raygate/internal/testing/metricnames"
	"github.com/raygate/raygate/internal/testing/programs"
)

// TestMetricNames holds observability/metrics/operator.txt, which dashboards and alerts go by, to what the operator registers with everything on;
// -update writes it.
func TestMetricNames(t *testing.T) {
	env := shared.Env(t)
	folder := t.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ports, err := programs.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	health := fmt.Sprintf("127.0.0.1:%d", ports[1])
	o, err := parse(t, []string{
		"--leader-elect=false", "--enable-webhooks", "--device-registry=shipped", "--feature-gates=AllAlpha=true,KubernetesWAS=false", "--webhook-cert-dir=" + folder,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), "--health-probe-bind-address=" + health, fmt.Sprintf("--webhook-port=%d", ports[2]),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Config = env.Config
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o) }()
	eventually(ctx, t, "readiness", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the operator ended: %v", err)
		default:
		}
		return body(ctx, "http://"+health+"/readyz") == "ok"
	})
	lines, err := metricnames.List(ctrlmetrics.Registry)
	stop()
	if <-ended; err != nil {
		t.Fatal(err)
	}
	compareMetrics(t, "operator.txt", lines)
}

func compareMetrics(t *testing.T, file string, lines []string) {
	t.Helper()
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("..", "..", "..", "observability", "metrics", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("metrics (-in observability/metrics +registered; -update rewrites):\n%s", diff)
	}
}
