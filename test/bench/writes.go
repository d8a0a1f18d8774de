package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	countedClusters = 20
	// eventsSettle exceeds the time for which an event recorder delays and repeats an event series.
	eventsSettle = 8 * time.Second
)

// writes counts the requests of the operator for small clusters, from their creation until some time after they are ready.
func writes(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	proxy, err := newCountingProxy(s.config)
	if err != nil {
		return err
	}
	defer proxy.close()
	operator, err := s.startOperatorBehind(ctx, proxy)
	if err != nil {
		return err
	}
	if err := s.warmUp(ctx, namespace); err != nil {
		return err
	}
	if err := s.clear(ctx, namespace); err != nil {
		return err
	}
	if err := pause(ctx, eventsSettle); err != nil {
		return err
	}
	proxy.reset()

	var objects []client.Object
	for i := range countedClusters {
		objects = append(objects, cluster(namespace, clusterName(0, i), smallWorkers))
	}
	wait, err := s.whenReady(ctx, &rayv1.RayClusterList{}, namespace, len(objects), hasReadyWorkers(smallWorkers))
	if err != nil {
		return err
	}
	if _, err := s.createAndWait(ctx, objects, wait); err != nil {
		return err
	}
	if err := pause(ctx, eventsSettle); err != nil {
		return err
	}
	counts := proxy.reset()
	s.stop(operator)
	if err := s.checkChildren(ctx, namespace, countedClusters*(1+smallWorkers), countedClusters); err != nil {
		return err
	}
	return s.reportWrites(counts)
}

func (s *session) reportWrites(counts map[request]int) error {
	all, reads := 0, 0
	for q, n := range counts {
		if q.isWrite() {
			all += n
		} else if q.verb != "watch" {
			reads += n
		}
	}
	if needed := countedClusters * (1 + smallWorkers + 1); all < needed {
		return fmt.Errorf("counted %d writes for %d clusters, but their Pods and Services alone take %d", all, countedClusters, needed)
	}
	perCluster := func(n int) []float64 { return []float64{float64(n) / countedClusters} }
	s.add(fmt.Sprintf("API writes per RayCluster of 1+%d Pods", smallWorkers), "", perCluster(all), perCluster(countedClusters*(1+smallWorkers+1)), atMost(8))
	for _, q := range sorted(counts) {
		if q.isWrite() {
			s.add("  of these "+q.verb+" "+q.resource, "", perCluster(counts[q]), nil, nil)
		}
	}
	s.add("API gets and lists per RayCluster", "", perCluster(reads), nil, nil)
	return nil
}
