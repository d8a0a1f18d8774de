package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const idleFor = time.Minute

// idle measures the cost of an idle fleet: memory and CPU of the operator and its requests in a minute.
func idle(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	proxy, err := newCountingProxy(s.config)
	if err != nil {
		return err
	}
	defer proxy.close()
	operator, err := s.startLeader(ctx, proxy, namespace)
	if err != nil {
		return err
	}
	if err := s.makeFleet(ctx, namespace); err != nil {
		return err
	}
	if err := pause(ctx, 2*eventsSettle); err != nil {
		return err
	}
	proxy.reset()
	meter, err := s.meter(operator)
	if err != nil {
		return err
	}
	if err := pause(ctx, idleFor); err != nil {
		return err
	}
	cpu, err := meter()
	if err != nil {
		return err
	}
	memory, err := operator.memory()
	if err != nil {
		return err
	}
	counts := proxy.reset()
	if err := s.checkChildren(ctx, namespace, s.opts.IdleClusters*(1+s.opts.IdleWorkers), s.opts.IdleClusters); err != nil {
		return err
	}
	s.reportIdle(counts, memory, cpu)
	return s.restartIdle(ctx, proxy, operator, namespace)
}

// startLeader starts an operator that has its Lease in the namespace.
func (s *session) startLeader(ctx context.Context, proxy *countingProxy, namespace string) (*process, error) {
	return s.startOperatorBehind(ctx, proxy, "--leader-elect", "--leader-election-namespace="+namespace)
}

// restartIdle counts the requests of an operator that starts with the fleet there. A watch may begin with the list of its kind.
func (s *session) restartIdle(ctx context.Context, proxy *countingProxy, operator *process, namespace string) error {
	s.stop(operator)
	proxy.reset()
	if _, err := s.startLeader(ctx, proxy, namespace); err != nil {
		return err
	}
	if err := pause(ctx, idleFor); err != nil {
		return err
	}
	s.reportRestart(proxy.reset())
	return nil
}

// makeFleet creates the clusters a hundred at a time, so that the later measurement has no remains of a burst.
func (s *session) makeFleet(ctx context.Context, namespace string) error {
	const step = 100
	workers := int32(s.opts.IdleWorkers) //nolint:gosec // validated
	for from := 0; from < s.opts.IdleClusters; from += step {
		var objects []client.Object
		for i := from; i < min(from+step, s.opts.IdleClusters); i++ {
			objects = append(objects, cluster(namespace, clusterName(0, i), workers))
		}
		wait, err := s.whenReady(ctx, &rayv1.RayClusterList{}, namespace, from+len(objects), hasReadyWorkers(workers))
		if err != nil {
			return err
		}
		if err := s.create(ctx, objects); err != nil {
			return err
		}
		if err := wait(); err != nil {
			return err
		}
		s.logf("%d RayClusters are ready", from+len(objects))
	}
	return nil
}

func (s *session) reportIdle(counts map[request]int, memory, cpu float64) {
	others, leases, watches := 0, 0, 0
	for q, n := range counts {
		switch {
		case q.verb == "watch":
			watches += n
		case q.resource == "leases.coordination.k8s.io":
			leases += n
		default:
			others += n
			s.logf("%d times %s %s", n, q.verb, q.resource)
		}
	}
	fleet := fmt.Sprintf("%d idle RayClusters of 1+%d Pods: ", s.opts.IdleClusters, s.opts.IdleWorkers)
	one := func(v float64) []float64 { return []float64{v} }
	s.add(fleet+"memory of the operator", "MiB", one(memory), nil, nil)
	s.add(fleet+"CPU of the operator in a minute", "s", one(cpu), nil, nil)
	s.add(fleet+"API requests in a minute besides leases and watches", "", one(float64(others)), nil, atMost(0))
	s.add("  requests for leases", "", one(float64(leases)), nil, nil)
	s.add("  watches begun", "", one(float64(watches)), nil, nil)
}

func (s *session) reportRestart(counts map[request]int) {
	writes, reads := 0, 0
	for q, n := range counts {
		switch {
		case q.resource == "leases.coordination.k8s.io", q.resource == "events": // of the election; events of Ray objects are of events.k8s.io
		case q.isWrite():
			writes += n
			s.logf("%d times %s %s", n, q.verb, q.resource)
		case q.verb == "list", q.verb == "watch" && counts[request{"list", q.resource}] == 0:
			s.logf("%d times %s %s", n, q.verb, q.resource)
			reads = max(reads, n)
		}
	}
	s.add("the same, in a minute after a restart: writes", "", []float64{float64(writes)}, nil, atMost(0))
	s.add("the same: lists of a kind, at most", "", []float64{float64(reads)}, nil, atMost(1))
}
