package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const createClients = 8

// side is how the gateway is called, and the API server next to it.
type side struct {
	// suffix of the measurement's description, for people.
	suffix string
	// secure means TLS and each caller's own token on both sides, as in a cluster. Otherwise the gateway serves plain text without
	// authentication, and the API server authenticates its callers by certificate.
	secure bool
}

// gateway compares calls through the gateway with the same calls to the API server, in turns. No operator runs, so that nothing else
// happens; the clusters get the status that an operator would have written.
func gateway(ctx context.Context, s *session) error {
	small, large := collection{"bench-100", 100}, collection{"bench-1000", 1000}
	ends, err := s.startGateway(ctx, side{secure: true})
	if err != nil {
		return err
	}
	before, err := ends.liveHeap(ctx)
	if err != nil {
		return err
	}
	s.logf("creating %d RayClusters with a status", small.size+large.size)
	for _, c := range []collection{small, large} {
		if err := s.fill(ctx, c); err != nil {
			return err
		}
	}
	if err := s.namespace(ctx, "bench-create"); err != nil {
		return err
	}
	after, err := ends.liveHeap(ctx)
	if err != nil {
		return err
	}
	s.add("memory of a cached RayCluster", "KiB", []float64{(after - before) / float64(small.size+large.size) / 1024}, nil, nil)
	if err := s.compare(ctx, ends, side{secure: true}, small, large); err != nil {
		return err
	}
	if err := s.writesToWatchers(ctx, ends); err != nil {
		return fmt.Errorf("writes to watchers: %w", err)
	}
	if err := s.manyWatchers(ctx, ends); err != nil {
		return fmt.Errorf("watchers: %w", err)
	}
	ends.close()
	plain := side{suffix: ", without TLS"}
	if ends, err = s.startGateway(ctx, plain); err != nil {
		return err
	}
	defer ends.close()
	return s.compare(ctx, ends, plain, small, large)
}

// compare measures calls of one kind after the other.
func (s *session) compare(ctx context.Context, ends *ends, by side, small, large collection) error {
	aim := func(a *Aim) *Aim {
		if by.secure {
			return a
		}
		return nil
	}
	get := target{namespace: small.namespace, name: clusterName(0, 42)}
	n := s.opts.Calls
	s.logf("comparing gets and lists%s", by.suffix)
	for _, c := range []struct {
		what            string
		n               int
		gateway, direct call
		aim             *Aim
	}{
		{"REST get", n, ends.restGet(get), ends.directRawGet(get), aim(ratioAtMost(0.2))},
		{"gRPC get", n, ends.grpcGet(get), ends.directGet(get), nil},
		{"REST list of 100", n / 4, ends.restList(small, "BASIC"), ends.directRawList(small), aim(below20())},
		{"gRPC list of 100", n / 4, ends.grpcList(small, "BASIC"), ends.directList(small), aim(below20())},
		{"V1 get", n, ends.v1Get(get), ends.directRawGet(get), aim(ratioAtMost(0.2))},
		{"V1 list of 100", n / 4, ends.v1List(small), ends.directRawList(small), aim(below20())},
		{"REST list of 100, full view", n / 4, ends.restList(small, "FULL"), ends.directRawList(small), nil},
		{"gRPC list of 100, full view", n / 4, ends.grpcList(small, "FULL"), ends.directList(small), nil},
		{"REST list of 1000", n / 20, ends.restList(large, "BASIC"), ends.directRawList(large), aim(ratioAtMost(0.04))},
		{"gRPC list of 1000", n / 20, ends.grpcList(large, "BASIC"), ends.directList(large), nil},
		{"REST list of 1000, full view", n / 20, ends.restList(large, "FULL"), ends.directRawList(large), aim(ratioAtMost(0.1))},
		{"gRPC list of 1000, full view", n / 20, ends.grpcList(large, "FULL"), ends.directList(large), nil},
	} {
		measured, direct, err := inTurns(ctx, max(5, c.n), c.gateway, c.direct)
		if err != nil {
			return fmt.Errorf("%s%s: %w", c.what, by.suffix, err)
		}
		s.add(c.what+by.suffix, "ms", measured, direct, c.aim)
	}
	s.logf("comparing creates by %d clients%s", createClients, by.suffix)
	if by.secure { // it stays for the other side
		if err := ends.v1Template(ctx, "bench-create"); err != nil {
			return err
		}
	}
	directV1Create, err := ends.directV1Create(ctx, "bench-create")
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		what            string
		gateway, direct createCall
		aim             *Aim
	}{
		{"REST create", ends.restCreate, ends.directRawCreate, aim(ratioAtMost(1.15))},
		{"gRPC create", ends.grpcCreate, ends.directCreate, nil},
		{"V1 create", ends.v1Create, directV1Create, aim(ratioAtMost(1.15))},
	} {
		measured, direct, err := s.createsInTurns(ctx, kind.gateway, kind.direct)
		if err != nil {
			return fmt.Errorf("%s%s: %w", kind.what, by.suffix, err)
		}
		s.add(fmt.Sprintf("%s, %d clients%s", kind.what, createClients, by.suffix), "ms", measured, direct, kind.aim)
	}
	return nil
}

