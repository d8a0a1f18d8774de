package raycluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/pkg/headpod"
)

// drainer is Ray: it notes what it is asked to drain, and answers with err.
type drainer struct {
	mu    sync.Mutex
	asked []string
	err   error
}

func (d *drainer) open(_ context.Context, head headpod.Head, _ string) (dashboards.Draining, error) {
	if head.Port != rayv1.DefaultGCSServerPort {
		return nil, errors.New("another port than that of the GCS")
	}
	return d, nil
}

// Close implements dashboards.Draining.
func (d *drainer) Close() error { return nil }

// Drain implements dashboards.Draining.
func (d *drainer) Drain(_ context.Context, p *corev1.Pod, _ time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, p.Name)
	return d.err
}

func (d *drainer) answer(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked, d.err = nil, err
}

// names waits for at most five seconds until Ray was asked, and returns about which Pods.
func (d *drainer) names() []string {
	for range 500 {
		d.mu.Lock()
		asked := slices.Compact(slices.Sorted(slices.Values(d.asked)))
		d.mu.Unlock()
		if len(asked) > 0 {
			return asked
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// drain restarts the operator with a Ray that drains workers, and has the first drains begin.
func (b *bench) drain(ctx context.Context) *drainer {
	d := &drainer{}
	b.restart(func(c *Config) { c.Drain = d.open })
	poller := b.reconciler.drains.poller
	go func() { _ = poller.Start(ctx) }()
	b.mustReconcile()
	b.mustReconcile()
	return d
}

func TestWorkersAreDrainedBeforeTheirDeletion(t *testing.T) {
	for name, tc := range map[string]struct {
		then func(b *bench, d *drainer)
	}{
		"until their nodes end": {func(b *bench, d *drainer) {
			d.answer(dashboards.ErrNoNode)
			for step := drainInterval; step < drainTimeout && slices.Contains(podNamesOf(b.pods()), "young"); step += drainInterval {
				b.clock.Step(drainInterval)
				time.Sleep(20 * time.Millisecond)
				b.mustReconcile()
			}
		}},
		"until the deadline":           {func(b *bench, _ *drainer) { b.clock.Step(drainTimeout) }},
		"unless the cluster suspends":  {func(b *bench, _ *drainer) { b.edit(func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(true) }) }},
		"unless the operator does not": {func(b *bench, _ *drainer) { b.restart(func(c *Config) { c.Drain = nil }) }},
	} {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1))
			b := newBench(t, rc, interceptor.Funcs{}, raytest.HeadPod(rc, "head"),
				raytest.WorkerPod(rc, "cpu", "old"), raytest.WorkerPod(rc, "cpu", "young", raytest.CreatedAfter(time.Hour)), raytest.WorkerPod(rc, "cpu", "starting", raytest.NotReady()))
			d := b.drain(t.Context())
			if asked := d.names(); !slices.Equal(asked, []string{"young"}) {
				t.Fatalf("asked to drain %q, want the ready worker that is surplus", asked)
			}
			b.mustReconcile()
			if got := podNamesOf(b.pods()); !slices.Equal(got, []string{"head", "old", "young"}) {
				t.Fatalf("Pods %q, want one that drains beside the one that is wanted", got)
			}
			tc.then(b, d)
			for range 3 {
				b.mustReconcile()
			}
			if got := podNamesOf(b.pods()); slices.Contains(got, "young") {
				t.Errorf("Pods %q, want the drained worker gone", got)
			}
		})
	}
}

// A cache that lacks some of the operator's own marks does not make a replica look broken, which would be deleted at once.
func TestReplicaIsDrainedAsAWhole(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("tpu", 1, raytest.Hosts(2)))
	var late *corev1.Pod
	b := newBench(t, rc, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if pods, ok := list.(*corev1.PodList); ok && late != nil {
				for i := range pods.Items {
					if pods.Items[i].UID == late.UID {
						late.DeepCopyInto(&pods.Items[i])
					}
				}
			}
			return err
		},
	}, raytest.HeadPod(rc, "head"), raytest.WorkerPod(rc, "tpu", "a0", raytest.Host("a", 0, 0)), raytest.WorkerPod(rc, "tpu", "a1", raytest.Host("a", 0, 1)),
		raytest.WorkerPod(rc, "tpu", "b0", raytest.Host("b", 1, 0)), raytest.WorkerPod(rc, "tpu", "b1", raytest.Host("b", 1, 1)))
	for _, p := range b.pods() {
		if p.Name == "b1" {
			late = p.DeepCopy()
		}
	}
	b.drain(t.Context())
	b.mustReconcile()
	late = nil
	if got := podNamesOf(b.pods()); !slices.Equal(got, []string{"a0", "a1", "b0", "b1", "head"}) {
		t.Errorf("Pods %q, want both hosts to drain", got)
	}
}

// A worker leaves the Service of Serve before Ray drains it, but not if no other Pod serves and stays.
func TestDrainedWorkersLeaveTheService(t *testing.T) {
	serves := func(p *corev1.Pod) { p.Labels[rayv1.LabelServe] = rayv1.LabelServeTrue }
	for name, tc := range map[string]struct {
		other  []raytest.PodOption
		named  []string
		leaves bool
	}{
		"another serves":        {[]raytest.PodOption{serves}, []string{"named"}, true},
		"none other serves":     {nil, []string{"named"}, false},
		"the other drains, too": {[]raytest.PodOption{serves}, []string{"named", "other"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 2, raytest.WorkersToDelete(tc.named...)))
			b := newBench(t, rc, interceptor.Funcs{}, raytest.HeadPod(rc, "head"), raytest.WorkerPod(rc, "cpu", "named", serves), raytest.WorkerPod(rc, "cpu", "other", tc.other...))
			d := b.drain(t.Context())
			for _, p := range b.pods() {
				if label := p.Labels[rayv1.LabelServe]; (tc.leaves && p.Name == "named") != (label == rayv1.LabelServeFalse) {
					t.Errorf("Pod %s has the label %q", p.Name, label)
				}
			}
			if tc.leaves {
				b.clock.Step(serveplan.EndpointLag)
				b.mustReconcile()
				if d.mu.Lock(); len(d.asked) > 0 {
					t.Error("Ray drains before endpoints lack the Pod")
				}
				d.mu.Unlock()
				b.clock.Step(time.Second)
				b.mustReconcile()
			}
			if asked := d.names(); !slices.Equal(asked, tc.named) {
				t.Errorf("asked to drain %q", asked)
			}
		})
	}
}

func podNamesOf(list []corev1.Pod) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return all
}
