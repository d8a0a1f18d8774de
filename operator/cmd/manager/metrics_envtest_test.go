package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/metricnames"
	"github.com/raygate/raygate/internal/testing/otlp"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/controlplane"
)

// TestMetricNames holds observability/metrics/operator.txt, which dashboards and alerts go by, to what the operator registers with everything on, and sends to a
// collector over TLS, together with traces;
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
	collector := otlp.Start(t)
	health := fmt.Sprintf("127.0.0.1:%d", ports[1])
	o, err := parse(t, []string{
		"--leader-elect=false", "--enable-webhooks", "--device-registry=shipped", "--feature-gates=AllAlpha=true,KubernetesWAS=false", "--webhook-cert-dir=" + folder,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), "--health-probe-bind-address=" + health, fmt.Sprintf("--webhook-port=%d", ports[2]),
		"--tracing-endpoint=" + collector.Endpoint, "--tracing-ca-file=" + collector.CAFile, "--tracing-sampling-rate-per-million=1000000",
		"--metrics-export-endpoint=" + collector.Endpoint, "--metrics-export-ca-file=" + collector.CAFile,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Config = rest.CopyConfig(env.Config) // which gets a transport
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
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
	createCluster(ctx, t, env, "traced")
	eventually(ctx, t, "a trace of a reconcile", func() bool { return reconcileTraced(collector, "traced") })
	lines, err := metricnames.List(ctrlmetrics.Registry)
	stop()
	if <-ended; err != nil {
		t.Fatal(err)
	}
	sent := func(m *metricspb.Metric) bool { return m.GetName() == "controller_runtime_reconcile_total" }
	if all := collector.Metrics(); !slices.ContainsFunc(all, sent) || !collector.From(serviceName) {
		t.Errorf("%d metrics were sent, and none about reconciles", len(all))
	}
	compareMetrics(t, "operator.txt", lines)
}

// createCluster creates a RayCluster without Pods.
func createCluster(ctx context.Context, t *testing.T, env *controlplane.Env, name string) {
	t.Helper()
	rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}, Spec: rayv1.RayClusterSpec{Suspend: new(true)}}
	rc.Spec.HeadGroupSpec.Template.Spec.Containers = []corev1.Container{{Name: "ray-head", Image: "rayproject/ray:2.60.0"}}
	c := newClient(t, env)
	if err := c.Create(ctx, rc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Delete(context.Background(), rc) })
}

// reconcileTraced reports whether there is a span of a reconcile of this object, with a request to the API server in it.
func reconcileTraced(collector *otlp.Collector, name string) bool {
	all := collector.Spans()
	return slices.ContainsFunc(all, func(s *tracepb.Span) bool {
		of := slices.ContainsFunc(s.GetAttributes(), func(a *commonpb.KeyValue) bool { return a.GetValue().GetStringValue() == name })
		return of && s.GetName() == "reconcile raycluster" &&
			slices.ContainsFunc(all, func(child *tracepb.Span) bool { return string(child.GetParentSpanId()) == string(s.GetSpanId()) })
	})
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
