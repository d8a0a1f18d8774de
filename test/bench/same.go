package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// ownWrites are the writes of the operator about RayClusters themselves, next to their children.
type ownWrites struct{ status, events int }

// versionCounter counts the versions of objects that a watch delivers. A version that is delivered again, by the list after a broken watch,
// counts once; a version that a broken watch has missed does not count.
type versionCounter map[string]bool

// count returns a function that answers as ready does, and counts.
func (v versionCounter) count(ready func(client.Object) bool) func(client.Object) bool {
	return func(obj client.Object) bool {
		v[string(obj.GetUID())+"/"+obj.GetResourceVersion()] = true
		return ready(obj)
	}
}

// countOwnWrites returns the number of the operator's writes for these clusters, all of which are ready; versions has counted their
// versions.
func (s *session) countOwnWrites(ctx context.Context, namespace string, clusters []client.Object, versions versionCounter) (ownWrites, error) {
	events, err := s.countEvents(ctx, namespace, clusters)
	if err != nil {
		return ownWrites{}, err
	}
	writes := ownWrites{status: len(versions) - len(clusters), events: events}
	if writes.status < len(clusters) || writes.events == 0 {
		return writes, fmt.Errorf("counted %d status writes and %d events of %d clusters that are ready", writes.status, writes.events, len(clusters))
	}
	return writes, nil
}

// countEvents counts the events about these objects, repeated ones as often as they were repeated.
func (s *session) countEvents(ctx context.Context, namespace string, objects []client.Object) (int, error) {
	var list eventsv1.EventList
	if err := s.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return 0, fmt.Errorf("listing events: %w", err)
	}
	about := map[types.UID]bool{}
	for _, obj := range objects {
		about[obj.GetUID()] = true
	}
	n := 0
	for _, event := range list.Items {
		switch {
		case !about[event.Regarding.UID]:
		case event.Series != nil:
			n += int(event.Series.Count)
		default:
			n++
		}
	}
	return n, nil
}

// createSame measures the seconds from the first create until all Pods are ready and all writes are made. The clusters have as many
// objects, status writes and events as those of the operator. No operator may be running.
func (s *session) createSame(ctx context.Context, namespace string, round int, c children, writes ownWrites) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	n := s.opts.Clusters
	wait, err := s.whenReady(ctx, &corev1.PodList{}, namespace, n*(1+smallWorkers), podReady)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	g, groupCtx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Parallel)
	for i := range n {
		g.Go(func() error {
			share := ownWrites{status: shareOf(writes.status, n, i), events: shareOf(writes.events, n, i)}
			return s.createOneSame(groupCtx, cluster(namespace, clusterName(round, i), smallWorkers), c, share)
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	if err := wait(); err != nil {
		return 0, err
	}
	return time.Since(begin).Seconds(), nil
}

// shareOf splits total into n parts, whole and as equal as can be, and returns the part i.
func shareOf(total, n, i int) int { return total*(i+1)/n - total*i/n }

// createOneSame makes one cluster with one request after the other.
func (s *session) createOneSame(ctx context.Context, rc *rayv1.RayCluster, c children, writes ownWrites) error {
	if err := s.client.Create(ctx, rc); err != nil {
		return fmt.Errorf("creating RayCluster: %w", err)
	}
	owner := *metav1.NewControllerRef(rc, rayv1.GroupVersion.WithKind("RayCluster"))
	for _, obj := range c.of(rc.Name, smallWorkers) {
		obj.SetOwnerReferences([]metav1.OwnerReference{owner})
		if err := s.client.Create(ctx, obj); err != nil {
			return fmt.Errorf("creating %T: %w", obj, err)
		}
	}
	for range writes.events {
		if err := s.client.Create(ctx, eventAbout(rc)); err != nil {
			return fmt.Errorf("creating event: %w", err)
		}
	}
	now := time.Now()
	for i := range writes.status {
		// Each write has another time, because the API server does not store an unchanged object.
		rc.Status = readyStatus(rc, now.Add(time.Duration(i)*time.Second))
		if err := s.client.Status().Update(ctx, rc); err != nil {
			return fmt.Errorf("writing status: %w", err)
		}
	}
	return nil
}

// eventAbout returns an event as the operator sends it.
func eventAbout(rc *rayv1.RayCluster) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: rc.Namespace, Name: fmt.Sprintf("%s.%x", rc.Name, time.Now().UnixNano())},
		EventTime:           metav1.NowMicro(),
		ReportingController: "raygate-bench",
		ReportingInstance:   "raygate-bench",
		Type:                corev1.EventTypeNormal,
		Reason:              "CreatedHeadPod",
		Action:              "Create",
		Note:                fmt.Sprintf("Created Service %[1]s-head-svc, head Pod %[1]s-head-abcde and %[2]d worker Pods", rc.Name, smallWorkers),
		Regarding: corev1.ObjectReference{
			APIVersion: rayv1.GroupVersion.String(), Kind: "RayCluster",
			Namespace: rc.Namespace, Name: rc.Name, UID: rc.UID, ResourceVersion: rc.ResourceVersion,
		},
	}
}
