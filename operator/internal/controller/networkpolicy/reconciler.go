package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apply"
	"github.com/raygate/raygate/operator/internal/build/netpol"
	"github.com/raygate/raygate/pkg/validation"
)

// EventSource is the reportingController of the events; KubeRay's.
const EventSource = "networkpolicy-controller"

// foreignRetry is how often to see whether a name that somebody else holds is free.
const foreignRetry = 30 * time.Second

// Config is what the reconciler needs. Client, Live and Recorder are required.
type Config struct {
	// Client reads from a cache made with CacheByObject, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Validation are the facts that rules ask for. An object is left alone that breaks one which keeps also a running cluster
	// from being looked after; while others are broken its Pods are made, and must not be without a fence.
	Validation validation.Options
	// Enabled honours spec.networkPolicy (feature gate RayClusterNetworkPolicy). Otherwise only policies are removed that no
	// spec asks for; those of a spec that does stay, because an unfenced Pod is worse than a stale fence.
	Enabled bool
}

// Reconciler keeps the policies of RayClusters.
type Reconciler struct {
	client   client.Client
	writer   apply.Writer
	recorder events.EventRecorder
	options  validation.Options
	enabled  bool

	mu       sync.Mutex
	findings map[types.NamespacedName]finding // of clusters with problems
	changed  func(types.NamespacedName)       // nil for nobody
}

// New returns a reconciler. It does nothing until SetupWithManager or Reconcile is called.
func New(c Config) *Reconciler {
	return &Reconciler{
		client:   c.Client,
		writer:   apply.Writer{Client: c.Client, Live: c.Live},
		recorder: c.Recorder,
		options:  c.Validation,
		enabled:  c.Enabled,
		findings: map[types.NamespacedName]finding{},
	}
}

// CacheByObject restricts the cache to the policies of Ray clusters.
func CacheByObject() map[client.Object]cache.ByObject {
	marked, err := labels.NewRequirement(rayv1.LabelCluster, selection.Exists, nil)
	if err != nil {
		panic(err) // the arguments are constants
	}
	return map[client.Object]cache.ByObject{
		&networkingv1.NetworkPolicy{}: {Label: labels.NewSelector().Add(*marked), Transform: cache.TransformStripManagedFields()},
	}
}

// SetupWithManager registers the reconciler and its watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o controller.Options) error {
	// Labels and owners say whether a RayJob's submitter may come in.
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		Named("networkpolicy").
		For(&rayv1.RayCluster{}, builder.WithPredicates(changed)).
		Owns(&networkingv1.NetworkPolicy{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		// The policy of a group that left the spec stays until the last of its Pods is gone.
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(clusterOf), builder.WithPredicates(onlyDeletions)).
		WithOptions(o).
		Complete(r)
}

var onlyDeletions = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	UpdateFunc:  func(event.UpdateEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func clusterOf(_ context.Context, o client.Object) []reconcile.Request {
	if o.GetLabels()[rayv1.LabelNodeType] != string(rayv1.WorkerNode) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[rayv1.LabelCluster]}}}
}

// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	rc := &rayv1.RayCluster{}
	if err := r.client.Get(ctx, req.NamespacedName, rc); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if rc.DeletionTimestamp != nil || rc.Spec.ManagedBy != nil && *rc.Spec.ManagedBy != rayv1.ManagedByKubeRayOperator {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if rc.Spec.NetworkPolicy != nil && (!r.enabled || len(validation.Refused(validation.RayCluster(rc, r.options), validation.Ran(rc))) > 0) {
		return ctrl.Result{}, nil
	}
	existing, err := r.existing(ctx, rc)
	if err != nil {
		return ctrl.Result{}, err
	}
	wanted, err := r.wanted(ctx, rc, existing)
	if err != nil {
		return ctrl.Result{}, err
	}
	foreign, failures, errs := r.write(ctx, rc, wanted, existing)
	r.tell(rc, foreign, failures)
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	if len(foreign)+len(failures) > 0 {
		return ctrl.Result{RequeueAfter: foreignRetry}, nil
	}
	return ctrl.Result{}, nil
}

