package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const smallWorkers = 3 // of a small cluster, next to its head

// clusters measures how long many small clusters take until all are ready, in turns with the same Pods and Services
// created directly.
func clusters(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	c, err := s.learnChildren(ctx, namespace)
	if err != nil {
		return err
	}
	var operated, direct, cpu, cpuOperated, cpuDirect []float64
	for round := range s.opts.Rounds {
		seconds, used, planeUsed, err := s.createClusters(ctx, namespace)
		if err != nil {
			return err
		}
		cpuOperated = append(cpuOperated, planeUsed)
		operated, cpu = append(operated, seconds), append(cpu, used)
		s.logf("round %d of %d: %d RayClusters ready after %.1f s, CPU of the operator %.1f s", round+1, s.opts.Rounds, s.opts.Clusters, seconds, used)

		var objects []client.Object
		for i := range s.opts.Clusters {
			objects = append(objects, c.of(clusterName(round, i), smallWorkers)...)
		}
		meter, err := s.meterControlPlane()
		if err != nil {
			return err
		}
		if seconds, err = s.createDirectly(ctx, namespace, objects); err != nil {
			return err
		}
		if planeUsed, err = meter("direct creation"); err != nil {
			return err
		}
		cpuDirect = append(cpuDirect, planeUsed)
		direct = append(direct, seconds)
		s.logf("round %d of %d: the same Pods and Services created directly: %.1f s", round+1, s.opts.Rounds, seconds)
		if err := s.clear(ctx, namespace); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("%d RayClusters of 1+%d Pods until ready", s.opts.Clusters, smallWorkers)
	s.report.Add(s.name, what, "s", operated, direct, ratioAtMost(1.1))
	s.report.Add(s.name, "CPU of the control plane meanwhile", "s", cpuOperated, cpuDirect, nil)
	s.report.Add(s.name, "CPU of the operator meanwhile", "s", cpu, nil, nil)
	return nil
}

func clusterName(round, i int) string { return fmt.Sprintf("small-%d-%04d", round, i) }

// hasReadyWorkers tells when a cluster is ready with exactly n workers.
func hasReadyWorkers(n int32) func(client.Object) bool {
	return func(obj client.Object) bool {
		rc, ok := obj.(*rayv1.RayCluster)
		return ok && clusterReady(rc) && rc.Status.ReadyWorkerReplicas == n
	}
}

// createClusters measures the seconds from the first create until all clusters say that they are ready, and meanwhile the
// CPU seconds of the control plane and of an operator that runs for this round only and has made one cluster before.
func (s *session) createClusters(ctx context.Context, namespace string) (seconds, cpu, planeCPU float64, err error) {
	operator, err := s.startOperator(ctx, s.kubeconfig)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := s.warmUp(ctx, namespace); err != nil {
		return 0, 0, 0, err
	}
	if err := s.clear(ctx, namespace); err != nil {
		return 0, 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var objects []client.Object
	for i := range s.opts.Clusters {
		objects = append(objects, cluster(namespace, clusterName(9, i), smallWorkers))
	}
	wait, err := s.whenReady(ctx, &rayv1.RayClusterList{}, namespace, len(objects), hasReadyWorkers(smallWorkers))
	if err != nil {
		return 0, 0, 0, err
	}
	meter, err := s.meter(operator)
	if err != nil {
		return 0, 0, 0, err
	}
	plane, err := s.meterControlPlane()
	if err != nil {
		return 0, 0, 0, err
	}
	begin := time.Now()
	if err := s.create(ctx, objects); err != nil {
		return 0, 0, 0, err
	}
	if err := wait(); err != nil {
		return 0, 0, 0, err
	}
	seconds = time.Since(begin).Seconds()
	if planeCPU, err = plane("RayClusters"); err != nil {
		return 0, 0, 0, err
	}
	if cpu, err = meter(); err != nil {
		return 0, 0, 0, err
	}
	if err := s.checkChildren(ctx, namespace, len(objects)*(1+smallWorkers), len(objects)); err != nil {
		return 0, 0, 0, err
	}
	s.stop(operator)
	return seconds, cpu, planeCPU, s.clear(ctx, namespace)
}

// meter returns a function that tells the CPU seconds a program has used since.
func (s *session) meter(p *process) (func() (float64, error), error) {
	before, err := p.cpu()
	return func() (float64, error) {
		after, err := p.cpu()
		return after - before, err
	}, err
}

// meterControlPlane returns a function that logs the CPU seconds that each part of the control plane has used since, and
// returns their sum. Unlike seconds on the clock it hardly depends on what else the machine does.
func (s *session) meterControlPlane() (func(what string) (float64, error), error) {
	before, err := s.processes[0].cpuOfFamily()
	return func(what string) (float64, error) {
		after, err := s.processes[0].cpuOfFamily()
		if err != nil {
			return 0, err
		}
		sum, parts := 0.0, ""
		for _, name := range slices.Sorted(maps.Keys(after)) {
			used := after[name] - before[name]
			sum += used
			parts += fmt.Sprintf(", %s %.1f s", name, used)
		}
		s.logf("CPU of the control plane for %s: %.1f s%s", what, sum, parts)
		return sum, nil
	}, err
}
