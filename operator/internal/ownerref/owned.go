package ownerref

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Owner identifies the controller of an object.
type Owner struct {
	types.NamespacedName
	UID types.UID
}

// Controller returns the controller of the object if it has this kind, in any version; nil otherwise.
func Controller(o client.Object, kind schema.GroupKind) *Owner {
	for _, owner := range owners(o, kind, false) {
		return &owner
	}
	return nil
}

// ThroughCluster returns a request for the controller of a RayCluster if it has this kind. It returns none without such a
// controller, or if accept is set and returns false.
func ThroughCluster(ctx context.Context, c client.Reader, kind schema.GroupKind, cluster client.ObjectKey, accept func(*rayv1.RayCluster) bool) []reconcile.Request {
	rc := &rayv1.RayCluster{}
	if cluster.Name == "" || c.Get(ctx, cluster, rc) != nil || accept != nil && !accept(rc) {
		return nil
	}
	owner := Controller(rc, kind)
	if owner == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: owner.NamespacedName}}
}

// owners returns the owners of the kind, in any version: only the controller, or any owner.
func owners(o client.Object, kind schema.GroupKind, any bool) []Owner {
	var list []Owner
	for _, ref := range o.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && gv.WithKind(ref.Kind).GroupKind() == kind && (any || ref.Controller != nil && *ref.Controller) {
			list = append(list, Owner{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}, UID: ref.UID})
		}
	}
	return list
}

// IndexController is the index of objects by the UID of their controller.
const IndexController = "metadata.ownerReferences.controller.uid"

// ControllerUID is the index function of IndexController.
func ControllerUID(o client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// Index adds IndexController for the kinds.
func Index(ctx context.Context, i client.FieldIndexer, kinds ...client.Object) error {
	for _, kind := range kinds {
		if err := i.IndexField(ctx, kind, IndexController, ControllerUID); err != nil {
			return err
		}
	}
	return nil
}

// List reads the objects that the owner controls from a cache with IndexController. It does not copy them: never modify one.
func List(ctx context.Context, c client.Reader, owner metav1.Object, list client.ObjectList) error {
	return c.List(ctx, list, client.InNamespace(owner.GetNamespace()), client.MatchingFields{IndexController: string(owner.GetUID())},
		client.UnsafeDisableDeepCopy)
}

// Marked restricts a cache to objects of Ray clusters.
func Marked() cache.ByObject {
	return cache.ByObject{Label: Selector(rayv1.LabelCluster, selection.Exists), Transform: cache.TransformStripManagedFields()}
}

// Selector returns a label selector with one requirement. It panics if that is invalid, so the arguments must be constants.
func Selector(key string, op selection.Operator, values ...string) labels.Selector {
	r, err := labels.NewRequirement(key, op, values)
	if err != nil {
		panic(err)
	}
	return labels.NewSelector().Add(*r)
}
