package rayjob

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch

// observeCluster finds the cluster of the attempt and the address of its dashboard.
func (r *Reconciler) observeCluster(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	name := s.job.Status.RayClusterName
	if name == "" {
		return reconcile.Outcome{}, nil
	}
	rc := &rayv1.RayCluster{}
	found, err := r.find(ctx, s, name, rc)
	switch {
	case err != nil:
		return reconcile.Outcome{}, fmt.Errorf("reading RayCluster %s: %w", name, err)
	case !found, !s.selects() && !metav1.IsControlledBy(rc, s.job):
		return reconcile.Outcome{}, nil // the cluster of another owner is reported when the own one is created
	}
	s.cluster = rc
	s.in.Cluster = jobplan.Cluster{
		Found: true, Deleting: rc.DeletionTimestamp != nil, Ready: rc.Status.State == rayv1.ClusterStateReady, Suspended: rc.Suspended(),
		WorkersSuspended: !slices.ContainsFunc(rc.Spec.WorkerGroupSpecs, func(g rayv1.WorkerGroupSpec) bool {
			return g.Suspend == nil || !*g.Suspend
		}),
	}
	if s.job.Status.DashboardURL == "" {
		s.in.Cluster.Dashboard, err = r.dashboard(ctx, rc)
	}
	return reconcile.Outcome{}, err
}

// dashboard returns host:port of the dashboard, or "" without a Service that has a port of that name.
func (r *Reconciler) dashboard(ctx context.Context, rc *rayv1.RayCluster) (string, error) {
	svc := &corev1.Service{}
	key := client.ObjectKey{Namespace: rc.Namespace, Name: names.HeadService(rc)}
	err := r.config.Client.Get(ctx, key, svc)
	if apierrors.IsNotFound(err) && rc.Status.State == rayv1.ClusterStateReady {
		err = r.config.Live.Get(ctx, key, svc) // no event comes for a Service that the cache shows late, or never because it lacks the label
	}
	if err != nil {
		return "", client.IgnoreNotFound(err)
	}
	port := service.DashboardPortOf(svc)
	if port == 0 {
		return "", nil
	}
	return net.JoinHostPort(names.HeadHost(rc, r.config.Pod.ClusterDomain), strconv.Itoa(int(port))), nil
}

// find reads from the cache. Before it reports that an object is missing, it asks the API server once, because irreversible decisions
// follow.
func (r *Reconciler) find(ctx context.Context, s *scope, name string, o client.Object) (bool, error) {
	key, what := client.ObjectKey{Namespace: s.job.Namespace, Name: name}, absent(o)
	err := r.config.Client.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		if old, _ := r.known.Get(s.job.UID, what); s.state().IsTerminal() || old.says == name {
			return false, nil
		}
		if err = r.config.Live.Get(ctx, key, o); apierrors.IsNotFound(err) {
			r.known.since(s, what, name)
			return false, nil
		}
	}
	if err == nil {
		r.known.since(s, what, "")
	}
	return err == nil, err
}
