package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const starvedClusters = 20

// starve measures the time until 20 small clusters are ready while one cluster grows from one worker to 2,000, in turns with the same
// clusters alone.
func starve(ctx context.Context, s *session) error {
	const big, small = "bench-big", "bench-small"
	for _, namespace := range []string{big, small} {
		if err := s.namespace(ctx, namespace); err != nil {
			return err
		}
	}
	if _, err := s.startOperator(ctx, s.kubeconfig); err != nil {
		return err
	}
	if err := s.warmUp(ctx, small); err != nil {
		return err
	}
	var beside, alone []float64
	rounds := s.opts.Rounds
	for round := range rounds {
		seconds, err := s.aloneOnes(ctx, small)
		if err != nil {
			return err
		}
		alone = append(alone, seconds)
		s.logf("round %d of %d: %d small RayClusters alone: %.1f s", round+1, rounds, starvedClusters, seconds)
		if seconds, err = s.besideBig(ctx, big, small); err != nil {
			return err
		}
		beside = append(beside, seconds)
		s.logf("round %d of %d: next to one that goes to %d workers: %.1f s", round+1, rounds, s.opts.BigWorkers, seconds)
		if seconds, err = s.aloneOnes(ctx, small); err != nil {
			return err
		}
		alone = append(alone, seconds)
		s.logf("round %d of %d: alone again: %.1f s", round+1, rounds, seconds)
	}
	what := fmt.Sprintf("%d RayClusters of 1+%d Pods while one goes to %d workers; direct is without it", starvedClusters, smallWorkers, s.opts.BigWorkers)
	s.add(what, "s", beside, alone, ratioAtMost(2))
	return nil
}

// smallClusters measures the seconds from the first create until all are ready.
func (s *session) smallClusters(ctx context.Context, namespace string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var objects []client.Object
	for i := range starvedClusters {
		objects = append(objects, cluster(namespace, clusterName(0, i), smallWorkers))
	}
	wait, err := s.whenReady(ctx, &rayv1.RayClusterList{}, namespace, len(objects), hasReadyWorkers(smallWorkers))
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := s.create(ctx, objects); err != nil {
		return 0, err
	}
	if err := wait(); err != nil {
		return 0, err
	}
	return time.Since(begin).Seconds(), nil
}

func (s *session) aloneOnes(ctx context.Context, namespace string) (float64, error) {
	if err := s.clear(ctx, namespace); err != nil {
		return 0, err
	}
	return s.smallClusters(ctx, namespace)
}

// besideBig measures smallClusters during a large scale-up, which it then reverts.
func (s *session) besideBig(ctx context.Context, big, small string) (float64, error) {
	if err := s.clear(ctx, small); err != nil {
		return 0, err
	}
	rc, err := s.bigCluster(ctx, big, int32(s.opts.BigWorkers))
	if err != nil {
		return 0, err
	}
	if err := s.setReplicas(ctx, rc, s.opts.BigWorkers); err != nil {
		return 0, err
	}
	pods := func(ctx context.Context) (int, error) {
		// One Pod, and how many remain: cheap for the API server.
		var list corev1.PodList
		err := s.client.List(ctx, &list, client.InNamespace(big), client.Limit(1))
		n := len(list.Items)
		if list.RemainingItemCount != nil {
			n += int(*list.RemainingItemCount)
		}
		return n, err
	}
	begun := func(ctx context.Context) error {
		n, err := pods(ctx)
		if err == nil && n < min(100, s.opts.BigWorkers/10) {
			err = fmt.Errorf("there are %d Pods", n)
		}
		return err
	}
	if err := s.eventually(ctx, "the large cluster to grow", time.Minute, begun); err != nil {
		return 0, err
	}
	seconds, err := s.smallClusters(ctx, small)
	if err != nil {
		return 0, err
	}
	n, err := pods(ctx)
	if err != nil {
		return 0, fmt.Errorf("counting Pods: %w", err)
	}
	s.logf("the large cluster had %d Pods when the small ones were ready", n)
	if n > s.opts.BigWorkers {
		return 0, errors.New("the large cluster was complete before the small ones; take more --big-workers")
	}
	return seconds, s.clear(ctx, big)
}
