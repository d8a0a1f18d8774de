package deviceadmission_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/pkg/devices/load"
)

// counter is the value of a counter of the first replica, with this label value.
func (w *world) counter(name, label string) float64 {
	w.T.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.replicas[0].metrics.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		w.T.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetValue() == label {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}

// TestReloadLive: the file of a running operator changes: Pods follow a good one, and a bad one counts in a metric only.
func TestReloadLive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write(head + "vendors:\n- {name: a, resources: {count: a.io/x, memory: a.io/m}, defaults: {count: 1}}\n")
	file := &load.File{Path: path, Every: 50 * time.Millisecond, Clock: clock.RealClock{}}
	if err := file.Open(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, settings{live: file.Live, edit: func(hook map[string]any) { delete(hook, "matchConditions") }})
	file.Reloaded = func(err error) { w.replicas[0].metrics.Reloaded(file.Live.Program().Hash, err) }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- file.Start(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	devices := func() string {
		pod := w.pod("a", "a.io/m=5")
		if err := w.dryRun(pod); err != nil {
			t.Fatal(err)
		}
		return asked(t, pod)["a.io/x"]
	}
	if got := devices(); got != "1" {
		t.Errorf("%s devices, want 1", got)
	}
	write("nonsense")
	w.Eventually("the metric of a bad file", func() bool { return w.counter("device_registry_reloads_total", "failure") == 1 })
	if got := devices(); got != "1" {
		t.Errorf("%s devices with a bad file, want 1", got)
	}
	write(head + "vendors:\n- {name: a, resources: {count: a.io/x, memory: a.io/m}, defaults: {count: 2}}\n")
	w.Eventually("the good file", func() bool { return devices() == "2" })
	if n := w.counter("device_registry_reloads_total", "success"); n != 1 {
		t.Errorf("%v good files are counted, want 1", n)
	}
}
