package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	webhookDelay   = 50 * time.Millisecond
	webhookWorkers = 300
	// serialLimit is for 300 creates of 50 ms and more, one after the other.
	serialLimit = 3 * time.Minute
)

// webhookdelay measures the time in which one cluster grows from one worker to 300 when admission adds 50 ms to each Pod, in turns with the
// sequential creation of the same Pods.
func webhookdelay(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	c, err := s.learnChildren(ctx, namespace)
	if err != nil {
		return err
	}
	webhook, err := newSlowWebhook(webhookDelay)
	if err != nil {
		return err
	}
	defer webhook.close()
	probe := func(ctx context.Context) error {
		pod := c.of("probe", 1)[2]
		if err := s.client.Create(ctx, pod); err != nil {
			return err
		}
		return s.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
	}
	if err := webhook.register(ctx, s, webhookDelay, probe); err != nil {
		return err
	}
	if err := s.clear(ctx, namespace); err != nil {
		return err
	}
	var operated, serial []float64
	rounds := max(1, s.opts.Rounds-1)
	for round := range rounds {
		seconds, _, err := s.scaleTo(ctx, namespace, webhookWorkers)
		if err != nil {
			return err
		}
		operated = append(operated, seconds)
		s.logf("round %d of %d: %d workers ready after %.1f s", round+1, rounds, webhookWorkers, seconds)

		if seconds, err = s.createSerially(ctx, namespace, c.of("large", webhookWorkers-1)[2:]); err != nil {
			return err
		}
		serial = append(serial, seconds)
		s.logf("round %d of %d: as many Pods created one after the other: %.1f s", round+1, rounds, seconds)
		if err := s.clear(ctx, namespace); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("one RayCluster from 1 to %d workers, %d ms of admission each; direct is serial", webhookWorkers, webhookDelay.Milliseconds())
	s.add(what, "s", operated, serial, ratioAtMost(0.333))
	return nil
}

// createSerially measures the seconds from the first create until all Pods are ready.
func (s *session) createSerially(ctx context.Context, namespace string, objects []client.Object) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, serialLimit)
	defer cancel()
	wait, err := s.whenReady(ctx, &corev1.PodList{}, namespace, len(objects), podReady)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	for _, object := range objects {
		if err := s.client.Create(ctx, object); err != nil {
			return 0, fmt.Errorf("creating %T: %w", object, err)
		}
	}
	if err := wait(); err != nil {
		return 0, err
	}
	return time.Since(begin).Seconds(), nil
}

// bigCluster makes a cluster of one worker that can have up to most, and waits until it is ready.
func (s *session) bigCluster(ctx context.Context, namespace string, most int32) (*rayv1.RayCluster, error) {
	wait, err := s.whenReady(ctx, &rayv1.RayClusterList{}, namespace, 1, hasReadyWorkers(1))
	if err != nil {
		return nil, err
	}
	rc := cluster(namespace, "large", 1)
	rc.Spec.WorkerGroupSpecs[0].MaxReplicas = new(most)
	if err := s.create(ctx, []client.Object{rc}); err != nil {
		return nil, err
	}
	return rc, wait()
}
