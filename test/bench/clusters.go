package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const smallWorkers = 3 // of a small cluster, next to its head

// clusters measures the time until many small clusters are ready. It alternates with two measurements without an operator: creating the
// same Pods and Services, and making all writes for the clusters, see createSame.
func clusters(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	c, err := s.learnChildren(ctx, namespace)
	if err != nil {
		return err
	}
	var operated, direct, same phase
	var cpu []float64
	for round := range s.opts.Rounds {
		made, err := s.createClusters(ctx, namespace)
		if err != nil {
			return err
		}
		operated.add(made.seconds, made.planeCPU)
		cpu = append(cpu, made.cpu)
		s.logf("round %d of %d: %d RayClusters ready after %.1f s, CPU of the operator %.1f s; %d status writes, %d events", round+1, s.opts.Rounds,
			s.opts.Clusters, made.seconds, made.cpu, made.writes.status, made.writes.events)

		var objects []client.Object
		for i := range s.opts.Clusters {
			objects = append(objects, c.of(clusterName(round, i), smallWorkers)...)
		}
		err = s.withoutOperator(ctx, namespace, "the same Pods and Services created directly", &direct, func() (float64, error) {
			return s.createDirectly(ctx, namespace, objects)
		})
		if err != nil {
			return err
		}
		err = s.withoutOperator(ctx, namespace, "all that the operator writes, written directly", &same, func() (float64, error) {
			return s.createSame(ctx, namespace, round, c, made.writes)
		})
		if err != nil {
			return err
		}
	}
	what := fmt.Sprintf("%d RayClusters of 1+%d Pods until ready", s.opts.Clusters, smallWorkers)
	s.add(what, "s", operated.seconds, direct.seconds, ratioAtMost(1.1))
	s.add("CPU of the control plane meanwhile", "s", operated.planeCPU, direct.planeCPU, nil)
	s.add(what+"; direct writes the same objects, status and events", "s", operated.seconds, same.seconds, ratioAtMost(1.3))
	s.add("CPU of the control plane meanwhile", "s", operated.planeCPU, same.planeCPU, nil)
	s.add("CPU of the operator meanwhile", "s", cpu, nil, nil)
	return nil
}

// phase collects the figures of one thing that each round does.
type phase struct{ seconds, planeCPU []float64 }

func (p *phase) add(seconds, planeCPU float64) {
	p.seconds, p.planeCPU = append(p.seconds, seconds), append(p.planeCPU, planeCPU)
}

// withoutOperator adds to p the seconds that run returns and their cost for the control plane, and clears the namespace.
func (s *session) withoutOperator(ctx context.Context, namespace, what string, p *phase, run func() (float64, error)) error {
	plane, err := s.meterControlPlane()
	if err != nil {
		return err
	}
	seconds, err := run()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	used, err := plane(what)
	if err != nil {
		return err
	}
	p.add(seconds, used)
	s.logf("round %d of %d: %s: %.1f s", len(p.seconds), s.opts.Rounds, what, seconds)
	return s.clear(ctx, namespace)
}

func clusterName(round, i int) string { return fmt.Sprintf("small-%d-%04d", round, i) }

// hasReadyWorkers returns a function that reports whether a cluster is ready with exactly n workers.
func hasReadyWorkers(n int32) func(client.Object) bool {
	return func(obj client.Object) bool {
		rc, ok := obj.(*rayv1.RayCluster)
		return ok && clusterReady(rc) && rc.Status.ReadyWorkerReplicas == n
	}
}

// operatedRound is the result of createClusters.
type operatedRound struct {
	// seconds from the first create until all clusters are ready; CPU seconds of the operator and of the control plane during that time.
	seconds, cpu, planeCPU float64
	writes                 ownWrites
}

// createClusters measures clusters under an operator that runs for this round only and has made one cluster before.
func (s *session) createClusters(ctx context.Context, namespace string) (operatedRound, error) {
	var made operatedRound
	operator, err := s.warmOperator(ctx, namespace)
	if err != nil {
		return made, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var objects []client.Object
	for i := range s.opts.Clusters {
		objects = append(objects, cluster(namespace, clusterName(9, i), smallWorkers))
	}
	versions := versionCounter{}
	wait, err := s.whenReady(ctx, &rayv1.RayClusterList{}, namespace, len(objects), versions.count(hasReadyWorkers(smallWorkers)))
	if err != nil {
		return made, err
	}
	meter, err := s.meter(operator)
	if err != nil {
		return made, err
	}
	plane, err := s.meterControlPlane()
	if err != nil {
		return made, err
	}
	if made.seconds, err = s.createAndWait(ctx, objects, wait); err != nil {
		return made, err
	}
	if made.planeCPU, err = plane("RayClusters"); err != nil {
		return made, err
	}
	if made.cpu, err = meter(); err != nil {
		return made, err
	}
	if err := s.checkChildren(ctx, namespace, len(objects)*(1+smallWorkers), len(objects)); err != nil {
		return made, err
	}
	if err := pause(ctx, settle); err != nil { // events are sent in the background
		return made, err
	}
	s.stop(operator)
	if made.writes, err = s.countOwnWrites(ctx, namespace, objects, versions); err != nil {
		return made, err
	}
	return made, s.clear(ctx, namespace)
}

// warmOperator starts an operator with more flags, lets it make one cluster, and deletes that cluster.
func (s *session) warmOperator(ctx context.Context, namespace string, flags ...string) (*process, error) {
	operator, err := s.startOperator(ctx, s.kubeconfig, flags...)
	if err != nil {
		return nil, err
	}
	if err := s.warmUp(ctx, namespace); err != nil {
		return nil, err
	}
	return operator, s.clear(ctx, namespace)
}

// meter returns a function that returns the CPU seconds that a program has used since.
func (s *session) meter(p *process) (func() (float64, error), error) {
	before, err := p.cpu()
	return func() (float64, error) {
		after, err := p.cpu()
		return after - before, err
	}, err
}

// meterControlPlane returns a function that logs the CPU seconds that each part of the control plane has used since, and returns their sum.
// Unlike elapsed time, it hardly depends on other programs on the machine.
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
