package rayservice

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/children"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=create;delete;patch

// createCluster creates the cluster with the name in the status.
func (r *Reconciler) createCluster(ctx context.Context, s *scope) {
	if s.plan.Create != "" {
		r.shown.Forget(s.service.UID) // an earlier cluster of the name may have been deleted
		rc := rayservice.Cluster(s.service, s.plan.Create, rayservice.Options{Version: r.config.Version, FromMinimum: s.plan.FromMinimum})
		r.ensure(ctx, s, s.service, whatCluster, children.Child{Desired: rc, AsFound: true})
	}
}

// updateCluster updates a cluster in place.
func (r *Reconciler) updateCluster(ctx context.Context, s *scope) {
	if rc, there := s.clusters[s.plan.Update]; there {
		r.patchCluster(ctx, s, rc, rayservice.Updated(s.service, rc, rayservice.Options{Version: r.config.Version}), true)
	}
}

// resizeClusters sets changed numbers of workers in clusters. KubeRay does so only together with another change.
func (r *Reconciler) resizeClusters(ctx context.Context, s *scope) {
	for _, name := range s.plan.Resize {
		rc := s.clusters[name]
		if updated := rayservice.Resized(&s.service.Spec.RayClusterSpec, rc); updated != nil {
			r.patchCluster(ctx, s, rc, updated, !equality.Semantic.DeepEqual(rc.Spec, updated.Spec))
		}
	}
}

// passBudget gives a changed disruption budget to the clusters in use, because it is no reason for a new one.
func (r *Reconciler) passBudget(ctx context.Context, s *scope) {
	wanted, set := s.service.Annotations[rayv1.AnnotationDisruptionBudget]
	for _, name := range s.used() {
		rc, there := s.clusters[name]
		if !there || rc.DeletionTimestamp != nil {
			continue
		}
		if has, had := rc.Annotations[rayv1.AnnotationDisruptionBudget]; has == wanted && had == set {
			continue
		}
		updated := rc.DeepCopy()
		if delete(updated.Annotations, rayv1.AnnotationDisruptionBudget); set {
			annotate(updated, rayv1.AnnotationDisruptionBudget, wanted)
		}
		r.patchCluster(ctx, s, rc, updated, false)
	}
}

// rebaseline rewrites the annotations that decide about a new cluster, after another operator wrote them in its own format.
func (r *Reconciler) rebaseline(ctx context.Context, s *scope) {
	for _, name := range s.plan.Rebaseline {
		rc := s.clusters[name]
		updated := rc.DeepCopy()
		spec := &s.service.Spec.RayClusterSpec
		if s.in.Clusters[name].Match == rayservice.Different {
			spec = &rc.Spec
		}
		for key, value := range rayservice.Baseline(spec, r.config.Version) {
			if _, noted := rc.Annotations[key]; key != rayv1.AnnotationGroupSizes || !noted { // noted sizes are applied to the cluster later
				annotate(updated, key, value)
			}
		}
		r.patchCluster(ctx, s, rc, updated, false)
	}
}

// scheduleDeletions writes the deletion time on clusters that are no longer used.
func (r *Reconciler) scheduleDeletions(ctx context.Context, s *scope) {
	for _, name := range sorted(s.plan.Schedule) {
		updated := s.clusters[name].DeepCopy()
		at := s.plan.Schedule[name].Add(time.Second - 1).Truncate(time.Second) // round up to whole seconds
		annotate(updated, rayv1.AnnotationDeleteAfter, at.UTC().Format(time.RFC3339))
		r.patchCluster(ctx, s, s.clusters[name], updated, false)
	}
}

func annotate(rc *rayv1.RayCluster, key, value string) {
	if rc.Annotations == nil {
		rc.Annotations = map[string]string{}
	}
	rc.Annotations[key] = value
}

func (r *Reconciler) deleteClusters(ctx context.Context, s *scope) {
	for _, name := range s.plan.Delete {
		r.deleteCluster(ctx, s, s.clusters[name])
	}
}

// deleteCluster deletes a cluster and reports that once, because the cache may show the cluster for some time.
func (r *Reconciler) deleteCluster(ctx context.Context, s *scope, rc *rayv1.RayCluster) {
	if rc.DeletionTimestamp != nil {
		return
	}
	result := r.children.Remove(ctx, s.service, rc.DeepCopy())
	if result.Done == children.Delete && !s.said.News(s.service.UID, "deleted "+rc.Name, string(rc.UID)) {
		result.Done = children.None
	}
	s.recordResult(whatCluster, result)
}

// patchCluster writes the difference. If the cluster has changed since it was read, it writes nothing, and the watch triggers the
// next reconcile.
func (r *Reconciler) patchCluster(ctx context.Context, s *scope, rc, updated *rayv1.RayCluster, tell bool) {
	patch := client.MergeFromWithOptions(rc.DeepCopy(), client.MergeFromWithOptimisticLock{})
	result := r.children.Do(s.service, children.Update, whatCluster, rc.Name, func() error { return r.config.Client.Patch(ctx, updated, patch) })
	if !tell {
		result.Done = children.None
	}
	s.recordResult(whatCluster, result)
}
