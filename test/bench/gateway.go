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

// gateway compares calls through the gateway with the same calls made to the API server, in turns. No operator runs, so
// that nothing happens but what is measured; the clusters get the status that an operator would have written.
func gateway(ctx context.Context, s *session) error {
	small, large := collection{"bench-100", 100}, collection{"bench-1000", 1000}
	s.logf("creating %d RayClusters with a status", small.size+large.size)
	for _, c := range []collection{small, large} {
		if err := s.fill(ctx, c); err != nil {
			return err
		}
	}
	ends, err := s.startGateway(ctx)
	if err != nil {
		return err
	}
	defer ends.close()
	s.logf("the gateway is ready; comparing gets and lists")

	get := target{namespace: small.namespace, name: clusterName(0, 42)}
	n := s.opts.Calls
	calls := []struct {
		what            string
		n               int
		gateway, direct call
		aim, absolute   *Aim
	}{
		{"REST get", n, ends.restGet(get), ends.directRawGet(get), ratioAtMost(1), nil},
		{"gRPC get", n, ends.grpcGet(get), ends.directGet(get), ratioAtMost(1), nil},
		{"REST list of 100", n / 4, ends.restList(small, "BASIC"), ends.directRawList(small), nil, below(20)},
		{"gRPC list of 100", n / 4, ends.grpcList(small, "BASIC"), ends.directList(small), nil, below(20)},
		{"REST list of 100, full view", n / 4, ends.restList(small, "FULL"), ends.directRawList(small), nil, nil},
		{"gRPC list of 100, full view", n / 4, ends.grpcList(small, "FULL"), ends.directList(small), nil, nil},
		{"REST list of 1000", n / 20, ends.restList(large, "BASIC"), ends.directRawList(large), ratioBelow(0.5), nil},
		{"gRPC list of 1000", n / 20, ends.grpcList(large, "BASIC"), ends.directList(large), ratioBelow(0.5), nil},
		{"REST list of 1000, full view", n / 20, ends.restList(large, "FULL"), ends.directRawList(large), nil, nil},
		{"gRPC list of 1000, full view", n / 20, ends.grpcList(large, "FULL"), ends.directList(large), nil, nil},
	}
	for _, c := range calls {
		measured, direct, err := inTurns(ctx, max(5, c.n), c.gateway, c.direct)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		aim := c.aim
		if c.absolute != nil {
			aim = c.absolute
		}
		s.report.Add(s.name, c.what, "ms", measured, direct, aim)
	}

	s.logf("comparing creates by %d clients", createClients)
	if err := s.namespace(ctx, "bench-create"); err != nil {
		return err
	}
	for _, kind := range []struct {
		what            string
		gateway, direct createCall
	}{
		{"REST create", ends.restCreate, ends.directRawCreate},
		{"gRPC create", ends.grpcCreate, ends.directCreate},
	} {
		measured, direct, err := s.createsInTurns(ctx, kind.gateway, kind.direct)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.what, err)
		}
		s.report.Add(s.name, fmt.Sprintf("%s, %d clients", kind.what, createClients), "ms", measured, direct, ratioAtMost(1.15))
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

// readyStatus is what the status of a small cluster looks like once it is ready.
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
