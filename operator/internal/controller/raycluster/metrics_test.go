package raycluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/metrics"
)

// measured lets the reconciler of the bench count, and returns a function that reads one family: the sum of its values.
func (b *bench) measured() func(name string) float64 {
	b.t.Helper()
	m := metrics.NewRayCluster(b.client)
	b.reconciler = New(Config{Client: b.client, Live: b.client, Recorder: b.recorder, Clock: b.clock, Metrics: m})
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		b.t.Fatal(err)
	}
	return func(name string) (sum float64) {
		b.t.Helper()
		families, err := registry.Gather()
		if err != nil {
			b.t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == name {
				for _, m := range f.GetMetric() {
					sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
		return sum
	}
}

func TestTheTimeUntilProvisionedIsMeasuredWhenItIsOnRecord(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	rc.CreationTimestamp = raytest.Epoch
	down := true
	b := newBench(t, rc, interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			if down {
				return errors.New("etcd has a moment")
			}
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	}, raytest.HeadPod(rc, "h"))
	read := b.measured()
	const name = "kuberay_cluster_provisioned_duration_seconds"
	b.clock.Step(7 * time.Second)
	if _, err := b.reconcile(); err == nil || read(name) != 0 {
		t.Errorf("error %v and %v seconds of a status that is not saved", err, read(name))
	}
	down = false
	b.clock.Step(time.Second)
	b.mustReconcile()
	if got := read(name); got != 8 {
		t.Errorf("%v seconds, want 8", got)
	}
	b.clock.Step(time.Hour)
	b.mustReconcile()
	if got := read(name); got != 8 {
		t.Errorf("%v seconds an hour later, want 8", got)
	}
}

func TestVerdictsAreCountedOncePerVersion(t *testing.T) {
	v1, onFailure := rayv1.AutoscalerVersionV1, corev1.RestartPolicyOnFailure
	warned := raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.EnableInTreeAutoscaling, s.AutoscalerOptions = new(true), &rayv1.AutoscalerOptions{Version: &v1}
		s.WorkerGroupSpecs[0].Template.Spec.RestartPolicy = onFailure
	})
	type counts struct{ Failures, Warnings, Invalid float64 }
	cases := map[string]struct {
		change raytest.ClusterOption
		once   counts
		events []string // per version
	}{
		"a broken rule": {
			change: raytest.HeadContainer(func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "RAY_REDIS_ADDRESS", Value: "r"}} }),
			once:   counts{Failures: 1, Invalid: 1}, events: []string{"Warning InvalidRayClusterSpec"},
		},
		"a restart policy that the first autoscaler cannot live with": {
			change: warned, once: counts{Warnings: 1}, events: []string{"Warning InvalidRayClusterSpec"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 0), tc.change)
			b := newBench(t, rc, interceptor.Funcs{}, raytest.HeadPod(rc, "h"))
			read := b.measured()
			for version := range 2 {
				var events []string
				before := counts{read("raygate_validation_failures_total"), read("raygate_validation_warnings_total"), 0}
				for range 3 {
					b.clock.Step(settleTime)
					b.mustReconcile()
				}
				for _, reason := range b.reasons() {
					if reason == "Warning InvalidRayClusterSpec" {
						events = append(events, reason)
					}
				}
				got := counts{
					read("raygate_validation_failures_total") - before.Failures, read("raygate_validation_warnings_total") - before.Warnings,
					read("raygate_invalid_objects"),
				}
				if diff := cmp.Diff(tc.once, got); diff != "" {
					t.Errorf("counted of version %d (-want +got):\n%s", version, diff)
				}
				if diff := cmp.Diff(tc.events, events); diff != "" {
					t.Errorf("events of version %d (-want +got):\n%s", version, diff)
				}
				next := &rayv1.RayCluster{}
				if err := b.client.Get(t.Context(), key(rc), next); err != nil {
					t.Fatal(err)
				}
				next.Generation++
				if err := b.client.Update(t.Context(), next); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestNumberOfDevicesThatIsKept: of a number of GPUs that is another than that of the devices there is an event, once, because there may be no webhooks that warn.
func TestNumberOfDevicesThatIsKept(t *testing.T) {
	for gpus, want := range map[string]int{"8": 1, "2": 0} {
		rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 0, raytest.GroupParams(map[string]string{"num-gpus": gpus}), raytest.GroupContainer(func(c *corev1.Container) {
			c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("2"), "nvidia.com/gpumem": resource.MustParse("1")}
		})))
		b := newBench(t, rc, interceptor.Funcs{}, raytest.HeadPod(rc, "h"))
		b.restart(withDeviceFacts(t))
		got := 0
		for range 3 {
			b.clock.Step(settleTime)
			b.mustReconcile()
			for _, text := range b.events() {
				if strings.Contains(text, "num-gpus") && strings.Contains(text, "is 8 and is kept, but the Ray container sees 2") {
					got++
				}
			}
		}
		if got != want {
			t.Errorf("%s: %d events, want %d", gpus, got, want)
		}
	}
}