// collection is a namespace with so many clusters.
type collection struct {
	namespace string
	size      int
}

// target is one cluster.
type target struct{ namespace, name string }

// fill makes the collection: clusters and their status.
func (s *session) fill(ctx context.Context, c collection) error {
	if err := s.namespace(ctx, c.namespace); err != nil {
		return err
	}
	var objects []client.Object
	for i := range c.size {
		objects = append(objects, cluster(c.namespace, clusterName(0, i), smallWorkers))
	}
	if err := s.create(ctx, objects); err != nil {
		return err
	}
	return s.writeStatus(ctx, objects)
}

// readyStatus is the status of a small ready cluster.
func readyStatus(rc *rayv1.RayCluster, now time.Time) rayv1.RayClusterStatus {
	condition := func(kind, reason string) metav1.Condition {
		return metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "for the benchmark",
			LastTransitionTime: metav1.NewTime(now), ObservedGeneration: rc.Generation,
		}
	}
	return rayv1.RayClusterStatus{
		State:                   rayv1.ClusterStateReady,
		DesiredCPU:              resource.MustParse("4"),
		DesiredMemory:           resource.MustParse("5Gi"),
		DesiredGPU:              resource.MustParse("0"),
		DesiredTPU:              resource.MustParse("0"),
		LastUpdateTime:          new(metav1.NewTime(now)),
		StateTransitionTimes:    map[rayv1.ClusterState]*metav1.Time{rayv1.ClusterStateReady: new(metav1.NewTime(now))},
		Endpoints:               map[string]string{"client": "10001", "dashboard": "8265", "gcs-server": "6379", "metrics": "8080", "serve": "8000"},
		Head:                    rayv1.HeadInfo{PodIP: "10.244.0.1", ServiceIP: "10.244.0.1", PodName: rc.Name + "-head-abcde", ServiceName: rc.Name + "-head-svc"},
		Conditions:              []metav1.Condition{condition("HeadPodReady", "HeadPodRunningAndReady"), condition("RayClusterProvisioned", "AllPodRunningAndReadyFirstTime")},
		ReadyWorkerReplicas:     smallWorkers,
		AvailableWorkerReplicas: smallWorkers,
		DesiredWorkerReplicas:   smallWorkers,
		MaxWorkerReplicas:       10,
		ObservedGeneration:      rc.Generation,
	}
}

// smallCluster for the creates, as the API server would see it from kubectl.
func smallCluster(t target) *rayv1.RayCluster {
	rc := cluster(t.namespace, t.name, smallWorkers)
	rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "BENCH", Value: "true"}}
	return rc
}
