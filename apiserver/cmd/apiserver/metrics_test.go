package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/metricnames"
)

var update = flag.Bool("update", false, "write observability/metrics/gateway.txt")

// TestMetricNames holds observability/metrics/gateway.txt, which dashboards and alerts go by, to what the gateway registers; -update writes it.
func TestMetricNames(t *testing.T) {
	o := NewOptions()
	o.Authentication, o.restConfig = string(authn.None), &rest.Config{Host: "127.0.0.1:1"}
	a, err := newApp(t.Context(), o, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := metricnames.List(a.registry)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("..", "..", "..", "observability", "metrics", "gateway.txt")
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
