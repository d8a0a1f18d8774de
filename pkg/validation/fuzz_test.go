package validation_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// FuzzRayCluster holds that no object that can be decoded, with or without its defaults, makes a rule panic or take
// long, and that what is reported is described.
func FuzzRayCluster(f *testing.F) {
	for _, e := range examples.All() {
		if data, err := json.Marshal(e.Object()); err == nil && len(data) < 1<<16 {
			f.Add(data)
		}
	}
	described := map[string]bool{}
	for _, r := range validation.Rules() {
		described[r.ID] = true
	}
	gates := map[validation.Gate]bool{
		validation.GateMTLS: true, validation.GateHistoryServer: true, validation.GateNetworkPolicy: true, validation.GateEmbeddedGCSStorage: true,
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rc := decodeCluster(data)
		if rc == nil {
			return
		}
		old := examples.Base()
		start := time.Now()
		for _, o := range []validation.Options{{}, {Gates: gates, BatchScheduler: new("volcano")}} {
			list := validation.RayCluster(rc, o)
			list = append(list, validation.RayClusterWarningList(rc, o)...)
			list = append(list, validation.RayClusterUpdate(rc, old, o)...)
			list = append(list, validation.RayClusterUpdateWarningList(old, rc, o)...)
			for _, v := range validation.Violations(list) {
				if !described[v.Rule] || v.Field == "" {
					t.Errorf("rule %q at %q is not described", v.Rule, v.Field)
				}
			}
			rayv1.SetRayClusterDefaults(rc)
		}
		// Generous for a busy machine; the inputs are small.
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the verdict on %d bytes took %s", len(data), took)
		}
	})
}

// decodeCluster returns nil for what is no RayCluster. Decoding is not under test.
func decodeCluster(data []byte) (rc *rayv1.RayCluster) {
	defer func() {
		if recover() != nil {
			rc = nil
		}
	}()
	rc = &rayv1.RayCluster{}
	if err := json.Unmarshal(data, rc); err != nil {
		return nil
	}
	return rc
}

func TestNilObjects(t *testing.T) {
	o := validation.Options{}
	if errs := validation.RayCluster(nil, o); len(errs) == 0 {
		t.Error("RayCluster(nil) has no errors")
	}
	if errs := validation.RayClusterUpdate(nil, nil, o); len(errs) == 0 {
		t.Error("RayClusterUpdate(nil, nil) has no errors")
	}
	for name, got := range map[string]int{
		"warnings":        len(validation.RayClusterWarnings(nil, o)),
		"update warnings": len(validation.RayClusterUpdateWarnings(nil, nil, o)),
		"job":             len(validation.RayJob(nil, o)) + len(validation.RayJobWarningList(nil, o)),
		"service":         len(validation.RayService(nil, o)) + len(validation.RayServiceWarningList(nil, o)),
		"cron job":        len(validation.RayCronJob(nil, o)) + len(validation.RayCronJobWarningList(nil, o)),
	} {
		if got != 0 {
			t.Errorf("%s of nil: %d problems", name, got)
		}
	}
}

// largeCluster has groups of three containers each, with the usual trimmings.
func largeCluster(groups int) *rayv1.RayCluster {
	rc := examples.Base()
	base := rc.Spec.WorkerGroupSpecs[0]
	rc.Spec.WorkerGroupSpecs = nil
	for i := range groups {
		g := base.DeepCopy()
		g.GroupName = fmt.Sprintf("group-%d", i)
		for c := range 2 {
			g.Template.Spec.Containers = append(g.Template.Spec.Containers, corev1.Container{Name: fmt.Sprintf("sidecar-%d", c), Image: "sidecar:1"})
		}
		for c := range g.Template.Spec.Containers {
			for e := range 10 {
				g.Template.Spec.Containers[c].Env = append(g.Template.Spec.Containers[c].Env, corev1.EnvVar{Name: fmt.Sprintf("E%d", e), Value: "v"})
			}
		}
		rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, *g)
	}
	return rc
}

func BenchmarkRayClusterLarge(b *testing.B) {
	rc := largeCluster(50)
	if errs := validation.RayCluster(rc, validation.Options{}); len(errs) > 0 {
		b.Fatalf("the cluster is invalid: %v", errs)
	}
	b.ReportAllocs()
	for b.Loop() {
		validation.RayCluster(rc, validation.Options{})
	}
}

// BenchmarkRayClusterScale shows that the time grows with the size: compare ns/group.
func BenchmarkRayClusterScale(b *testing.B) {
	for _, groups := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			rc := largeCluster(groups)
			for b.Loop() {
				validation.RayCluster(rc, validation.Options{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(groups), "ns/group")
		})
	}
}
