package rayservice

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// finalize sees to it that a RayService goes after its clusters, and that it has the finalizer for that. The rest is collected.
type finalize struct {
	client   client.Client
	versions *reconcile.Versions
	children *children.Writer
	tracker  *tracker
	said     *report.Once
}

// +kubebuilder:rbac:groups=ray.io,resources=rayservices,verbs=patch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=delete

// Run implements step.
func (f *finalize) Run(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	has := controllerutil.ContainsFinalizer(s.service, rayv1.FinalizerRayService)
	switch {
	case s.service.DeletionTimestamp == nil && has:
		return reconcile.Outcome{}, nil
	case s.service.DeletionTimestamp == nil:
		return f.set(ctx, s, true)
	case !has:
		return reconcile.Outcome{Stop: true}, nil
	}
	f.tracker.forget(s.service.UID)
	if len(s.clusters) == 0 {
		return f.set(ctx, s, false)
	}
	out := reconcile.Outcome{Stop: true, After: reconcile.StaleTimeout} // the watch tells earlier when they are gone
	for _, name := range sorted(s.clusters) {
		if err := deleteCluster(ctx, f.children, f.said, s, s.clusters[name]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// deleteCluster deletes a cluster, and tells of that once: the cache may show it for some time.
func deleteCluster(ctx context.Context, w *children.Writer, said *report.Once, s *scope, rc *rayv1.RayCluster) error {
	if rc.DeletionTimestamp != nil {
		return nil
	}
	r := w.Remove(ctx, s.service, rc.DeepCopy())
	if r.Done == children.Delete && !said.News(s.service.UID, "deleted "+rc.Name, string(rc.UID)) {
		r.Done = children.None
	}
	return s.took(said, whatCluster, r)
}

// set adds or removes the finalizer. The list ends if the object has changed since it was read.
func (f *finalize) set(ctx context.Context, s *scope, want bool) (reconcile.Outcome, error) {
	saved, err := f.versions.SetFinalizer(ctx, f.client, s.service, rayv1.FinalizerRayService, want)
	if err != nil || !saved {
		return reconcile.Outcome{Stop: true, After: reconcile.Soon}, err
	}
	return reconcile.Outcome{Stop: !want}, nil
}
