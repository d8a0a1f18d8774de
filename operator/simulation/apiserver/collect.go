package apiserver

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Collect runs one round of the garbage collector: it deletes objects whose owners are all gone and continues foreground
// deletions. It reports whether it changed anything; then another round may find more.
func (s *Store) Collect() bool {
	const actor = "garbage-collector"
	alive, deleting := map[types.UID]bool{}, map[types.UID]bool{}
	var all []client.Object
	for _, gk := range s.Kinds() {
		for _, o := range s.All(gk) {
			all = append(all, o)
			alive[o.GetUID()] = true
			if o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) {
				deleting[o.GetUID()] = true
			}
		}
	}
	blocked, did := map[types.UID]bool{}, false
	for _, o := range all {
		refs := o.GetOwnerReferences()
		if len(refs) == 0 {
			continue
		}
		gone := !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return alive[r.UID] && !deleting[r.UID] })
		for _, r := range refs {
			blocked[r.UID] = blocked[r.UID] || r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
		}
		if gone && o.GetDeletionTimestamp() == nil {
			did = s.Delete(actor, o, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(o.GetUID())}}) == nil || did
		}
	}
	for _, o := range all {
		if deleting[o.GetUID()] && !blocked[o.GetUID()] {
			did = s.Mutate(actor, s.kind(o), client.ObjectKeyFromObject(o), func(next client.Object) {
				next.SetFinalizers(slices.DeleteFunc(slices.Clone(next.GetFinalizers()), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
			}) || did
		}
	}
	return did
}
