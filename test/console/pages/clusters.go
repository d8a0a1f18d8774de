package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/console/internal/product"
)

func nameOf(i int) string { return fmt.Sprintf("cluster-%04d", i) }

// makeClusters creates RayClusters without an operator, so that they only change as the measurement requires.
func makeClusters(ctx context.Context, p *product.Product, ns string, count int) error {
	for i := range count {
		pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-head", Image: "rayproject/ray:2.52.0"}}}}
		rc := &rayv1.RayCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: nameOf(i)},
			Spec:       rayv1.RayClusterSpec{RayVersion: "2.52.0", ManagedBy: new("kueue.x-k8s.io/multikueue"), HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: pod}},
		}
		if err := p.Client.Create(ctx, rc); err != nil {
			return fmt.Errorf("creating a cluster: %w", err)
		}
	}
	return nil
}

// changes changes the status of one cluster after the other, at a rate, until it is stopped. stop returns how many there were.
func changes(ctx context.Context, p *product.Product, ns string, o options, from int) (stop func() (int, error)) {
	ctx, cancel := context.WithCancel(ctx)
	var (
		all   sync.WaitGroup
		count int
		last  error
	)
	all.Go(func() {
		tick := time.NewTicker(time.Duration(float64(time.Second) / o.rate))
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: nameOf(i % o.clusters)}}
			patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"desiredWorkerReplicas":%d}}`, from+i))
			if err := p.Client.Status().Patch(ctx, rc, patch); err != nil {
				if ctx.Err() == nil {
					last = err
				}
				continue
			}
			count++
		}
	})
	return func() (int, error) {
		cancel()
		all.Wait()
		return count, last
	}
}