// existing are the policies that the cluster controls, by name.
func (r *Reconciler) existing(ctx context.Context, rc *rayv1.RayCluster) (map[string]*networkingv1.NetworkPolicy, error) {
	var list networkingv1.NetworkPolicyList
	if err := r.client.List(ctx, &list, client.InNamespace(rc.Namespace), client.MatchingLabels{rayv1.LabelCluster: rc.Name}); err != nil {
		return nil, fmt.Errorf("listing NetworkPolicies: %w", err)
	}
	found := map[string]*networkingv1.NetworkPolicy{}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], rc) {
			found[list.Items[i].Name] = &list.Items[i]
		}
	}
	return found, nil
}

// wanted are the policies that the spec asks for, and those of groups that left it and still have Pods: KubeRay leaves such
// Pods without a fence.
func (r *Reconciler) wanted(ctx context.Context, rc *rayv1.RayCluster, existing map[string]*networkingv1.NetworkPolicy) ([]*networkingv1.NetworkPolicy, error) {
	wanted := netpol.Policies(rc)
	if len(wanted) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	for _, p := range wanted {
		known[p.Name] = true
	}
	for name, p := range existing {
		if known[name] {
			continue
		}
		group := p.Labels[rayv1.LabelGroup]
		var pods corev1.PodList
		err := r.client.List(ctx, &pods, client.InNamespace(rc.Namespace), client.UnsafeDisableDeepCopy, client.MatchingLabels{
			rayv1.LabelCluster: rc.Name, rayv1.LabelNodeType: string(rayv1.WorkerNode), rayv1.LabelGroup: group,
		})
		if err != nil {
			return nil, fmt.Errorf("listing Pods: %w", err)
		}
		if late := netpol.Group(rc, group); len(pods.Items) > 0 && late.Name == name {
			wanted = append(wanted, late)
		}
	}
	return wanted, nil
}

// write brings what is there to what is wanted. One policy that cannot be had keeps no other from being made. Foreign are the
// names that someone else has; failures are for the user to see, errors for trying again.
func (r *Reconciler) write(ctx context.Context, rc *rayv1.RayCluster, wanted []*networkingv1.NetworkPolicy, existing map[string]*networkingv1.NetworkPolicy) (foreign []string, failures []failure, errs []error) {
	note := func(name string, f failure, err error) {
		switch {
		case errors.Is(err, apply.ErrNotOwned):
			foreign = append(foreign, name)
		case apierrors.IsConflict(err):
			errs = append(errs, err) // nothing to tell: the next run reads it again
		default:
			f.message = err.Error()
			failures, errs = append(failures, f), append(errs, err)
		}
	}
	for _, p := range wanted {
		var current client.Object // an interface, so that nothing found is nil
		if found, ok := existing[p.Name]; ok {
			current = found
		}
		f := failure{"FailedToCreateNetworkPolicy", "Create", ""}
		if current != nil {
			f = failure{"FailedToUpdateNetworkPolicy", "Update", ""}
		}
		result, err := r.writer.Object(ctx, rc, p, current)
		switch {
		case err != nil:
			note(p.Name, f, err)
		case result == apply.Created:
			r.happened(rc, "CreatedNetworkPolicy", "Create", "Created NetworkPolicy "+p.Name)
		case result == apply.Patched:
			r.happened(rc, "UpdatedNetworkPolicy", "Update", "Updated NetworkPolicy "+p.Name)
		}
	}
	for name, p := range existing {
		if slices.ContainsFunc(wanted, func(w *networkingv1.NetworkPolicy) bool { return w.Name == name }) {
			continue
		}
		done, err := r.writer.Remove(ctx, rc, p)
		if err != nil {
			note(name, failure{"FailedToDeleteNetworkPolicy", "Delete", ""}, err)
		} else if done {
			r.happened(rc, "DeletedNetworkPolicy", "Delete", "Deleted NetworkPolicy "+name)
		}
	}
	return foreign, failures, errs
}
