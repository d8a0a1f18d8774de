package main

import (
	"context"
	"fmt"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// peerWork is a number of objects that an operator, which has just been started, makes ready or brings to their end.
type peerWork struct {
	life
	n int
}

// peerWorks are in the proportions of --clusters.
func peerWorks(clusters int) []peerWork {
	some := max(clusters*6/10, 1)
	return []peerWork{
		{clustersOf(smallWorkers), clusters},
		{clustersOf(1), 10 * clusters},
		{jobsIn(rayv1.HTTPMode), clusters},
		{jobsIn(rayv1.HTTPMode), 10 * clusters},
		{jobsIn(rayv1.K8sJobMode), some},
		{servicesOf(1), some},
	}
}

// peerCost is what a work costs: seconds, seconds of CPU, and MiB of memory of the operator at its end.
type peerCost struct{ seconds, operator, apiServer, memory []float64 }

// peer measures one operator, which may be another one (--operator-command, --crds), for a comparison of what users wait for and pay.
func peer(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	works := peerWorks(s.opts.Clusters)
	costs := make([]peerCost, len(works))
	for round := range s.opts.Rounds {
		for i, w := range works {
			if err := s.costOfWork(ctx, namespace, w, &costs[i]); err != nil {
				return fmt.Errorf("%d times %s: %w", w.n, w.what, err)
			}
			s.logf("round %d of %d: %d times %s: %.1f s", round+1, s.opts.Rounds, w.n, w.what, costs[i].seconds[round])
		}
	}
	for i, w := range works {
		s.add(fmt.Sprintf("%d times %s, until ready or ended", w.n, w.what), "s", costs[i].seconds, nil, nil)
		s.add("  CPU of the operator", "s", costs[i].operator, nil, nil)
		s.add("  CPU of the API server", "s", costs[i].apiServer, nil, nil)
		s.add("  memory of the operator", "MiB", costs[i].memory, nil, nil)
	}
	return nil
}

// costOfWork adds what a work costs to c, and deletes all that it made.
func (s *session) costOfWork(ctx context.Context, namespace string, w peerWork, c *peerCost) error {
	operator, err := s.warmOperator(ctx, namespace, "--use-kubernetes-proxy")
	if err != nil {
		return err
	}
	meter, err := s.meter(operator)
	if err != nil {
		return err
	}
	before, err := s.apiServerCPU()
	if err != nil {
		return err
	}
	seconds, err := s.live(ctx, namespace, w.life, w.n)
	if err != nil {
		return err
	}
	after, err := s.apiServerCPU()
	if err != nil {
		return err
	}
	used, err := meter()
	if err != nil {
		return err
	}
	memory, err := operator.memory()
	if err != nil {
		return err
	}
	c.seconds, c.operator = append(c.seconds, seconds), append(c.operator, used)
	c.apiServer, c.memory = append(c.apiServer, after-before), append(c.memory, memory)
	if err := s.die(ctx, namespace, w.life); err != nil {
		return err
	}
	s.stop(operator)
	return nil
}
