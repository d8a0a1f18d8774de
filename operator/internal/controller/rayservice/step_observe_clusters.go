package rayservice

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/serveplan"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch

// observeClusters reads all clusters of the service, and the Pods of those in use.
func (r *Reconciler) observeClusters(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	found, err := r.clusters(ctx, s)
	if err != nil {
		return reconcile.Outcome{}, err
	}
	for i := range found {
		s.clusters[found[i].Name] = &found[i]
	}
	for _, rc := range s.clusters {
		c := serveplan.Cluster{
			Deleting:  rc.DeletionTimestamp != nil,
			Made:      rc.CreationTimestamp.Time,
			Resize:    rayservice.Resized(&s.service.Spec.RayClusterSpec, rc) != nil,
			HeadReady: meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.HeadPodReady),
			Status:    rc.Status,
		}
		c.Match, c.Rebaseline = r.match(s, rc)
		if at, err := time.Parse(time.RFC3339, rc.Annotations[rayv1.AnnotationDeleteAfter]); err == nil {
			c.DeleteAfter = at
		}
		s.in.Clusters[rc.Name] = c
	}
	for _, name := range s.used() {
		if err := r.pods(ctx, s, name); err != nil {
			return reconcile.Outcome{}, err
		}
	}
	return reconcile.Outcome{}, nil
}

// match compares a cluster with the spec, and reports whether its stored hash must be rewritten: with a hash of another operator, the next
// edit that only removes fields would not be detected. A pending cluster that matches the spec and has fewer fields than the active one
// shows that such an edit came before.
func (r *Reconciler) match(s *scope, rc *rayv1.RayCluster) (m rayservice.Match, rebaseline bool) {
	wanted, version, st := &s.service.Spec.RayClusterSpec, r.config.Version, &s.service.Status
	foreign, m := rayservice.Foreign(rc, version), rayservice.Compare(wanted, rc, version)
	if pending := s.clusters[st.PendingServiceStatus.RayClusterName]; foreign && m == rayservice.Same && pending != nil &&
		rc.Name == st.ActiveServiceStatus.RayClusterName && rayservice.Compare(wanted, pending, version) == rayservice.Same &&
		rayservice.Superseded(rc, pending) {
		m = rayservice.Different
	}
	switch m {
	case rayservice.Same:
		return m, rc.Annotations[rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete] != rayservice.Hash(wanted) ||
			rc.Annotations[rayv1.AnnotationKubeRayVersion] != version
	default:
		return m, m == rayservice.Different && foreign
	}
}

// clusters reads from the cache. If there are none and irreversible actions follow, it reads from the API server, because a new
// cluster may not be in the cache yet.
func (r *Reconciler) clusters(ctx context.Context, s *scope) ([]rayv1.RayCluster, error) {
	var list rayv1.RayClusterList
	if err := ownerref.List(ctx, r.config.Client, s.service, &list); err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	if len(list.Items) > 0 || s.service.DeletionTimestamp == nil && !s.suspending() {
		r.noteShown(s, list.Items)
		return list.Items, nil
	}
	if s.service.DeletionTimestamp != nil && r.allShown(s) {
		return nil, nil
	}
	err := r.config.Live.List(ctx, &list, client.InNamespace(s.service.Namespace), client.MatchingLabels{
		rayv1.LabelOriginatedFromCRName: s.service.Name, rayv1.LabelOriginatedFromCRD: "RayService",
	})
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(rc rayv1.RayCluster) bool { return !metav1.IsControlledBy(&rc, s.service) }), nil
}

// noteShown records which of the clusters in use the cache has shown.
func (r *Reconciler) noteShown(s *scope, found []rayv1.RayCluster) {
	had, _ := r.shown.Get(s.service.UID, "")
	r.shown.Set(s.service.UID, "", slices.DeleteFunc(s.used(), func(name string) bool {
		isFound := slices.ContainsFunc(found, func(rc rayv1.RayCluster) bool { return rc.Name == name }) //nolint:gocritic // two at most
		return !isFound && !slices.Contains(had, name)
	}))
}

// allShown reports whether the cache has shown all clusters in use to this process since the last creation. If it shows none of them now, they are
// gone: a name is saved before its cluster is created.
func (r *Reconciler) allShown(s *scope) bool {
	had, _ := r.shown.Get(s.service.UID, "")
	used := s.used()
	return len(used) > 0 && !slices.ContainsFunc(used, func(name string) bool { return !slices.Contains(had, name) })
}

// pods finds the head of a cluster and counts the Pods behind its serve Service.
func (r *Reconciler) pods(ctx context.Context, s *scope, cluster string) error {
	rc, there := s.clusters[cluster]
	if !there {
		return nil
	}
	var list corev1.PodList
	err := r.config.Client.List(ctx, &list, client.InNamespace(s.service.Namespace), client.MatchingFields{indexCluster: cluster}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing Pods of %s: %w", cluster, err)
	}
	c := s.in.Clusters[cluster]
	heads := 0
	for i := range list.Items {
		p := &list.Items[i]
		if p.DeletionTimestamp != nil || !metav1.IsControlledBy(p, rc) {
			continue
		}
		if p.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) {
			s.heads[cluster] = p
			heads++
		}
		if p.Labels[rayv1.LabelServe] == rayv1.LabelServeTrue && podplan.Ready(p) {
			c.Pods++
		}
	}
	if heads != 1 {
		delete(s.heads, cluster)
	}
	s.in.Clusters[cluster] = c
	return nil
}
