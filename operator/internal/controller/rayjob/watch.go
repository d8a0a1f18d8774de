package rayjob

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

const (
	// gather is how long changes of children are collected before a reconcile.
	gather = 20 * time.Millisecond
	// indexSelected finds RayJobs by the cluster in their clusterSelector.
	indexSelected = "spec.clusterSelector.cluster"
)

// kind is the kind of the owner.
var kind = rayv1.GroupVersion.WithKind("RayJob").GroupKind()

// SetupWithManager registers the reconciler, its poller, its index and its watches. The cache must contain at least the objects of
// raycluster.CacheByObject.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, o controller.Options) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &rayv1.RayJob{}, indexSelected, selected); err != nil {
		return err
	}
	if err := mgr.Add(r.tracker.poller); err != nil {
		return err
	}
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool {
		j, ok := o.(*rayv1.RayJob)
		return ok && rayv1.ManagedHere(j.Spec.ManagedBy)
	})
	children := ownerref.Handler{
		Kind: kind, Gone: r.children.Gone, Schedule: func(types.NamespacedName) (time.Duration, int) { return gather, 0 },
	}
	changedChild := builder.WithPredicates(ownerref.Changed())
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("rayjob").
		For(&rayv1.RayJob{}, builder.WithPredicates(ours, ownerref.SpecChanged())).
		Watches(&rayv1.RayCluster{}, children.Handle(), changedChild).
		Watches(&rayv1.RayCluster{}, handler.EnqueueRequestsFromMapFunc(r.selecting)).
		Watches(&batchv1.Job{}, children.Handle(), changedChild).
		Watches(&corev1.Service{}, children.Handle(), changedChild).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.withHead), builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: submitterChanged,
		})).
		WatchesRawSource(r.waker.Source()).
		WithOptions(reconcile.Limited(o)).
		Build(reconcile.Traced("rayjob", r))
	if err == nil {
		r.keeper.Watch(c, ownerref.Handler{Kind: kind})
	}
	return err
}

// selected is the index function behind indexSelected.
func selected(o client.Object) []string {
	if j, ok := o.(*rayv1.RayJob); ok && j.Spec.ClusterSelector[rayv1.LabelCluster] != "" {
		return []string{j.Spec.ClusterSelector[rayv1.LabelCluster]}
	}
	return nil
}

// selecting returns the RayJobs whose clusterSelector names the cluster.
func (r *Reconciler) selecting(ctx context.Context, rc client.Object) []ctrl.Request {
	var list rayv1.RayJobList
	err := r.config.Client.List(ctx, &list, client.InNamespace(rc.GetNamespace()), client.MatchingFields{indexSelected: rc.GetName()},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil // the only possible error is a missing index
	}
	var requests []ctrl.Request
	for i := range list.Items {
		if st := list.Items[i].Status.JobDeploymentStatus; !st.IsTerminal() {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// withHead returns the RayJob in SidecarMode whose submitter is in the head Pod.
func (r *Reconciler) withHead(ctx context.Context, o client.Object) []ctrl.Request {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || o.GetLabels()[rayv1.LabelNodeType] != string(rayv1.HeadNode) {
		return nil
	}
	cluster := client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}
	return ownerref.ThroughCluster(ctx, r.config.Client, kind, cluster, func(rc *rayv1.RayCluster) bool {
		return rc.Labels[rayv1.LabelJobSubmissionMode] == string(rayv1.SidecarMode)
	})
}

// submitterChanged drops updates of head Pods without a change of the submitter container.
func submitterChanged(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*corev1.Pod)
	after, ok2 := e.ObjectNew.(*corev1.Pod)
	if !ok1 || !ok2 {
		return true
	}
	return ended(before) != ended(after) || runsOf(before) != runsOf(after)
}

// runsOf counts the starts and ends of the submitter container.
func runsOf(p *corev1.Pod) int32 {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == rayv1.ContainerJobSubmitter {
			n := 2 * c.RestartCount
			if c.State.Terminated != nil || c.State.Waiting != nil {
				n++
			}
			return n
		}
	}
	return 0
}
