package rayservice

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/children"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=create;delete;patch

// createCluster makes the cluster of the name in the status.
func (a *act) createCluster(ctx context.Context, s *scope) error {
	if s.plan.Create == "" {
		return nil
	}
	rc := rayservice.Cluster(s.service, s.plan.Create, rayservice.Options{Version: a.config.Version, FromMinimum: s.plan.FromMinimum})
	return a.ensure(ctx, s, s.service, whatCluster, children.Child{Desired: rc, AsFound: true})
}

// updateCluster brings a cluster up to date in place.
func (a *act) updateCluster(ctx context.Context, s *scope) error {
	rc, there := s.clusters[s.plan.Update]
	if !there {
		return nil
	}
	updated := rayservice.Updated(s.service, rc, rayservice.Options{Version: a.config.Version})
	return a.patchCluster(ctx, s, rc, updated, true)
}

// resizeClusters brings numbers of workers to clusters that the service asks for anew. KubeRay does so only with another change.
func (a *act) resizeClusters(ctx context.Context, s *scope) error {
	var errs []error
	for _, name := range s.plan.Resize {
		rc := s.clusters[name]
		if updated := rayservice.Resized(&s.service.Spec.RayClusterSpec, rc); updated != nil {
			errs = append(errs, a.patchCluster(ctx, s, rc, updated, !equality.Semantic.DeepEqual(rc.Spec, updated.Spec)))
		}
	}
	return errors.Join(errs...)
}

// rebaseline writes anew what tells whether another cluster is needed, after another operator wrote it in its way.
func (a *act) rebaseline(ctx context.Context, s *scope) error {
	var errs []error
	for _, name := range s.plan.Rebaseline {
		rc := s.clusters[name]
		updated := rc.DeepCopy()
		for key, value := range rayservice.Baseline(&s.service.Spec.RayClusterSpec, a.config.Version) {
			if _, noted := rc.Annotations[key]; key != rayv1.AnnotationGroupSizes || !noted { // what is noted there is brought to the cluster next
				annotate(updated, key, value)
			}
		}
		errs = append(errs, a.patchCluster(ctx, s, rc, updated, false))
	}
	return errors.Join(errs...)
}

// scheduleDeletions writes on clusters that are no longer used when they go.
func (a *act) scheduleDeletions(ctx context.Context, s *scope) error {
	var errs []error
	for _, name := range sorted(s.plan.Schedule) {
		updated := s.clusters[name].DeepCopy()
		at := s.plan.Schedule[name].Add(time.Second - 1).Truncate(time.Second) // whole seconds are written, and none is taken away
		annotate(updated, rayv1.AnnotationDeleteAfter, at.UTC().Format(time.RFC3339))
		errs = append(errs, a.patchCluster(ctx, s, s.clusters[name], updated, false))
	}
	return errors.Join(errs...)
}

func annotate(rc *rayv1.RayCluster, key, value string) {
	if rc.Annotations == nil {
		rc.Annotations = map[string]string{}
	}
	rc.Annotations[key] = value
}

func (a *act) deleteClusters(ctx context.Context, s *scope) error {
	var errs []error
	for _, name := range s.plan.Delete {
		errs = append(errs, deleteCluster(ctx, a.children, a.said, s, s.clusters[name]))
	}
	return errors.Join(errs...)
}

// patchCluster writes what differs, unless the cluster has changed since it was read: then the watch brings the next look.
func (a *act) patchCluster(ctx context.Context, s *scope, rc, updated *rayv1.RayCluster, tell bool) error {
	patch := client.MergeFromWithOptions(rc.DeepCopy(), client.MergeFromWithOptimisticLock{})
	r := a.children.Do(s.service, children.Update, whatCluster, rc.Name, func() error { return a.config.Client.Patch(ctx, updated, patch) })
	if !tell {
		r.Done = children.None
	}
	return s.took(a.said, whatCluster, r)
}
