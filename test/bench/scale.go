package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// settle is the time for the operator to process the last events before its CPU time is read.
const settle = 2 * time.Second

// scale measures the time in which one cluster grows from one worker to --workers, and its cost for the operator, in turns with as many
// Pods created directly.
func scale(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	c, err := s.learnChildren(ctx, namespace)
	if err != nil {
		return err
	}
	var operated, direct, cpu []float64
	rounds := max(1, s.opts.Rounds-1)
	for round := range rounds {
		seconds, used, err := s.scaleTo(ctx, namespace, s.opts.Workers)
		if err != nil {
			return err
		}
		operated, cpu = append(operated, seconds), append(cpu, used)
		s.logf("round %d of %d: %d workers ready after %.1f s, CPU of the operator %.2f s", round+1, rounds, s.opts.Workers, seconds, used)

		pods := c.of("large", s.opts.Workers-1)[2:] // without Service and head
		if seconds, err = s.createDirectly(ctx, namespace, pods); err != nil {
			return err
		}
		direct = append(direct, seconds)
		s.logf("round %d of %d: as many Pods created directly: %.1f s", round+1, rounds, seconds)
		if err := s.clear(ctx, namespace); err != nil {
			return err
		}
	}
	s.add(fmt.Sprintf("one RayCluster from 1 to %d workers", s.opts.Workers), "s", operated, direct, nil)
	s.add("CPU of the operator meanwhile", "s", cpu, nil, atMost(2.5))
	return nil
}

// scaleTo measures the seconds from the patch of replicas until the status shows as many ready workers, and the CPU seconds
// of the operator. It leaves nothing behind.
func (s *session) scaleTo(ctx context.Context, namespace string, workers int) (seconds, cpu float64, err error) {
	operator, err := s.startOperator(ctx, s.kubeconfig)
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	rc, err := s.bigCluster(ctx, namespace, int32(workers))
	if err != nil {
		return 0, 0, err
	}
	if err := pause(ctx, settle); err != nil {
		return 0, 0, err
	}

	wait, err := s.whenReady(ctx, &rayv1.RayClusterList{}, namespace, 1, hasReadyWorkers(int32(workers)))
	if err != nil {
		return 0, 0, err
	}
	meter, err := s.meter(operator)
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := s.setReplicas(ctx, rc, workers); err != nil {
		return 0, 0, err
	}
	if err := wait(); err != nil {
		return 0, 0, err
	}
	seconds = time.Since(begin).Seconds()
	if err := pause(ctx, settle); err != nil {
		return 0, 0, err
	}
	if cpu, err = meter(); err != nil {
		return 0, 0, err
	}
	if err := s.checkChildren(ctx, namespace, 1+workers, 1); err != nil {
		return 0, 0, err
	}
	s.stop(operator)
	return seconds, cpu, s.clear(ctx, namespace)
}

// setReplicas changes the first group of the cluster as the autoscaler does.
func (s *session) setReplicas(ctx context.Context, rc *rayv1.RayCluster, workers int) error {
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":%d}]`, workers)
	if err := s.client.Patch(ctx, rc, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
		return fmt.Errorf("scaling up: %w", err)
	}
	return nil
}
